// Containers on real containerd: sidecars, restart rules, and the reported exits.

#include <filesystem>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class Containers : public E2eTest {
 protected:
  /// The first container once it has ended; if it does not end, its last state.
  Node::ContainerView EndOf(const std::string& pod) {
    Node::ContainerView end;
    EXPECT_TRUE(WaitFor(kSoon,
                        [&] {
                          const auto seen = node_->Pod(pod);
                          if (seen == nullptr || seen->containers.empty()) return false;
                          end = seen->containers[0];
                          return end.state == "terminated";
                        }))
        << end.state << " " << end.reason;
    return end;
  }
  std::string Order() { return harness::ReadFile(scratch() + "/order"); }
};

constexpr const char* kNever = "  restartPolicy: Never\n";

TEST_F(Containers, ASidecarStartsBeforeTheOthersAndEndsAfterThem) {
  StartNode();
  const std::string inits = R"(  initContainers:
  - name: side
    image: splitlet.local/busybox:1
    restartPolicy: Always
    command: [sh, -c, "trap 'echo side ends >> /scratch/order; exit 0' TERM; sleep 1; echo side >> /scratch/order; touch /tmp/up; while true; do sleep 0.1; done"]
    startupProbe: {exec: {command: [test, -e, /tmp/up]}, periodSeconds: 1, failureThreshold: 60}
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: init
    image: splitlet.local/busybox:1
    command: [sh, -c, "echo init >> /scratch/order"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
)";
  node_->PutManifest(
      "web.yaml",
      PodWithScratch("web",
                     "trap 'sleep 0.5; echo app ends >> /scratch/order; exit 0' TERM; echo app >> "
                     "/scratch/order; while true; do sleep 0.1; done",
                     scratch(), inits));
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Order() == "side\ninit\napp\n"; })) << Order();
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_EQ(Order(), "side\ninit\napp\napp ends\nside ends\n");
}

TEST_F(Containers, ARuleRestartsForItsCodeAlone) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      PodWithScratch("web",
                     "echo run >> /scratch/order; sleep 0.5; [ $(wc -l < /scratch/order) -ge 2 ] "
                     "&& exit 1; exit 42",
                     scratch(), kNever) +
          "    restartPolicy: Never\n"
          "    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]\n");
  ExpectPhase("web", "Failed");
  const auto end = EndOf("web");
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.restarts, 1);
  EXPECT_EQ(Order(), "run\nrun\n");
}

TEST_F(Containers, AnEndHasItsCodeAndReason) {
  StartNode();
  node_->PutManifest("well.yaml", PodYaml("well", "exit 0", kNever));
  node_->PutManifest("badly.yaml", PodYaml("badly", "exit 3", kNever));
  std::string missing = PodYaml("missing", "", kNever);
  const std::string shell = "/bin/sh";
  missing.replace(missing.find(shell), shell.size(), "/no/such/command");
  node_->PutManifest("missing.yaml", missing);
  const auto well = EndOf("well"), badly = EndOf("badly"), none = EndOf("missing");
  EXPECT_EQ(well.reason, "Completed");
  EXPECT_EQ(badly.reason, "Error");
  EXPECT_EQ(badly.exit_code, 3);
  EXPECT_EQ(none.reason, "StartError");
  EXPECT_EQ(none.exit_code, 128);
  ExpectPhase("well", "Succeeded");
  ExpectPhase("badly", "Failed");
  ExpectPhase("missing", "Failed");
}

TEST_F(Containers, OneThatTakesMoreThanItsMemoryIsOomKilled) {
  const bool v1 = std::filesystem::exists("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const bool v2 =
      harness::ReadFile("/sys/fs/cgroup/cgroup.controllers").find("memory") != std::string::npos;
  if (!v1 && !v2) GTEST_SKIP() << "this machine has no memory controller";
  StartNode();
  node_->PutManifest("greedy.yaml", PodYaml("greedy", "exec tail /dev/zero", kNever) +
                                        "    resources: {limits: {memory: 32Mi}}\n");
  const auto end = EndOf("greedy");
  EXPECT_EQ(end.reason, "OOMKilled");
  EXPECT_EQ(end.exit_code, 137);
  ExpectPhase("greedy", "Failed");
}

TEST_F(Containers, AnEndHasItsMessage) {
  StartNode();
  node_->PutManifest("file.yaml",
                     PodYaml("file", "echo -n bye > /dev/termination-log; exit 1", kNever));
  node_->PutManifest("log.yaml", PodYaml("log", "echo last words; exit 1", kNever) +
                                     "    terminationMessagePolicy: FallbackToLogsOnError\n");
  node_->PutManifest("silent.yaml", PodYaml("silent", "echo last words; exit 1", kNever));
  node_->PutManifest("path.yaml", PodYaml("path", "echo -n here > /end; exit 1", kNever) +
                                      "    terminationMessagePath: end\n");
  EXPECT_EQ(EndOf("file").message, "bye");
  EXPECT_EQ(EndOf("log").message, "last words\n");
  EXPECT_EQ(EndOf("silent").message, "");
  EXPECT_EQ(EndOf("path").message, "here");
}

}  // namespace
}  // namespace splitlet::e2e
