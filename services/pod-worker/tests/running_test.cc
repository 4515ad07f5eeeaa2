#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Pods that are to run.

namespace splitlet::pod_worker {
namespace {

class Running : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(Running, AGrantedPodStarts) {
  const auto pod = TestPod{.containers = {"a", "b"}}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_TRUE(Record()->granted());
  EXPECT_EQ(events.Count("Created"), 2);
  EXPECT_EQ(events.Count("Started"), 2);
  const auto sandbox = runtime.Sandboxes().at(0);
  EXPECT_EQ(sandbox.annotations.at("splitlet.dev/node"), "state-1/node-1");
  EXPECT_EQ(runtime.Calls("RunPodSandbox"), 1u);
  EXPECT_TRUE(service().GetHealth().ready);
}

/// With the two of sync-loop, four from the record in `desired` to the sandbox.
TEST_F(Running, APodIsParsedOnceForItsRecordAndOnceForItsGrantUntilItHasASandbox) {
  const auto pod = TestPod{.source = "api"}.Make();
  std::optional<uint64_t> at_sandbox;
  traced.on_sandbox = [&](const auto&) { at_sandbox = kube::PodBytes::parses(); };
  const uint64_t at_first = kube::PodBytes::parses();
  Want(pod);
  const uint64_t at_grant = kube::PodBytes::parses();
  EXPECT_LE(at_grant - at_first, 1u);
  ASSERT_TRUE(Grant(pod).ok());
  ASSERT_TRUE(at_sandbox.has_value());
  EXPECT_LE(*at_sandbox - at_grant, 1u);
}

TEST_F(Running, AGrantOfBytesThatAreNoPodIsRefusedByTheNameOfItsPod) {
  const auto pod = TestPod{}.Make();
  Want(pod);
  v1::UpdatePodRequest request;
  request.set_uid("uid-web");
  request.set_incarnation(1);
  request.set_generation(1);
  request.set_pod("\xff\xff");
  Status answer;
  Call([&] { service().OnUpdatePod(request, [&answer](const Status& s) { answer = s; }, {}); });
  EXPECT_EQ(answer, InvalidArgument("pod of UID uid-web: the bytes are no pod"));
  EXPECT_EQ(Show(), "");
  EXPECT_TRUE(Grant(pod).ok()) << "nothing of the pod was refused for good";
}

TEST_F(Running, ARecordOfNoPodInDesiredStartsAndStopsNothing) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  v1::DesiredRecord record = *owner.records.at("uid-web");
  record.set_generation(2);
  record.set_pod("\xff\xff");
  for (const auto state : {v1::DesiredRecord::WANTED, v1::DesiredRecord::REMOVED}) {
    record.set_state(state);
    ASSERT_TRUE(desired.Put("uid-web", record).ok());
    RunFor(1min);
    EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  }
  Remove(pod);
  RunFor(1min);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Running, DevicesOfAFormerKubeletAreInTheRecordOfTheNode) {
  EXPECT_EQ(workers.Find("node"), nullptr) << "a node that had none has no record";
  config.former_devices = std::vector<std::string>{"a.b/fpga", "nvidia.com/gpu"};
  Restart();
  const auto record = workers.Find("node");
  ASSERT_NE(record, nullptr);
  ASSERT_EQ(record->node().devices_size(), 2);
  EXPECT_EQ(record->node().devices(1).name(), "nvidia.com/gpu");
  EXPECT_EQ(record->node().devices(1).allocatable(), 0);
  config.former_devices = InvalidArgument("/x: not a JSON object");
  Restart();
  EXPECT_EQ(workers.Find("node"), nullptr);
}

TEST_F(Running, AStartThatWaitsForItsTurnIsGivenUpWhenThePodEnds) {
  for (const std::string method : {"RunPodSandbox", "CreateContainer", "StartContainer"}) {
    SCOPED_TRACE(method);
    const auto pod = TestPod{.name = "web", .uid = "uid-" + method, .source = "api"}.Make();
    const size_t before = runtime.Calls(method);
    traced.ends_in_line = method;
    ASSERT_TRUE(RunPod(pod).ok());
    EXPECT_EQ(runtime.Calls(method), before);
    EXPECT_EQ(events.Count("Failed") + events.Count("FailedCreatePodSandBox"), 0);
    traced.ends_in_line.clear();
    Remove(pod);
    RunFor(1min);
    EXPECT_EQ(runtime.Running("uid-" + method).size(), 0u);
  }
}

TEST_F(Running, WithoutAGrantNothingStarts) {
  Want(TestPod{}.Make());
  RunFor(300s);
  EXPECT_EQ(Show(), "");
}

TEST_F(Running, TheGrantIsOnDiskBeforeTheAnswer) {
  files.Fail("/run", ResourceExhausted("disk full"));
  EXPECT_EQ(RunPod(TestPod{}.Make()).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Show(), "");
  files.Fail("/run", OkStatus());
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Running, WhatIsNotCarriedOutIsToldOnceInALife) {
  auto pod = TestPod{.source = "api"}.Make();
  auto& claim = *pod.mutable_spec()->add_resource_claims();  // no static pod may have one
  claim.set_name("gpu");
  claim.set_resource_claim_name("gpu-0");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  ASSERT_EQ(events.Count("FeatureNotSupported"), 1);
  EXPECT_EQ(events.Text("FeatureNotSupported"),
            "pod: resourceClaims is not carried out by this version");
  EXPECT_TRUE(std::ranges::any_of(
      events.events, [](const auto& e) { return e.warning && e.reason == "FeatureNotSupported"; }));
  EXPECT_TRUE(std::ranges::any_of(sink.lines(), [](const auto& line) {
    return line.message == "pod uses unsupported fields";
  }));
  Restart();
  (*pod.mutable_metadata()->mutable_labels())["a"] = "b";
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(events.Count("FeatureNotSupported"), 1);
  Remove(pod);
  RunFor(60s);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(events.Count("FeatureNotSupported"), 2);
}

TEST_F(Running, AnEditThatAsksForWhatIsNotCarriedOutIsTold) {
  auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(events.Count("FeatureNotSupported"), 0);
  auto& claim = *pod.mutable_spec()->add_resource_claims();  // no static pod may have one
  claim.set_name("gpu");
  claim.set_resource_claim_name("gpu-0");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(events.Count("FeatureNotSupported"), 1);
}

TEST_F(Running, EventsSayWhichContainersAreInitContainers) {
  auto pod = TestPod{.inits = {"i"}}.Make();
  pod.mutable_spec()->mutable_init_containers(0)->set_image("new:1");
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("i", 0);
  Remove(pod);
  int inits = 0, others = 0;
  for (const auto& event : events.events) {
    if (event.container.empty()) continue;
    EXPECT_EQ(event.init_container, event.container == "i") << event.reason;
    ++(event.init_container ? inits : others);
  }
  EXPECT_EQ(inits, 4) << "Pulling, Pulled, Created, Started";
  EXPECT_EQ(others, 4) << "Pulled, Created, Started, Killing";
}

TEST_F(Running, TheImageIsAskedForItsUserOnceForAStart) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(runtime.Calls("ImageStatus"), 1u);
}

