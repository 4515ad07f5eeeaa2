// Pods on real containerd: starts, restarts, init containers, updates, removal with grace, many at
// the same time.

#include <filesystem>
#include <set>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

using Pods = E2eTest;

TEST_F(Pods, AManifestBecomesARunningPodWithAnAddressAndALog) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "echo hello; sleep 1000"));
  ExpectExactly({"web"});
  const auto pod = node_->Pod("web");
  ASSERT_NE(pod, nullptr);
  EXPECT_FALSE(pod->ip.empty());
  EXPECT_EQ(RestartsOf("web"), 0);
  const std::string log =
      fmt::format("{}/pods/default_{}_{}/app/0.log", node_->dir(), pod->name, pod->uid);
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return harness::ReadFile(log).find("stdout F hello") != std::string::npos;
  })) << log;
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
}

TEST_F(Pods, InitContainersRunInOrderBeforeTheOthers) {
  StartNode();
  const std::string init = R"(  initContainers:
  - name: one
    image: splitlet.local/busybox:1
    command: ["/bin/sh", "-c", "sleep 0.3; echo one >> /scratch/order"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
  - name: two
    image: splitlet.local/busybox:1
    command: ["/bin/sh", "-c", "echo two >> /scratch/order"]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
)";
  node_->PutManifest(
      "web.yaml", PodWithScratch("web", "echo app >> /scratch/order; sleep 1000", scratch(), init));
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return harness::ReadFile(scratch() + "/order") == "one\ntwo\napp\n";
  })) << harness::ReadFile(scratch() + "/order");
}

/// `probes` of its container, indented as in a manifest.
std::string ProbedPod(const std::string& script, const std::string& probes) {
  return PodYaml("web", script) + probes;
}

TEST_F(Pods, ACommandMakesAPodReady) {
  StartNode();
  std::string yaml = PodWithScratch("web", "sleep 1000", scratch());
  const std::string mounts = "    volumeMounts";
  ASSERT_NE(yaml.find(mounts), std::string::npos) << yaml;
  yaml.insert(yaml.find(mounts),
              "    readinessProbe: {exec: {command: [test, -e, /scratch/up]}, periodSeconds: 1}\n");
  node_->PutManifest("web.yaml", yaml);
  ExpectPhase("web", "Running");
  EXPECT_FALSE(node_->Pod("web")->ready);
  harness::WriteFile(scratch() + "/up", "up");
  ExpectRunning("web");
  EXPECT_EQ(RestartsOf("web"), 0);
  std::filesystem::remove(scratch() + "/up");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return !node_->Pod("web")->ready; }));
  EXPECT_EQ(RestartsOf("web"), 0);
}

TEST_F(Pods, ACommandThatFailsRestartsItsContainer) {
  StartNode();
  node_->PutManifest("web.yaml",
                     ProbedPod("touch /tmp/well; sleep 4; rm /tmp/well; sleep 1000",
                               "    livenessProbe: {exec: {command: [test, -e, /tmp/well]}, "
                               "periodSeconds: 1, failureThreshold: 2}\n"));
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
}

TEST_F(Pods, AWebServerMakesAPodReady) {
  StartNode();
  std::string yaml = PodWithScratch("web", "exec httpd -f -p 18080 -h /scratch/www", scratch());
  const std::string mounts = "    volumeMounts";
  ASSERT_NE(yaml.find(mounts), std::string::npos) << yaml;
  yaml.insert(
      yaml.find(mounts),
      "    ports: [{name: web, containerPort: 18080}]\n"
      "    readinessProbe: {httpGet: {path: /up, port: web}, periodSeconds: 1}\n"
      "    startupProbe: {tcpSocket: {port: 18080}, periodSeconds: 1, failureThreshold: 60}\n");
  std::filesystem::create_directories(scratch() + "/www");
  node_->PutManifest("web.yaml", yaml);
  ExpectPhase("web", "Running");
  EXPECT_FALSE(node_->Pod("web")->ready);
  harness::WriteFile(scratch() + "/www/up", "up");
  ExpectRunning("web");
  std::filesystem::remove(scratch() + "/www/up");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return !node_->Pod("web")->ready; }));
  EXPECT_EQ(RestartsOf("web"), 0);
}

