// Access of a person to the pods of a node, and of pods to the API server: kubectl, ephemeral
// containers, tokens, pull secrets.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "libs/kube/time_text.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/e2e/registry.h"

namespace splitlet::e2e {
namespace {

namespace core = k8s::io::api::core::v1;
using testing::HasSubstr;

class ClusterObjects : public ClusterTest {
 protected:
  /// Waiting reason of the pod's only container; empty: it does not wait.
  std::string WaitingReason(const std::string& name) {
    const auto pod = Read<core::Pod>(PathOf(name));
    return pod && pod->status().container_statuses_size() == 1
               ? pod->status().container_statuses(0).state().waiting().reason()
               : "";
  }
  bool WaitsForItsImage(const std::string& name) {
    const std::string why = WaitingReason(name);
    return why == "ErrImagePull" || why == "ImagePullBackOff";
  }
};

TEST_F(ClusterObjects, AnEphemeralContainerRunsBesideTheOthersAndIsTold) {
  StartCluster();
  CreatePod({.name = "web", .script = "echo here > /tmp/word; sleep 1000"});
  ExpectAllReady({"web"});
  const auto added = api_->Send(
      "patch " + PathOf("web") + "/ephemeralcontainers " +
      R"({"spec":{"ephemeralContainers":[{"name":"debug","image":"splitlet.local/busybox:1",)"
      R"("targetContainerName":"app","command":["/bin/sh","-c",)"
      R"("cat /proc/[0-9]*/root/tmp/word; sleep 1000"]}]}})");
  ASSERT_TRUE(added.ok()) << added.status();
  core::Pod pod;
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    pod = Read<core::Pod>(PathOf("web")).value_or(core::Pod());
    return pod.status().ephemeral_container_statuses_size() == 1 &&
           pod.status().ephemeral_container_statuses(0).state().has_running();
  })) << pod.ShortDebugString();
  EXPECT_EQ(pod.status().container_statuses(0).restart_count(), 0);
  EXPECT_EQ(view_->RunningOf("web").size(), 2u);
  EXPECT_EQ(view_->ReadySandboxesOf("web").size(), 1u);
  EXPECT_TRUE(WaitFor(kSoon,
                      [&] {
                        return node_->Ctl({"logs", "web", "-c", "debug"}).output.find("here\n") !=
                               std::string::npos;
                      }))
      << "it does not see the processes of its target: "
      << node_->Ctl({"logs", "web", "-c", "debug"}).output;
  ASSERT_TRUE(api_->Delete(PathOf("web")).ok());
  ExpectPhase("web", "gone");
  ExpectNothingLeft();
}