TEST_F(Running, AStepOfTheWallClockRestartsNothing) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  runtime.ExitContainer("uid-web", "app", 1).IgnoreError();
  for (const Duration step : {Duration{-6h}, Duration{-365 * 24h}, Duration{48h}}) {
    clock.SetWall(clock.WallNow() + step);
    Changed();
    RunFor(600s);
    const std::string before = Show();
    EXPECT_NE(before.find("=running"), std::string::npos) << before;
    Changed();
    RunFor(600s);
    EXPECT_EQ(Show(), before);
    runtime.ExitContainer("uid-web", "app", 1).IgnoreError();
  }
  EXPECT_EQ(runtime.Violations(), std::vector<std::string>{});
}

TEST_F(Running, LowerGenerationsAreIgnoredAndHigherOnesTaken) {
  auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod, 1, 5).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  EXPECT_TRUE(Grant(pod, 1, 4).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_TRUE(RunPod(pod, 1, 6).ok());
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
  EXPECT_EQ(events.Text("Killing"), "Container app definition changed, will be restarted");
}

TEST_F(Running, AnEditedImageRestartsUnderPolicyNeverToo) {
  auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  EXPECT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
}

TEST_F(Running, TheFirstRestartIsAtOnceTheNextOnesWait) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  Exit("app", 1);
  EXPECT_EQ(NoteOf("app").reason(), "CrashLoopBackOff");
  EXPECT_EQ(NoteOf("app").message(),
            "back-off 10s restarting failed container=app pod=web_default(uid-web)");
  RunFor(9s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u);
  RunFor(2s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
  EXPECT_EQ(NoteOf("app").reason(), "");
  EXPECT_EQ(events.Text("BackOff"),
            "Back-off restarting failed container app in pod web_default(uid-web)");
}

