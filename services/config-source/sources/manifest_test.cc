#include "services/config-source/sources/manifest.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/mutate.h"
#include "libs/kube/pod_types.h"
#include "services/config-source/desired/merge.h"

namespace splitlet::config_source {
namespace {

const std::vector<std::string> kManifests = {
    R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 5
  initContainers:
  - {name: init, image: "busybox:1", command: [sh, -c, "true"], restartPolicy: Always}
  containers:
  - name: app
    image: nginx
    ports: [{containerPort: 80, protocol: TCP, name: http}]
    env:
    - {name: A, value: b}
    - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
    resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 1e-1}}
    livenessProbe: {httpGet: {port: http, path: /}, periodSeconds: 3}
    lifecycle: {preStop: {sleep: {seconds: 2}}}
    volumeMounts: [{name: data, mountPath: /d, subPath: x}]
    securityContext: {runAsUser: 1000, capabilities: {add: [NET_ADMIN]}}
  volumes:
  - {name: data, hostPath: {path: /tmp, type: DirectoryOrCreate}}
  - {name: scratch, emptyDir: {sizeLimit: 1Gi}}
)",
    R"({"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a","uid":"u-1"},"spec":{)"
    R"("containers":[{"name":"c","image":"i@sha256:0"}],"tolerations":[{"operator":"Exists"}],)"
    R"("affinity":{"podAntiAffinity":{}},"dnsConfig":{"nameservers":["10.0.0.1"]}}}]})",
    "apiVersion: v1\nkind: Pod\nmetadata: &m {name: x, namespace: y, annotations: {a: \"b\"}}\n"
    "spec: {containers: [&c {name: a, image: b}], activeDeadlineSeconds: 3, nodeName: n}\n",
};

const std::vector<std::string> kTokens = {
    "*c", "&c ",    "<<: *m", "[",           "]",       "{",     "}",         ": ",
    "- ", "\n",     "\"",     "'",           "null",    "1e400", "-1",        "~",
    ",",  "name: ", "0",      "99999999999", "\\u000a", "uid: ", "\"a\\nb\"", "kind: List"};

TEST(ManifestFuzz, WhateverAManifestHoldsTheAnswerIsPodsOrOneLine) {
  Random random(20260110);
  size_t good = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::string& from = kManifests[random.Below(kManifests.size())];
    const std::string text = Mutate(from, kManifests, kTokens, random);
    SCOPED_TRACE(text);
    for (const auto& decode : {DecodeManifest, DecodePayload}) {
      const auto pods = decode(text, {std::string(kube::kFileSource), "node-a", "/m/x.yaml"});
      if (!pods.ok()) {
        const std::string line(Message(pods.status()));
        ASSERT_EQ(pods.status().code(), StatusCode::kInvalidArgument);
        ASSERT_TRUE(line.starts_with("/m/x.yaml: ")) << line;
        ASSERT_EQ(line.find('\n'), std::string::npos) << line;
        continue;
      }
      for (const auto& pod : pods->pods) {
        ++good;
        const auto stamped = StampPod(*pod->bytes, nullptr, "file", {});
        kube::Pod first, second;
        ASSERT_TRUE(first.ParseFromString(*pod->bytes) && second.ParseFromString(*stamped));
        ASSERT_EQ(Classify(second, first), std::nullopt) << "the stamp is no change";
        ASSERT_FALSE(pod->uid.empty() || pod->uid.find('/') != std::string::npos) << pod->uid;
      }
    }
  }
  EXPECT_GT(good, 20u);
}

TEST(Manifest, FieldsWhoseFeatureGateIsOffAreTakenOutAndNamed) {
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  hostnameOverride: other\n"
      "  containers: [{name: app, image: i}]\n";
  Origin origin{std::string(kube::kFileSource), "node-a", "/m/x.yaml"};
  const auto with = DecodeManifest(text, origin);
  origin.gates_off.hostname_override = true;
  const auto without = DecodeManifest(text, origin);
  ASSERT_TRUE(with.ok() && without.ok()) << with.status() << without.status();
  EXPECT_TRUE(with->warnings.empty());
  EXPECT_EQ(without->warnings,
            std::vector<std::string>{"hostnameOverride: the feature gate HostnameOverride is off"});
  kube::Pod pod;
  ASSERT_TRUE(pod.ParseFromString(*without->pods.front()->bytes));
  EXPECT_FALSE(pod.spec().has_hostname_override());
  EXPECT_EQ(with->pods.front()->uid, without->pods.front()->uid)
      << "the same pod, whatever the gate";
}

}  // namespace
}  // namespace splitlet::config_source
