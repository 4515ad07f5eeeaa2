#include "services/pod-worker/api_objects/references.h"

#include <gtest/gtest.h>

#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

kube::Pod PodWith(const std::string& spec) {
  const auto decoded = kube::Decode(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: default, uid: uid-web}\nspec: "
      "{" +
          spec + "}\n",
      "pod.yaml", kube::Strictness::kStrict);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  if (!decoded.ok()) return {};
  kube::Pod pod = *decoded->As<kube::Pod>();
  EXPECT_TRUE(kube::ApplyDefaults(pod).ok());
  return pod;
}

TEST(References, EveryPlaceThatNamesAnObject) {
  const struct {
    const char *name, *spec;
    References want;
  } kCases[] = {
      {"nothing", "containers: [{name: a, image: i}]", {}},
      {"variables of every kind of container",
       "containers: [{name: a, image: i, env: [{name: V, valueFrom: {configMapKeyRef: {name: m1, "
       "key: k}}}]}], initContainers: [{name: b, image: i, envFrom: [{secretRef: {name: s1}}]}], "
       "ephemeralContainers: [{name: c, image: i, env: [{name: V, valueFrom: {secretKeyRef: {name: "
       "s2, key: k}}}], envFrom: [{configMapRef: {name: m2}}]}]",
       {.config_maps = {"m1", "m2"}, .secrets = {"s1", "s2"}}},
      {"volumes, whether they are mounted or not",
       "containers: [{name: a, image: i}], volumes: [{name: v, configMap: {name: m}}, {name: w, "
       "secret: {secretName: s}}, {name: x, projected: {sources: [{configMap: {name: p}}, {secret: "
       "{name: t}}, {downwardAPI: {items: []}}]}}]",
       {.config_maps = {"m", "p"}, .secrets = {"s", "t"}}},
      {"claims, also one that is made for the pod",
       "containers: [{name: a, image: i}], volumes: [{name: v, persistentVolumeClaim: {claimName: "
       "data}}, {name: w, ephemeral: {volumeClaimTemplate: {spec: {}}}}]",
       {.claims = {"data", "web-w"}}},
      {"tokens",
       "serviceAccountName: app, containers: [{name: a, image: i}], volumes: [{name: v, projected: "
       "{sources: [{serviceAccountToken: {path: t}}, {serviceAccountToken: {path: u, audience: "
       "vault, expirationSeconds: 600}}]}}]",
       {.tokens = {{"", 3600}, {"vault", 600}}}},
      {"pull secrets",
       "containers: [{name: a, image: i}], imagePullSecrets: [{name: registry}]",
       {.secrets = {"registry"}}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ReferencesOf(PodWith(c.spec)), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