TEST_F(Running, TheBackOffOutlivesTheProcess) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  Restart();
  Exit("app", 1);
  EXPECT_EQ(NoteOf("app").reason(), "CrashLoopBackOff");
}

TEST_F(Running, WhatAnEarlierProcessDidLastIsNotOlderThanTheRestart) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  RunFor(10s);
  const Clock::Time listed = clock.Now();  // a look at the runtime that may have missed something
  RunFor(1s);
  Restart();
  EXPECT_GT(Record()->last_action_at().monotonic_ns(), listed.monotonic.count());
  EXPECT_EQ(Record()->last_action_at().boot(), clock.Now().boot);
}

TEST_F(Running, ADeadContainerComesBackWithoutAnyHelp) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  network.SetUp(false);
  ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 1).ok());
  RunFor(90s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Running, InitContainersInOrder) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"i", "j"}}.Make()).ok());
  EXPECT_EQ(Show(), "i/0=running sandbox/0=ready");
  Exit("i", 0);
  EXPECT_EQ(Show(), "i/0=exited(0) j/0=running sandbox/0=ready");
  Exit("j", 0);
  EXPECT_EQ(Show(), "app/0=running i/0=exited(0) j/0=exited(0) sandbox/0=ready");
}

TEST_F(Running, ABrokenSandboxIsReplaced) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"i"}}.Make()).ok());
  Exit("i", 0);
  runtime.BreakSandbox("uid-web");
  Changed();
  EXPECT_EQ(events.Count("SandboxChanged"), 1);
  EXPECT_EQ(Show(), "app/0=exited(137) i/0=exited(0) i/1=running sandbox/0=dead sandbox/1=ready");
  Exit("i", 0);
  Changed();
  EXPECT_EQ(Show(), "app/0=exited(137) app/1=running i/1=exited(0) sandbox/0=dead sandbox/1=ready");
}

TEST_F(Running, OfAQuietPodWhatLastsIsNotAskedForAgain) {
  ASSERT_TRUE(RunPod(TestPod{.containers = {"a", "b"}}.Make()).ok());
  Changed();
  Changed();
  const size_t statuses = runtime.Calls("ContainerStatus");
  const size_t sandboxes = runtime.Calls("PodSandboxStatus");
  const size_t lists = runtime.Calls("ListContainers");
  RunFor(10min);
  EXPECT_EQ(runtime.Calls("ContainerStatus"), statuses);
  EXPECT_GE(runtime.Calls("ListContainers"), lists + 6);
  EXPECT_GE(runtime.Calls("PodSandboxStatus"), sandboxes + 6) << "its addresses may be gone";
  Exit("a", 1);
  EXPECT_EQ(Show(), "a/0=exited(1) a/1=running b/0=running sandbox/0=ready");
  EXPECT_GT(runtime.Calls("ContainerStatus"), statuses) << "what has ended is asked for";
  const size_t after_exit = runtime.Calls("ContainerStatus");
  RunFor(5min);
  EXPECT_GT(runtime.Calls("ContainerStatus"), after_exit) << "each time";
}

