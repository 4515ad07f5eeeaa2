// Pulls from registries on loopback, good and bad ones (registry.py), by real containerd.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "libs/kube/time_text.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

/// Ends with the test, whose end of a pipe is its input.
class Registry {
 public:
  Registry() {
    EXPECT_EQ(harness::RunToEnd(
                  {.argv = {"bash", harness::SourceDir() + "/deploy/local/images.sh", "build"},
                   .env = {},
                   .output = out_ / "images"},
                  120s),
              0);
    const std::string built = harness::ReadFile(out_ / "images");
    const size_t begin = built.rfind('/', built.find("/busybox-"));
    const size_t line = built.rfind('\n', begin) + 1;
    const std::string archive = built.substr(line, built.find('\n', begin) - line);
    std::array<int, 2> input{};
    EXPECT_EQ(pipe2(input.data(), O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(input[0], 0);
      if (std::freopen((out_ / "said").c_str(), "w", stdout) == nullptr) _exit(1);
      const std::string script = harness::SourceDir() + "/tests/e2e/registry.py";
      execlp("python3", "python3", script.c_str(), archive.c_str(), nullptr);
      _exit(127);
    }
    close(input[0]);
    input_ = input[1];
    EXPECT_TRUE(WaitFor(kSoon, [&] { return Said().ends_with('\n'); }));
    host_ = "127.0.0.1:" + Said();
    host_.pop_back();
  }
  ~Registry() {
    close(input_);
    waitpid(pid_, nullptr, 0);
  }
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  const std::string& host() const { return host_; }
  /// Somebody has half of an image that is held.
  bool Holds() const { return Said().find("held") != std::string::npos; }
  void Release() const { EXPECT_EQ(write(input_, "\n", 1), 1); }

 private:
  std::string Said() const { return harness::ReadFile(out_ / "said"); }

  const harness::TempDir out_{"rg"};
  pid_t pid_ = 0;
  int input_ = -1;
  std::string host_;
};

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
  std::string Login() const {
    return R"({"auths": {")" + registry_->host() + R"(": {"auth": ")" +
           kube::EncodeBase64("team:hunter2") + R"("}}})";
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
  void ExpectReason(const std::string& pod, const std::string& what) {
    EXPECT_TRUE(WaitFor(kSoon, [&] { return ReasonOf(pod) == what; }))
        << pod << " waits for: " << ReasonOf(pod);
  }

  const harness::TempDir folder_{"ob"};
  std::unique_ptr<Registry> registry_;
};

TEST_F(Registries, ASecretOpensAPrivateImageForItsPodsAlone) {
  StartNode();
  PutPod("without", "private/app:1");
  ExpectReason("without", "ErrImagePull");
  harness::WriteFile(folder_ / "login.yaml",
                     "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\ntype: "
                     "kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: '" +
                         Login() + "'}\n");
  PutPod("with", "private/app:1", "  imagePullSecrets: [{name: login}]\n");
  ExpectRunning("with");
  PutPod("later", "private/app:1");
  ExpectReason("later", "ErrImagePull");
  for (const char* process : {"pod-worker", "config-source", "status"})
    EXPECT_THAT(harness::ReadFile(node_->LogOf(process)),
                testing::Not(testing::HasSubstr("hunter2")));
}

TEST_F(Registries, TheNodesOwnCredentialsAreForAllPods) {
  StartNode();
  harness::WriteFile(node_->dir() + "/kubelet/config.json", Login());
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
  ExpectReason("wrong", "ErrImagePull");
  PutPod("none", "open/app@sha256:" + std::string(64, 'a'));
  ExpectReason("none", "ErrImagePull");
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