TEST_F(Pods, APortThatNobodyListensOnRestartsItsContainer) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      ProbedPod(
          "sleep 1000",
          "    livenessProbe: {grpc: {port: 18081}, periodSeconds: 1, failureThreshold: 2}\n"));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
}

TEST_F(Pods, HooksRunAfterTheStartAndBeforeTheSignal) {
  StartNode();
  std::string yaml = PodWithScratch(
      "web", "trap 'echo term >> /scratch/order; exit 0' TERM; while true; do sleep 0.1; done",
      scratch());
  const std::string mounts = "    volumeMounts";
  ASSERT_NE(yaml.find(mounts), std::string::npos) << yaml;
  yaml.insert(yaml.find(mounts),
              "    lifecycle:\n"
              "      postStart: {exec: {command: [sh, -c, echo started >> /scratch/order]}}\n"
              "      preStop: {exec: {command: [sh, -c, sleep 1; echo stop >> /scratch/order]}}\n");
  node_->PutManifest("web.yaml", yaml);
  ExpectRunning("web");
  EXPECT_TRUE(
      WaitFor(kSoon, [&] { return harness::ReadFile(scratch() + "/order") == "started\n"; }));
  node_->RemoveManifest("web.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return harness::ReadFile(scratch() + "/order") == "started\nstop\nterm\n";
  })) << harness::ReadFile(scratch() + "/order");
}

TEST_F(Pods, AFailedPostStartKillsItsContainer) {
  StartNode();
  node_->PutManifest("web.yaml",
                     PodYaml("web", "sleep 1000") +
                         "    lifecycle: {postStart: {exec: {command: [\"false\"]}}}\n");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") >= 1; }));
}

/// The first attempt of `app` exits with 42; the init container's file counts the attempts.
TEST_F(Pods, OneEndRestartsAllAndVariablesComeFromAFile) {
  StartNode();
  node_->PutManifest("crew.yaml", PodYaml("crew", "[ $ATTEMPT = first ] && exit 42; sleep 1000",
                                          R"(  restartPolicy: Never
  volumes: [{name: shared, emptyDir: {}}]
  initContainers:
  - name: init
    image: splitlet.local/busybox:1
    command: [sh, -c, "[ -e /shared/env ] && n=second || n=first; echo \"ATTEMPT='$n'\" > /shared/env"]
    volumeMounts: [{name: shared, mountPath: /shared}]
)") + R"(    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]
    env: [{name: ATTEMPT, valueFrom: {fileKeyRef: {volumeName: shared, path: env, key: ATTEMPT}}}]
  - name: mate
    image: splitlet.local/busybox:1
    command: [sleep, "1000"]
)");
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("crew");
    return pod != nullptr && pod->ready && pod->containers.size() == 2 &&
           pod->containers[0].restarts == 1 && pod->containers[1].restarts == 1;
  }));
  EXPECT_EQ(view_->RunningOf("crew").size(), 2u);
}

TEST_F(Pods, RestartPolicies) {
  StartNode();
  node_->PutManifest("always.yaml", PodYaml("always", "sleep 0.5; exit 0"));
  node_->PutManifest("failure.yaml",
                     PodYaml("failure", "sleep 0.5; exit 3", "  restartPolicy: OnFailure\n"));
  node_->PutManifest("success.yaml", PodYaml("success", "exit 0", "  restartPolicy: OnFailure\n"));
  node_->PutManifest("never.yaml", PodYaml("never", "exit 4", "  restartPolicy: Never\n"));
  ExpectPhase("success", "Succeeded");
  ExpectPhase("never", "Failed");
  const auto never = node_->Pod("never");
  ASSERT_NE(never, nullptr);
  EXPECT_EQ(never->containers.at(0).exit_code, 4);
  EXPECT_TRUE(
      WaitFor(kSoon, [&] { return RestartsOf("always") >= 1 && RestartsOf("failure") >= 1; }));
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("always");
    return pod != nullptr && pod->containers.at(0).reason == "CrashLoopBackOff";
  }));
  EXPECT_EQ(RestartsOf("success"), 0);
  EXPECT_EQ(RestartsOf("never"), 0);
}