TEST_F(Running, ASandboxThatLostItsAddressesIsReplacedAlsoWhenItWasSeenWithThem) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Changed();
  Changed();
  runtime.SetIps(runtime.Sandboxes().at(0).id, {});
  RunFor(2min);
  EXPECT_GE(events.Count("SandboxChanged"), 1);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=dead sandbox/1=ready");
}

TEST_F(Running, AContainerThatIsAnotherUnderTheSameNameIsSeen) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Changed();
  Changed();
  auto other = TestPod{}.Make();
  other.mutable_spec()->mutable_containers(0)->set_image("other:1");
  runtime.AddImage("other:1");
  ASSERT_TRUE(RunPod(other, 1, 2).ok());
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Running, AVolumeOfAnotherKindIsNamedAndNothingStarts) {
  auto pod = TestPod{}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("v");
  auto& nfs = *volume.mutable_volume_source()->mutable_nfs();
  nfs.set_server("s");
  nfs.set_path("/");
  MountAt(*pod.mutable_spec()->mutable_containers(0), "v");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(events.Text("FailedMount"),
            "MountVolume.FindPluginBySpec failed for volume \"v\" : volume type \"nfs\" is not "
            "supported");
  EXPECT_NE(Record()->sync_error().find("not supported"), std::string::npos);
}

TEST_F(Running, OneContainerThatCannotBeMadeDoesNotHoldBackTheOther) {
  runtime.SetBehaviour("uid-web", "a", {{.create_error = InvalidArgument("bad mount")}});
  ASSERT_TRUE(RunPod(TestPod{.containers = {"a", "b"}}.Make()).ok());
  EXPECT_EQ(Show(), "b/0=running sandbox/0=ready");
  EXPECT_EQ(NoteOf("a").reason(), "CreateContainerError");
  EXPECT_EQ(events.Text("Failed"), "Error: bad mount");
}

TEST_F(Running, ARuntimeThatDoesNotSayWhatIsThereIsTold) {
  const int fault = runtime.AddFault({.method = "ListPodSandbox", .message = "no answer"});
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_TRUE(events.Text("FailedSync").starts_with("error determining status: "));
  EXPECT_FALSE(service().GetHealth().ready);
  runtime.RemoveFault(fault);
  RunFor(3s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
  EXPECT_TRUE(service().GetHealth().ready);
}

TEST_F(Running, NetworkNotReadyIsSaidAndTriedAgainSoon) {
  runtime.SetConditions(
      {{"RuntimeReady", true, "", ""}, {"NetworkReady", false, "NoCni", "no config"}});
  const int fault = runtime.AddFault({.method = "RunPodSandbox", .code = StatusCode::kUnknown});
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(events.Count("NetworkNotReady"), 1);
  EXPECT_EQ(events.Count("FailedCreatePodSandBox"), 0);
  runtime.RemoveFault(fault);
  RunFor(2s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Running, AnAnswerThatIsLostMakesNoSecondSandboxOrContainer) {
  for (const char* method : {"RunPodSandbox", "CreateContainer", "StartContainer"})
    runtime.AddFault({.method = method, .kind = cri::Fault::Kind::kLoseResponse, .times = 1});
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Running, ACallWhoseAnswerIsLostCountsAsDone) {
  for (const char* method : {"RunPodSandbox", "StartContainer"})
    runtime.AddFault({.method = method, .kind = cri::Fault::Kind::kLoseResponse, .times = 1});
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_TRUE(Record()->has_last_action_at());
  const int64_t first = Record()->last_action_at().monotonic_ns();
  RunFor(60s);
  ASSERT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_GT(Record()->last_action_at().monotonic_ns(), first);
}

TEST_F(Running, TheRuntimeMayBeAwayForAWhile) {
  runtime.SetDown(true);
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_FALSE(service().GetHealth().ready);
  RunFor(60s);
  runtime.SetDown(false);
  RunFor(16s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_TRUE(service().GetHealth().ready);
}

TEST_F(Running, APodOfAKubeletIsTakenOverWithoutARestart) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Kill();
  for (const char* dir : {"/run/pod-worker", "/state/pod-worker"})
    ASSERT_TRUE(files.RemoveTree(dir).ok());
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("CreateContainer"), 1u);
}

TEST_F(Running, RecordsLostByTheRuntimeDoNotLoseTheCount) {
  ASSERT_TRUE(files.Replace("/logs/pods/default_web_uid-web/app/3.log", "", {}).ok());
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "app/4=running sandbox/0=ready");
}