TEST_F(ClusterObjects, AProjectedTokenInAContainerIsOneOfItsAccountAndPod) {
  StartCluster();
  CreatePod({.name = "web",
             .script = "sleep 1000",
             .of_spec = R"(,"serviceAccountName":"default","volumes":[{"name":"access",)"
                        R"("projected":{"sources":[{"serviceAccountToken":{"path":"token",)"
                        R"("expirationSeconds":600}},{"configMap":{"name":"kube-root-ca.crt",)"
                        R"("items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":)"
                        R"([{"path":"namespace","fieldRef":{"fieldPath":"metadata.namespace"}}]}})"
                        R"(]}}])",
             .of_container = R"(,"volumeMounts":[{"name":"access","readOnly":true,"mountPath":)"
                             R"("/var/run/secrets/kubernetes.io/serviceaccount"}])"});
  ExpectAllReady({"web"});
  const auto inside = [&](const std::string& file) {
    return node_
        ->Ctl({"exec", "web", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/" + file})
        .output;
  };
  EXPECT_EQ(inside("namespace"), "default");
  EXPECT_EQ(inside("ca.crt"), harness::ReadFile(api_dir_->path() + "/ca.crt"));
  const auto answer = api_->Send(
      fmt::format(R"(post /apis/authentication.k8s.io/v1/tokenreviews {{"apiVersion":)"
                  R"("authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{}"}}}})",
                  inside("token")));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(*answer, HasSubstr(R"("authenticated":true)"));
  EXPECT_THAT(*answer, HasSubstr("system:serviceaccount:default:default"));
}

/// Through the pod's service account: admission adds its pull secrets to the pod.
TEST_F(ClusterObjects, APullSecretOfTheServerOpensAPrivateImage) {
  StartCluster();
  const Registry registry;
  const std::string image = registry.host() + "/private/app:1";
  const auto account =
      api_->Send(R"(post /api/v1/namespaces/default/serviceaccounts {"metadata":{"name":"puller"},)"
                 R"("imagePullSecrets":[{"name":"login"}]})");
  ASSERT_TRUE(account.ok()) << account.status();
  CreatePod({.name = "with",
             .script = "sleep 1000",
             .of_spec = R"(,"serviceAccountName":"puller")",
             .image = image});
  const auto made = Read<core::Pod>(PathOf("with"));
  ASSERT_TRUE(made && made->spec().image_pull_secrets_size() == 1);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return WaitsForItsImage("with"); })) << WaitingReason("with");
  ASSERT_TRUE(api_->Put("/api/v1/namespaces/default/secrets/login",
                        fmt::format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":)"
                                    R"("login","namespace":"default"}},"type":)"
                                    R"("kubernetes.io/dockerconfigjson","data":{{)"
                                    R"(".dockerconfigjson":"{}"}}}})",
                                    kube::EncodeBase64(registry.Login())))
                  .ok());
  ExpectAllReady({"with"});
  CreatePod({.name = "without", .script = "sleep 1000", .image = image});
  EXPECT_TRUE(WaitFor(kSoon, [&] { return WaitsForItsImage("without"); }))
      << WaitingReason("without");
}

/// A fake credential provider that knows the registry's password, and returns it for a valid token;
/// records its requests.
class TokenPlugin {
 public:
  explicit TokenPlugin(const std::string& host) {
    std::filesystem::create_directories(dir_ / "bin");
    harness::WriteFile(
        dir_ / "bin/helper",
        "#!/bin/sh\ncat > " + (dir_ / "asked") + "\ngrep -q '\"serviceAccountToken\":\"' " +
            (dir_ / "asked") +
            " || exit 1\ncat <<'EOF'\n{\"kind\": \"CredentialProviderResponse\", \"apiVersion\": "
            "\"credentialprovider.kubelet.k8s.io/v1\", \"cacheKeyType\": \"Image\", \"auth\": {\"" +
            host + "\": {\"username\": \"team\", \"password\": \"hunter2\"}}}\nEOF\n");
    std::filesystem::permissions(dir_ / "bin/helper", std::filesystem::perms::owner_all);
    harness::WriteFile(dir_ / "config.yaml", fmt::format(R"(apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: helper
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  matchImages: ['{}']
  defaultCacheDuration: 1m
  tokenAttributes:
    serviceAccountTokenAudience: registry.test
    cacheType: ServiceAccount
    requireServiceAccount: true
    requiredServiceAccountAnnotationKeys: [registry.test/team]
)",
                                                         host));
  }
  std::vector<std::string> Flags() const {
    return {"--image-credential-provider-config", dir_ / "config.yaml",
            "--image-credential-provider-bin-dir", dir_ / "bin"};
  }
  std::string Asked() const { return harness::ReadFile(dir_ / "asked"); }

 private:
  const harness::TempDir dir_{"tp"};
};