TEST_F(Pods, AChangedCommandReplacesTheContainerAndKeepsTheSandbox) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", kForever));
  ExpectExactly({"web"});
  const auto container = view_->RunningOf("web").at(0).id;
  node_->PutManifest("web.yaml", PodYaml("web", std::string("true; ") + kForever));
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto now = view_->RunningOf("web");
    return now.size() == 1 && now[0].id != container;
  }));
  ExpectExactly({"web"});
}

TEST_F(Pods, TheGracePeriodIsGivenAndThenEnds) {
  StartNode();
  node_->PutManifest(
      "polite.yaml",
      PodWithScratch("polite",
                     "trap 'echo bye > /scratch/bye; exit 0' TERM; touch /scratch/ready; "
                     "while true; do sleep 0.1; done",
                     scratch()));
  node_->PutManifest("deaf.yaml", PodYaml("deaf", "trap '' TERM; while true; do sleep 0.1; done"));
  ExpectExactly({"polite", "deaf"});
  ASSERT_TRUE(WaitFor(kSoon, [&] { return std::filesystem::exists(scratch() + "/ready"); }));
  node_->RemoveManifest("polite.yaml");
  node_->RemoveManifest("deaf.yaml");
  ExpectGone("polite");
  ExpectGone("deaf");
  EXPECT_EQ(harness::ReadFile(scratch() + "/bye"), "bye\n");
}

TEST_F(Pods, FiftyAtOnceAllRunAndAllGo) {
  StartNode();
  std::vector<std::string> names;
  for (int i = 0; i < 50; ++i) {
    names.push_back(fmt::format("many-{}", i));
    node_->PutManifest(names.back() + ".yaml", PodYaml(names.back(), kForever));
  }
  ASSERT_TRUE(WaitFor(240s, [&] { return view_->Running().size() == names.size(); }));
  ExpectExactly(names);
  for (const auto& name : names) node_->RemoveManifest(name + ".yaml");
  ASSERT_TRUE(
      WaitFor(240s, [&] { return view_->ReadySandboxes().empty() && node_->Pods().empty(); }));
}

TEST_F(Pods, AMissingImageIsSaidAndHarmsNoOther) {
  StartNode();
  std::string yaml = PodYaml("lost", "true");
  const std::string image = "splitlet.local/busybox:1";
  yaml.replace(yaml.find(image), image.size(),
               "splitlet.local/nothing:1\n    imagePullPolicy: Never");
  node_->PutManifest("lost.yaml", yaml);
  node_->PutManifest("web.yaml", PodYaml("web", kForever));
  ExpectRunning("web");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("lost");
    return pod != nullptr && pod->phase == "Pending" && pod->containers.size() == 1 &&
           pod->containers[0].reason == "ErrImageNeverPull";
  }));
}

TEST_F(Pods, TooLargeForTheNodeWaitsWithTheReasonAndIsNeverStarted) {
  StartNode();
  std::string yaml = PodYaml("huge", "sleep 1000");
  yaml += "    resources: {requests: {cpu: \"1000\"}}\n";
  node_->PutManifest("huge.yaml", yaml);
  // A static pod is critical, so no preemption would free enough resources, as in a kubelet's
  // message.
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto seen = node_->Pod("huge");
    return seen != nullptr && seen->reason == "UnexpectedAdmissionError";
  }));
  const auto pod = node_->Pod("huge");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->phase, "Pending");
  EXPECT_NE(pod->message.find("cpu"), std::string::npos) << pod->message;
  EXPECT_TRUE(view_->RunningOf("huge").empty());
}

}  // namespace
}  // namespace splitlet::e2e