TEST_F(Running, AStaticPodWaitsForTheOtherOfItsName) {
  const auto old = TestPod{.uid = "uid-old"}.Make(), fresh = TestPod{.uid = "uid-new"}.Make();
  ASSERT_TRUE(RunPod(old).ok());
  ASSERT_TRUE(RunPod(fresh).ok());
  EXPECT_EQ(Show("uid-new"), "");
  EXPECT_EQ(Record("uid-new")->admission_reason(), "waits for pod uid-old of the same name");
  Remove(old);
  EXPECT_EQ(Show("uid-new"), "app/0=running sandbox/0=ready");
  EXPECT_EQ(Show("uid-old"), "app/0=exited(143) sandbox/0=dead");
}

TEST_F(Running, APodThatRanAtTheStartOfTheProcessWaitsWhenItComesBack) {
  const auto a = TestPod{.uid = "uid-a"}.Make(), b = TestPod{.uid = "uid-b"}.Make();
  ASSERT_TRUE(RunPod(a).ok());
  Restart();
  Remove(a);
  ASSERT_TRUE(RunPod(b).ok());
  ASSERT_EQ(runtime.Running("uid-b").size(), 1u);
  ASSERT_TRUE(RunPod(a, 2).ok());
  EXPECT_TRUE(runtime.Running("uid-a").empty());
  Restart();
  RunFor(10s);
  EXPECT_TRUE(runtime.Running("uid-a").empty()) << "its dead sandbox does not let it in";
  EXPECT_EQ(runtime.Running("uid-b").size(), 1u);
  Remove(b);
  RunFor(2s);
  EXPECT_EQ(runtime.Running("uid-a").size(), 1u);
}