TEST_F(ClusterObjects, APluginOpensAPrivateImageWithATokenOfThePodsAccount) {
  const Registry registry;
  const TokenPlugin plugin(registry.host());
  StartCluster(plugin.Flags());
  for (const char* account :
       {R"({"metadata":{"name":"puller","annotations":{"registry.test/team":"red"}}})",
        R"({"metadata":{"name":"other"}})"})
    ASSERT_TRUE(
        api_->Send(fmt::format("post /api/v1/namespaces/default/serviceaccounts {}", account))
            .ok());
  const auto create = [&](const std::string& name, const std::string& account) {
    CreatePod({.name = name,
               .script = "sleep 1000",
               .of_spec = R"(,"serviceAccountName":")" + account + "\"",
               .image = registry.host() + "/private/app:1"});
  };
  create("without", "other");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return WaitsForItsImage("without"); }))
      << WaitingReason("without");
  EXPECT_EQ(plugin.Asked(), "") << "its account has not opted in";
  create("with", "puller");
  ExpectAllReady({"with"});
  const std::string asked = plugin.Asked();
  EXPECT_THAT(asked, HasSubstr(R"("serviceAccountAnnotations":{"registry.test/team":"red"})"));
  const std::string begins = R"("serviceAccountToken":")";
  const size_t token = asked.find(begins) + begins.size();
  const auto answer = api_->Send(
      fmt::format(R"(post /apis/authentication.k8s.io/v1/tokenreviews {{"apiVersion":)"
                  R"("authentication.k8s.io/v1","kind":"TokenReview","spec":{{"token":"{}",)"
                  R"("audiences":["registry.test"]}}}})",
                  asked.substr(token, asked.find('"', token) - token)));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(*answer, HasSubstr(R"("authenticated":true)"));
  EXPECT_THAT(*answer, HasSubstr("system:serviceaccount:default:puller"));
  for (const char* process : {"pod-worker", "status", "node-api"})
    EXPECT_THAT(harness::ReadFile(node_->LogOf(process)), testing::Not(HasSubstr("hunter2")));
}

/// kubectl for a user; node-api answers requests to containers (kubectl_front.py).
class Kubectl : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    if (!IsSkipped() &&
        harness::RunToEnd(
            {.argv = {"kubectl", "version", "--client"}, .env = {}, .output = "/dev/null"}, 60s) !=
            0)
      GTEST_SKIP() << "no kubectl";
  }
  void StartFront() {
    StartCluster();
    const std::string output = node_->LogOf("front");
    node_->keeper().Start("front",
                          {.argv = {"python3", harness::SourceDir() + "/tests/e2e/kubectl_front.py",
                                    api_dir_->path(), std::to_string(node_api_port())},
                           .env = {},
                           .output = output});
    ASSERT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(output).ends_with('\n'); }));
    url_ = fmt::format("http://127.0.0.1:{}", std::stoi(harness::ReadFile(output)));
  }
  /// pipefail, so that a failure before a pipe counts.
  std::string Line(const std::string& arguments) const {
    return fmt::format("kubectl --server {} {}", url_, arguments);
  }
  harness::Command CommandOf(const std::string& line, const std::string& output) const {
    // Without WebSockets, because an API server converts them to SPDY on the way to a node.
    return {.argv = {"/bin/sh", "-c", line},
            .env = {{"HOME", api_dir_->path()},
                    {"KUBECONFIG", "/dev/null"},
                    {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "false"},
                    {"KUBECTL_PORT_FORWARD_WEBSOCKETS", "false"}},
            .output = output};
  }
  Node::Run Run(const std::string& line) const {
    const std::string output = api_dir_->path() + "/kubectl.out";
    unlink(output.c_str());
    const int code = harness::RunToEnd(CommandOf(line, output), kSoon);
    return {code, harness::ReadFile(output)};
  }
  Node::Run Ask(const std::string& arguments) const { return Run(Line(arguments)); }

  std::string url_;
};

TEST_F(Kubectl, ShowsTheNodeAndItsPods) {
  StartFront();
  CreatePod({.name = "web", .script = "sleep 1000"});
  ExpectAllReady({"web"});
  EXPECT_THAT(
      Ask("get node node-1 -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'").output,
      "True");
  const auto shown =
      Ask("get pod web -o jsonpath='{.status.phase} {.status.qosClass} {.spec.nodeName} "
          "{.status.podIP}'");
  EXPECT_EQ(shown.output, "Running BestEffort node-1 " + node_->Pod("web")->ip);
  EXPECT_EQ(Ask("delete pod web --wait --timeout=60s").exit_code, 0);
  EXPECT_EQ(PhaseOf("web"), "gone");
}

