#include "services/pod-worker/volumes/payload.h"

#include <gtest/gtest.h>

#include <optional>

#include "k8s.io/api/core/v1/security.pb.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kObjects = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: blue, size: "7"}
binaryData: {blob: /wA=}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: root, password: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: other}
stringData: {user: nobody}
)";

/// "path=content:mode ..." of the volume, or the error.
std::string ShownVolume(const std::string& volume, bool has_objects = true) {
  const auto pod = PodWithVolumes("[{name: v, " + volume + "}]", {"v"},
                                  "{limits: {memory: 64Mi}, requests: {cpu: 250m}}");
  auto objects = ReadObjects(kObjects, "objects.yaml");
  EXPECT_TRUE(objects.ok()) << objects.status();
  const NodeInfo node{.name = "node-1", .allocatable = {.cpu_millicores = 4000}};
  const auto payload =
      MakePayload(pod.spec().volumes(0), {pod, node, has_objects ? &*objects : nullptr});
  if (!payload.ok()) return std::string(Message(payload.status()));
  std::string text;
  for (const auto& [path, file] : *payload)
    text += fmt::format("{}{}={}:{:o}", text.empty() ? "" : " ", path, file.content, file.mode);
  return text;
}

TEST(Payload, ConfigMapsAndSecrets) {
  const struct {
    std::string volume, shown;
  } kCases[] = {
      {"configMap: {name: settings, items: [{key: colour, path: a/b, mode: 0400}]}",
       "a/b=blue:400"},
      {"configMap: {name: settings, defaultMode: 0440, items: [{key: size, path: s}]}", "s=7:440"},
      {"configMap: {name: settings, items: [{key: none, path: x}]}",
       "configmap references non-existent config key: none"},
      {"configMap: {name: settings, optional: true, items: [{key: none, path: x}]}", ""},
      {"configMap: {name: none}", "configmap \"none\" not found"},
      {"configMap: {name: none, optional: true}", ""},
      {"secret: {secretName: login}", "password=hunter2:644 user=root:644"},
      {"secret: {secretName: login, items: [{key: none, path: x}]}",
       "references non-existent secret key: none"},
      {"secret: {secretName: none}", "secret \"none\" not found"},
      {"secret: {secretName: none, optional: true}", ""},
  };
  for (const auto& test : kCases) EXPECT_EQ(ShownVolume(test.volume), test.shown) << test.volume;
  EXPECT_EQ(ShownVolume("configMap: {name: settings}"),
            std::string("blob=\xff\0:644 colour=blue:644 size=7:644", 38))
      << "bytes too";
}

TEST(Payload, WithoutObjectsOnTheNode) {
  EXPECT_EQ(ShownVolume("configMap: {name: settings}", false),
            "there are no config maps on this node");
  EXPECT_EQ(ShownVolume("secret: {secretName: login}", false), "there are no secrets on this node");
  EXPECT_EQ(ShownVolume("secret: {secretName: login, optional: true}", false), "");
}

TEST(Payload, ThePodItself) {
  EXPECT_EQ(
      ShownVolume("downwardAPI: {items: ["
                  "{path: name, fieldRef: {fieldPath: metadata.name}},"
                  "{path: labels, fieldRef: {fieldPath: metadata.labels}},"
                  "{path: app, mode: 0400, fieldRef: {fieldPath: \"metadata.labels['app']\"}},"
                  "{path: mem, resourceFieldRef: {containerName: app, resource: limits.memory, "
                  "divisor: 1Mi}},"
                  "{path: cpu, resourceFieldRef: {containerName: app, resource: limits.cpu}}]}"),
      "app=shop:400 cpu=4:644 labels=app=\"shop\"\ntier=\"front\":644 mem=64:644 "
      "name=web:644");
  EXPECT_EQ(ShownVolume("downwardAPI: {items: [{path: x, resourceFieldRef: {containerName: none, "
                        "resource: limits.cpu}}]}"),
            "container none not found");
}

TEST(Payload, SeveralPartsInOne) {
  EXPECT_EQ(ShownVolume("projected: {defaultMode: 0400, sources: ["
                        "{configMap: {name: settings, items: [{key: colour, path: c/colour}]}},"
                        "{secret: {name: login, items: [{key: user, path: user, mode: 0600}]}},"
                        "{secret: {name: none, optional: true}},"
                        "{downwardAPI: {items: [{path: c/ns, fieldRef: "
                        "{fieldPath: metadata.namespace}}]}}]}"),
            "c/colour=blue:400 c/ns=default:400 user=root:600");
  EXPECT_EQ(
      ShownVolume("projected: {sources: [{secret: {name: login}}, {configMap: {name: none}}]}"),
      "configmap \"none\" not found");
  EXPECT_EQ(ShownVolume("projected: {sources: [{serviceAccountToken: {path: token}}]}"),
            "a service account token needs an API server");
}

class WithTokens final : public ObjectSource {
 public:
  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName&) const override { return none_; }
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName&) const override { return none_; }
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string&) const override {
    return none_;
  }
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName&) const override { return none_; }
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string&) const override {
    return none_;
  }
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string&) const override {
    return none_;
  }
  StatusOr<std::string> GetToken(const TokenWish& wish) const override {
    return fmt::format("{}/{}", wish.audience, wish.seconds);
  }

 private:
  const Status none_ = NotFound("none");
};

TEST(Payload, ATokenIsForWhoeverIsKnownToReadIt) {
  const struct {
    const char* name;
    std::optional<int64_t> pod_user, user, other_user, group;
    std::optional<uint32_t> want_user;
    uint32_t want_mode;
  } kCases[] = {
      {"no user is set", {}, {}, {}, {}, {}, 0644},
      {"all containers are one user", 1000, {}, {}, {}, 1000, 0600},
      {"each sets the same user", {}, 7, 7, {}, 7, 0600},
      {"two users", 1000, 7, {}, {}, {}, 0644},
      {"one sets no user", {}, 7, {}, {}, {}, 0644},
      {"a group", {}, {}, {}, 2000, {}, 0600},
  };
  auto pod = PodWithVolumes(
      "[{name: v, projected: {sources: [{serviceAccountToken: {path: a/t, audience: vault}}]}}]",
      {"v"});
  *pod.mutable_spec()->add_containers() = pod.spec().containers(0);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto asks = pod;
    auto& spec = *asks.mutable_spec();
    if (c.pod_user) spec.mutable_security_context()->set_run_as_user(*c.pod_user);
    if (c.group) spec.mutable_security_context()->set_fs_group(*c.group);
    if (c.user) spec.mutable_containers(0)->mutable_security_context()->set_run_as_user(*c.user);
    if (c.other_user)
      spec.mutable_containers(1)->mutable_security_context()->set_run_as_user(*c.other_user);
    const WithTokens objects;
    const auto payload = MakePayload(asks.spec().volumes(0), {asks, {}, &objects});
    ASSERT_TRUE(payload.ok()) << payload.status();
    const PayloadFile want{"vault/3600", c.want_mode, c.want_user};
    EXPECT_EQ(payload->at("a/t"), want);
  }
}

TEST(Payload, WithoutAModeNobodyMayRead) {
  kube::Volume volume;
  volume.mutable_volume_source()->mutable_config_map();
  const kube::Pod pod;
  EXPECT_EQ(Message(MakePayload(volume, {pod, {}, nullptr}).status()),
            "no defaultMode used, not even the default value for it");
}

}  // namespace
}  // namespace splitlet::pod_worker