TEST_F(Running, AStaticPodWaitsForContainersFoundAtTheStart) {
  Kill();
  runtime.AddUnmanagedPod({.uid = "uid-old",
                           .name = "web",
                           .containers = {"app"},
                           .annotations = {{"kubernetes.io/config.source", "file"}}});
  runtime.AddUnmanagedPod({.uid = "uid-api",
                           .name = "web",
                           .containers = {"app"},
                           .annotations = {{"kubernetes.io/config.source", "api"}}});
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  RunFor(5s);
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(Record()->admission_reason(), "waits for containers of pod uid-old of the same name");
  runtime.BreakSandbox("uid-old");
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Running, NothingIsStartedForAPodThatIsHeld) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  v1::HoldRequest request;
  for (const auto& container : runtime.Containers()) request.add_container_ids(container.id.str());
  const auto reply = HoldFor(request);
  ASSERT_TRUE(reply.ok());
  ASSERT_EQ(reply->container_ids_size(), 1) << "the dead attempt that is not the newest";
  ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 1).ok());
  RunFor(20s);
  Changed();
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u);
  Restart();
  Changed();
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u) << "a hold outlives the process";
  Call([this, id = reply->hold_id()] { service().OnReleaseHold(id); });
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Running, AForgottenHoldEndsByItself) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  v1::HoldRequest request;
  for (const auto& container : runtime.Containers()) request.add_container_ids(container.id.str());
  ASSERT_TRUE(HoldFor(request).ok());
  ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 1).ok());
  RunFor(61s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Running, AFileOfANewerVersionMakesThePodUnknown) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Kill();
  fs::RecordStore newer(
      files, clock, {.directory = "/run/pod-worker/workers", .this_boot_only = true, .schema = 9});
  ASSERT_TRUE(newer.Save("uid-web", "?", false).ok());
  Start();
  EXPECT_EQ(Grant(TestPod{}.Make(), 1, 2).code(), StatusCode::kFailedPrecondition);
  Remove(TestPod{}.Make());
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Running, AFileThatCannotBeReadNowIsReadAgainAndNothingIsDoneBefore) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Kill();
  files.SetHook([](std::string_view operation, const std::string& path) {
    const bool fact = operation == "read" && path.starts_with("/run/pod-worker/workers/");
    return fact ? ErrnoStatus(EMFILE) : OkStatus();
  });
  Start();
  RunFor(10s);
  EXPECT_FALSE(service().GetHealth().ready);
  EXPECT_NE(service().GetHealth().reason.find("uid-web"), std::string::npos);
  EXPECT_EQ(Grant(TestPod{}.Make(), 1, 2).code(), StatusCode::kUnavailable);
  const auto told = std::ranges::count_if(sink.lines(), [](const auto& line) {
    return line.message == "cannot read the files of this process";
  });
  EXPECT_EQ(told, 1);
  files.SetHook(nullptr);
  RunFor(2s);
  EXPECT_EQ(Record()->generation(), 1);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(runtime.Calls("CreateContainer"), 1u);
  EXPECT_TRUE(service().GetHealth().ready);
}

TEST_F(Running, AUidThatNamesAnotherDirectoryIsRefused) {
  const auto pod = TestPod{.uid = "../other"}.Make();
  EXPECT_EQ(Grant(pod).code(), StatusCode::kInvalidArgument);
  v1::KillPodRequest request;
  request.set_uid("../other");
  request.set_incarnation(1);
  EXPECT_EQ(KillPod(request).status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(files.Replace("/state/other/volumes/kept", "", {}).ok());
  const std::string key = bus::KeyOf("../other");
  for (const auto state : {v1::DesiredRecord::WANTED, v1::DesiredRecord::REMOVED}) {
    v1::DesiredRecord record;
    record.set_uid("../other");
    record.set_source("file");
    record.set_incarnation(1);
    record.set_generation(state);
    record.set_state(state);
    record.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(desired.Put(key, record).ok());
    Settle();
  }
  RunFor(60s);
  EXPECT_TRUE(files.Read("/state/other/volumes/kept", 1).ok());
  EXPECT_EQ(Record(key)->state(), v1::WORKER_STATE_UNSPECIFIED);
}

TEST_F(Running, AGrantBeforeTheViewShowsItsPodIsTakenWhenConfigSourceWantsIt) {
  const auto pod = TestPod{}.Make();
  auto record = std::make_shared<v1::DesiredRecord>();
  record->set_uid("uid-web");
  record->set_incarnation(1);
  record->set_generation(1);
  record->set_state(v1::DesiredRecord::WANTED);
  record->set_pod(pod.SerializeAsString());
  owner.silent = true;
  EXPECT_EQ(Grant(pod).code(), StatusCode::kUnavailable) << "sync-loop comes again";
  EXPECT_EQ(Show(), "");
  owner.silent = false;
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition) << "no source wants it";
  owner.records["uid-web"] = record;
  EXPECT_TRUE(Grant(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(owner.finds, 3);
}

TEST_F(Running, AGrantForAPodThatTheViewShowsAsksNobody) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(owner.finds, 0);
}

TEST_F(Running, AGrantOfAnotherPodThanTheOneWantedIsRefused) {
  const auto pod = TestPod{}.Make();
  Want(pod);
  auto other = pod;
  other.mutable_spec()->mutable_containers(0)->mutable_security_context()->set_privileged(true);
  EXPECT_EQ(Grant(other).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(Grant(other, 1, 2).code(), StatusCode::kFailedPrecondition) << "nor as a later one";
  EXPECT_EQ(Show(), "");
  auto& refused = prometheus::BuildCounter()
                      .Name("splitlet_grants_refused_total")
                      .Help("Grants that are not of the pod that is wanted.")
                      .Register(process->registry);
  EXPECT_EQ(refused.Add({{"reason", "other-pod"}}).Value(), 1);
  EXPECT_TRUE(Grant(pod).ok());
}

TEST_F(Running, AGrantMayGiveThePodOtherResourcesThanItAsksFor) {
  const auto pod = TestPod{}.Make();
  Want(pod);
  auto allocated = pod;
  auto& limits = *allocated.mutable_spec()->mutable_containers(0)->mutable_resources();
  (*limits.mutable_limits())["memory"].set_string("64Mi");
  EXPECT_TRUE(Grant(allocated).ok());
}

TEST_F(Running, AGrantOfAnInvalidPodIsRefused) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_name("not/a/name");
  Want(pod);
  EXPECT_EQ(Grant(pod).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Show(), "");
}

TEST_F(Running, AGrantForAPodThatIsNotWantedYetIsRefused) {
  const auto pod = TestPod{.source = "api"}.Make();
  Want(pod, 1, 1, v1::DesiredRecord::UNCONFIRMED);
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Show(), "");
}