TEST_F(Kubectl, ReadsAndFollowsLogs) {
  StartFront();
  CreatePod({.name = "web",
             .script = "for i in 1 2 3 4 5; do echo line $i; sleep 0.5; done",
             .of_spec = R"(,"restartPolicy":"Never")"});
  ExpectAllReady({"web"});
  EXPECT_EQ(Ask("logs -f web").output, "line 1\nline 2\nline 3\nline 4\nline 5\n");
  EXPECT_EQ(Ask("logs web --tail 2").output, "line 4\nline 5\n");
  const auto missing = Ask("logs web -c none");
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.output, HasSubstr("none"));
}

TEST_F(Kubectl, RunsCommandsWithTheirInputAndExitCode) {
  StartFront();
  CreatePod({.name = "web", .script = "sleep 1000"});
  ExpectAllReady({"web"});
  const auto failed = Ask("exec web -- sh -c 'echo out; echo err >&2; exit 7'");
  EXPECT_EQ(failed.exit_code, 7) << failed.output;
  EXPECT_THAT(failed.output, HasSubstr("out\n"));
  EXPECT_THAT(failed.output, HasSubstr("err\n"));
  const auto counted = Run("head -c 3000000 /dev/zero | " + Line("exec -i web -- wc -c"));
  EXPECT_EQ(counted.output, "3000000\n");
  for (const char* process : {"status", "pod-worker", "pleg", "sync-loop"})
    node_->KillAndAwait(process);
  EXPECT_EQ(Ask("exec web -- echo again").output, "again\n");
}

TEST_F(Kubectl, ForwardsAPort) {
  StartFront();
  CreatePod({.name = "web",
             .script = "mkdir /tmp/www; echo from the pod > /tmp/www/index.html; "
                       "httpd -f -p 8080 -h /tmp/www"});
  ExpectAllReady({"web"});
  const std::string output = api_dir_->path() + "/forward.out";
  const pid_t forward =
      harness::Spawn(CommandOf("exec " + Line("port-forward pod/web :8080"), output));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(output).ends_with('\n'); }));
  constexpr std::string_view kFrom = "Forwarding from 127.0.0.1:";
  const std::string said = harness::ReadFile(output);
  ASSERT_THAT(said, HasSubstr(std::string(kFrom)));
  const int port = std::stoi(said.substr(said.find(kFrom) + kFrom.size()));
  std::string got;
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    got = Run(fmt::format("curl -s --max-time 5 http://127.0.0.1:{}/", port)).output;
    return got == "from the pod\n";
  })) << got;
  EXPECT_EQ(kill(forward, SIGKILL), 0);
  waitpid(forward, nullptr, 0);
}

TEST_F(Kubectl, DrainsTheNode) {
  StartFront();
  CreatePod({.name = "agent",
             .script = "sleep 1000",
             .of_metadata = R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet",)"
                            R"("name":"agent","uid":"1","controller":true}])"});
  for (const char* name : {"one", "two"}) CreatePod({.name = name, .script = "sleep 1000"});
  ExpectAllReady({"agent", "one", "two"});
  const auto drained = Ask("drain node-1 --ignore-daemonsets --force --timeout=80s");
  EXPECT_EQ(drained.exit_code, 0) << drained.output;
  EXPECT_THAT(drained.output, HasSubstr("node/node-1 drained"));
  for (const char* name : {"one", "two"}) EXPECT_EQ(PhaseOf(name), "gone");
  ExpectExactly({"agent"});
  EXPECT_EQ(RestartsOf("agent"), 0);
}

}  // namespace
}  // namespace splitlet::e2e
