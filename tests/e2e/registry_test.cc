// Pulls from registries on loopback, good and broken ones (registry.py), by real containerd.

#include "tests/e2e/registry.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class Registries : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (!IsSkipped()) registry_ = std::make_unique<Registry>();
  }
  void StartNode(std::vector<std::string> flags = {}) {
    E2eTest::StartNode({.config = fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                              "kind: KubeletConfiguration\n"
                                              "fileCheckFrequency: 2s\nsyncFrequency: 10s\n"
                                              "serializeImagePulls: false\n"
                                              "splitlet: {{objectsPath: {}}}\n",
                                              folder_.path()),
                        .flags = std::move(flags)});
  }
  void PutPod(const std::string& name, const std::string& image, const std::string& more = "") {
    node_->PutManifest(name + ".yaml", fmt::format(R"(apiVersion: v1
kind: Pod
metadata: {{name: {}}}
spec:
  terminationGracePeriodSeconds: 1
{}  containers:
  - name: app
    image: {}/{}
    imagePullPolicy: IfNotPresent
    command: [/bin/sh, -c, "sleep 100000"]
)",
                                                   name, more, registry_->host(), image));
  }
  std::string ReasonOf(const std::string& pod) {
    const auto seen = node_->Pod(pod);
    return seen == nullptr || seen->containers.empty() ? "" : seen->containers[0].reason;
  }
  void ExpectNoImage(const std::string& pod) {
    const auto waits = [&] {
      const std::string reason = ReasonOf(pod);
      return reason == "ErrImagePull" || reason == "ImagePullBackOff";
    };
    EXPECT_TRUE(WaitFor(kSoon, waits)) << pod << " waits for: " << ReasonOf(pod);
  }

  const harness::TempDir folder_{"ob"};
  std::unique_ptr<Registry> registry_;
};

TEST_F(Registries, ASecretOpensAPrivateImageForItsPodsAlone) {
  StartNode();
  PutPod("without", "private/app:1");
  ExpectNoImage("without");
  harness::WriteFile(folder_ / "login.yaml",
                     "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ntype: "
                     "kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '" +
                         registry_->Login() + "'}\n");
  PutPod("with", "private/app:1", "  imagePullSecrets: [{name: login}]\n");
  ExpectRunning("with");
  PutPod("later", "private/app:1");
  ExpectNoImage("later");
  for (const char* process : {"pod-worker", "config-source", "status"})
    EXPECT_THAT(harness::ReadFile(node_->LogOf(process)),
                testing::Not(testing::HasSubstr("hunter2")));
}

TEST_F(Registries, TheNodesOwnCredentialsAreForAllPods) {
  StartNode();
  harness::WriteFile(node_->dir() + "/kubelet/config.json", registry_->Login());
  PutPod("one", "private/node:1");
  ExpectRunning("one");
  PutPod("two", "private/node:1");
  ExpectRunning("two");
}

TEST_F(Registries, APluginOfTheNodeSaysThem) {
  const harness::TempDir plugins("pl");
  std::filesystem::create_directories(plugins / "bin");
  harness::WriteFile(
      plugins / "bin/helper",
      "#!/bin/sh\ncat > " + (plugins / "asked") +
          "\ncat <<'EOF'\n{\"kind\": \"CredentialProviderResponse\", \"apiVersion\": "
          "\"credentialprovider.kubelet.k8s.io/v1\", \"cacheKeyType\": \"Registry\", "
          "\"auth\": {\"127.0.0.1:*\": {\"username\": \"none\", \"password\": "
          "\"none\"}, \"" +
          registry_->host() + "\": {\"username\": \"team\", \"password\": \"hunter2\"}}}\nEOF\n");
  std::filesystem::permissions(plugins / "bin/helper", std::filesystem::perms::owner_all);
  harness::WriteFile(plugins / "config.yaml",
                     "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n"
                     "providers:\n- {name: helper, matchImages: ['" +
                         registry_->host() +
                         "'], defaultCacheDuration: 1m, "
                         "apiVersion: credentialprovider.kubelet.k8s.io/v1}\n");
  StartNode({"--image-credential-provider-config", plugins / "config.yaml",
             "--image-credential-provider-bin-dir", plugins / "bin"});
  PutPod("one", "private/plugin:1");
  ExpectRunning("one");
  EXPECT_THAT(harness::ReadFile(plugins / "asked"),
              testing::HasSubstr("\"image\":\"" + registry_->host() + "/private/plugin\""));
}

TEST_F(Registries, ASlowOneHoldsUpNobodyElse) {
  StartNode();
  PutPod("slow", "held/app:1");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return registry_->Holds(); }));
  PutPod("quick", "open/app:1");
  ExpectRunning("quick");
  EXPECT_FALSE(node_->IsRunning("slow"));
  registry_->Release();
  ExpectRunning("slow");
}

TEST_F(Registries, AContentThatIsNotWhatItsNameSaysIsNeverRun) {
  StartNode();
  PutPod("wrong", "wrong/app:1");
  ExpectNoImage("wrong");
  PutPod("none", "open/app@sha256:" + std::string(64, 'a'));
  ExpectNoImage("none");
  EXPECT_TRUE(view_->Containers().empty());
}

TEST_F(Registries, OneThatHangsUpIsAskedAgain) {
  StartNode();
  PutPod("closes", "closes/app:1");
  ExpectRunning("closes");
  EXPECT_EQ(RestartsOf("closes"), 0);
}

TEST_F(Registries, ContainerdThatEndsInThePullIsAskedAgain) {
  StartNode();
  PutPod("slow", "held/again:1");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return registry_->Holds(); }));
  KillContainerd();
  registry_->Release();
  ExpectRunning("slow");
  EXPECT_EQ(RestartsOf("slow"), 0);
}

}  // namespace
}  // namespace splitlet::e2e