TEST_F(Running, TheLinkOfTheLogIsMade) {
  ASSERT_TRUE(files.Replace("/logs/pods/default_web_uid-web/app/3.log", "", {}).ok());
  files.SetHook([this](std::string_view operation, const std::string& path) {
    // As if the runtime had opened it.
    if (operation == "stat" && path.ends_with("/app/4.log")) return files.Replace(path, "", {});
    return OkStatus();
  });
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  const auto links = files.List("/logs/containers");
  ASSERT_TRUE(links.ok());
  ASSERT_EQ(links->size(), 1u);
  EXPECT_TRUE(files.ReadSymlink("/logs/containers/" + links->at(0).name)->ends_with("/app/4.log"));
}

TEST_F(Running, MetricsAreThoseOnTheList) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Remove(TestPod{}.Make());
  RunFor(61s);
  std::set<std::string> names;
  for (const auto& family : process->registry.Collect())
    if (!family.metric.empty()) names.insert(family.name);
  EXPECT_EQ(
      names,
      (std::set<std::string>{
          "kubelet_containers_per_pod_count", "kubelet_image_manager_ensure_image_requests_total",
          "kubelet_lifecycle_handler_http_fallbacks_total", "kubelet_pod_worker_duration_seconds",
          "kubelet_pod_worker_start_duration_seconds", "kubelet_run_podsandbox_duration_seconds",
          "kubelet_sleep_action_terminated_early_total", "kubelet_started_containers_total",
          "kubelet_started_pods_errors_total", "kubelet_started_pods_total",
          "kubelet_started_user_namespaced_pods_errors_total",
          "kubelet_started_user_namespaced_pods_total", "kubelet_working_pods",
          "splitlet_pod_workers", "splitlet_pods_with_late_unmount"}));
}

TEST_F(Running, ManyPodsSideBySide) {
  for (int i = 0; i < 50; ++i) {
    const std::string name = "p" + std::to_string(i);
    ASSERT_TRUE(RunPod(TestPod{.name = name, .uid = "uid-" + name}.Make()).ok());
  }
  EXPECT_EQ(runtime.Sandboxes().size(), 50u);
  EXPECT_EQ(runtime.Containers().size(), 50u);
}

TEST_F(Running, OneThatHangsHoldsBackNobody) {
  runtime.AddFault(
      {.method = "RunPodSandbox", .pod = "uid-stuck", .kind = cri::Fault::Kind::kHang});
  ASSERT_TRUE(RunPod(TestPod{.name = "stuck", .uid = "uid-stuck"}.Make()).ok());
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

}  // namespace
}  // namespace splitlet::pod_worker
