#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/fs/path.h"
#include "prometheus/registry.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/sync/sync_pass.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// What becomes of the containers of a pod in less usual cases: edits, odd runtimes, ends.

namespace splitlet::pod_worker {
namespace {

class Containers : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  static kube::Container& App(kube::Pod& pod) { return *pod.mutable_spec()->mutable_containers(0); }
  static void Probe(k8s::io::api::core::v1::Probe& probe) {
    probe.set_period_seconds(1);
    probe.set_timeout_seconds(1);
    probe.set_success_threshold(1);
    probe.set_failure_threshold(3);
    probe.mutable_handler()->mutable_exec()->add_command("check");
  }
  /// Of one container, of a metric of probes.
  int SeriesOf(const std::string& container) const {
    int count = 0;
    for (const auto& family : process->registry.Collect())
      for (const auto& metric : family.metric)
        for (const auto& label : metric.label)
          if (family.name.starts_with("prober_") && label.name == "container" &&
              label.value == container)
            ++count;
    return count;
  }
  runtime::v1::ContainerConfig made_;

  void WriteLog(const std::string& file) {
    ASSERT_TRUE(files.Replace("/logs/pods/default_web_uid-web/" + file, "", {}).ok());
  }
  /// A pod that has the logs of the node mounted can put a link where those of others go.
  void ExpectNoLogsThrough(const std::string& link) {
    ASSERT_TRUE(files.MakeDirs("/etc/here", 0755).ok());
    ASSERT_TRUE(files.MakeDirs(fs::ParentOf(link), 0755).ok());
    ASSERT_TRUE(files.MakeSymlink("/etc/here", link).ok());
    ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
    EXPECT_TRUE(runtime.Running("uid-web").empty());
    EXPECT_TRUE(files.List("/etc/here")->empty());
    EXPECT_NE(Record()->sync_error().find("make " + link + ": not a directory"), std::string::npos)
        << Record()->sync_error();
    ASSERT_TRUE(files.Remove(link).ok());
    RunFor(20s);
    EXPECT_EQ(runtime.Running("uid-web").size(), 1u) << Show();
  }
  bool HasLog(const std::string& file) {
    return files.Stat("/logs/pods/default_web_uid-web/" + file, false).ok();
  }
};

TEST_F(Containers, TheHostsFileIsWrittenAnewInItsPlaceWhileOthersHaveItMounted) {
  const auto pod = TestPod{.containers = {"a", "b"}}.Make();
  const std::string path = "/kubelet/pods/uid-web/etc-hosts";
  ASSERT_TRUE(RunPod(pod).ok());
  const auto before = files.Stat(path, false);
  const auto content = files.Read(path, 1 << 20);
  ASSERT_TRUE(before.ok() && content.ok());
  const struct {
    const char* name;
    std::string now;
  } kCases[] = {
      {"a container has added to it", *content + "x"},
      {"it was written in part", content->substr(0, 20)},
      {"it is longer than is read", std::string(2u << 20, 'x')},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ASSERT_TRUE(files.Overwrite(path, c.now).ok());
    Exit("b", 1);
    RunFor(6min);
    ASSERT_EQ(runtime.Running("uid-web").size(), 2u) << Show();
    EXPECT_EQ(files.Read(path, 1 << 20).value_or(""), *content);
    EXPECT_EQ(files.Stat(path, false)->inode, before->inode);
  }
}

TEST_F(Containers, WhatIsNoFileInTheHostsFilesPlaceIsReplaced) {
  const auto pod = TestPod{.containers = {"a", "b"}}.Make();
  const std::string path = "/kubelet/pods/uid-web/etc-hosts";
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_TRUE(files.Replace("/kept", "kept", {}).ok());
  ASSERT_TRUE(files.Remove(path).ok());
  ASSERT_TRUE(files.MakeSymlink("/kept", path).ok());
  Exit("b", 1);
  RunFor(1min);
  ASSERT_EQ(runtime.Running("uid-web").size(), 2u) << Show();
  EXPECT_EQ(files.Stat(path, false)->kind, fs::FileInfo::Kind::kFile);
  EXPECT_EQ(files.Read("/kept", 100).value_or(""), "kept");
}

TEST_F(Containers, AnEditOfAnythingButTheImageChangesNothing) {
  auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  auto& variable = *App(pod).add_env();
  variable.set_name("A");
  variable.set_value("new");
  App(pod).add_command("other");
  App(pod).add_ports()->set_container_port(80);
  App(pod).mutable_ports(0)->set_protocol("TCP");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  RunFor(3min);
  EXPECT_EQ(Record()->generation(), 2);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(events.Count("Killing"), 0);
}

/// Another path from the same volume for each container, and none when its name is not known.
TEST_F(Containers, APartOfAVolumeIsBoundForItsContainerUntilThePodEnds) {
  auto pod = TestPod{.source = "api"}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("scratch");
  volume.mutable_volume_source()->mutable_empty_dir();
  auto& mount = *App(pod).add_volume_mounts();
  mount.set_name("scratch");
  mount.set_mount_path("/data");
  mount.set_sub_path_expr("of/$(WHO)");
  traced.on_container = [this](const runtime::v1::ContainerConfig& made) { made_ = made; };
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(events.Text("Failed"), "Error: missing value for WHO");
  EXPECT_EQ(Show(), "sandbox/0=ready");
  auto& variable = *App(pod).add_env();
  variable.set_name("WHO");
  variable.set_value("app");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  RunFor(3min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  ASSERT_GT(made_.mounts_size(), 0);
  const auto bound = mounts.mounted().find(made_.mounts(0).host_path());
  ASSERT_NE(bound, mounts.mounted().end()) << made_.mounts(0).host_path();
  EXPECT_TRUE(bound->second.options.ends_with("/kubernetes.io~empty-dir/scratch/of/app"))
      << bound->second.options;
  EXPECT_TRUE(bound->first.ends_with("/uid-web/volume-subpaths/scratch/app/0")) << bound->first;
  Remove(pod);
  RunFor(1min);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_TRUE(mounts.mounted().empty());
}

TEST_F(Containers, OfTwoReadySandboxesBothAreStopped) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  runtime::v1::PodSandboxConfig second;
  second.mutable_metadata()->set_name("web");
  second.mutable_metadata()->set_namespace_("default");
  second.mutable_metadata()->set_uid("uid-web");
  second.mutable_metadata()->set_attempt(3);
  (*second.mutable_labels())["io.kubernetes.pod.uid"] = "uid-web";
  ASSERT_TRUE(runtime.RunPodSandbox(second, "", After(clock, 1s)).ok());
  Changed();
  RunFor(5s);
  EXPECT_EQ(Show(),
            "app/0=exited(143) app/1=running sandbox/0=dead sandbox/3=dead sandbox/4=ready");
}

TEST_F(Containers, AnInitContainerThatFailsBacksOff) {
  ASSERT_TRUE(RunPod(TestPod{.policy = "OnFailure", .inits = {"init"}}.Make()).ok());
  Exit("init", 1);
  EXPECT_EQ(Show(), "init/0=exited(1) init/1=running sandbox/0=ready");
  Exit("init", 1);
  EXPECT_EQ(NoteOf("init").reason(), "CrashLoopBackOff");
  EXPECT_EQ(NoteOf("init").message(),
            "back-off 10s restarting failed container=init pod=web_default(uid-web)");
  RunFor(11s);
  EXPECT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"init"});
}

TEST_F(Containers, AnEventOfAFailedStartNamesTheContainerAndNotItsId) {
  std::string id;
  traced.after_create = [this, &id] {
    if (!id.empty()) return;
    id = runtime.Containers().at(0).id.str();
    runtime.AddFault({.method = "StartContainer",
                      .code = StatusCode::kUnknown,
                      .message = fmt::format("failed to create task for container {}", id),
                      .times = 1});
  };
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(events.Text("Failed"), "Error: failed to create task for container app");
  EXPECT_EQ(NoteOf("app").reason(), "RunContainerError");
  EXPECT_NE(NoteOf("app").message().find(id), std::string::npos);
}

TEST_F(Containers, AnotherImageEndsABackOff) {
  auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("app", 1);
  Exit("app", 1);
  ASSERT_EQ(NoteOf("app").reason(), "CrashLoopBackOff");
  ASSERT_TRUE(runtime.Running("uid-web").empty());
  runtime.AddImage("busybox:2");
  App(pod).set_image("busybox:2");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"app"});
  EXPECT_EQ(NoteOf("app").reason(), "");
}

TEST_F(Containers, AProbesOwnGraceIsWhatTheRuntimeIsTold) {
  auto pod = TestPod{}.Make();
  Probe(*App(pod).mutable_liveness_probe());
  App(pod).mutable_liveness_probe()->set_termination_grace_period_seconds(5);
  runtime.SetExec("", "app", cri::ExecResult{.exit_code = 1});
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  ASSERT_FALSE(traced.graces.empty());
  EXPECT_EQ(traced.graces.front(), 5);
  traced.graces.clear();
  pod.mutable_metadata()->set_uid("uid-two");
  pod.mutable_metadata()->set_name("two");
  pod.mutable_metadata()->set_deletion_grace_period_seconds(10);
  Remove(TestPod{}.Make());
  traced.graces.clear();
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  ASSERT_FALSE(traced.graces.empty());
  EXPECT_EQ(traced.graces.front(), 10) << "how long the pod may take to be deleted is above it";
}

/// One sync alone: the pod's end comes while the call is under way.
TEST_F(Containers, ASandboxThatCannotBeMadeForAPodThatEndsIsNoEvent) {
  const DiskRecords records(files, clock, config.run_dir, config.state_dir);
  const PullRecords pulls(files, clock, config.node.pod_roots.root_dir);
  prometheus::Registry registry;
  Metrics metrics(registry);
  cri::Observer observer({runtime, clock, nullptr});
  const fs::WithinReader read_within;
  const Log log(sink);
  VolumeManager volumes({files, mounts, ownership, clock, config.node, log, metrics});
  const PodCgroups cgroups(
      {&kernel, files, config.node, clock, metrics, log, "/run/pod-worker/cgroups"},
      config.cgroups);
  const SyncDeps sync{.reader = runtime,
                      .observer = observer,
                      .runner = traced,
                      .remover = runtime,
                      .images = runtime,
                      .files = files,
                      .volumes = volumes,
                      .cgroups = cgroups,
                      .read_within = read_within,
                      .records = records,
                      .pull_records = pulls,
                      .access_policy = config.image_access,
                      .clock = clock,
                      .node = config.node,
                      .events = events,
                      .metrics = metrics,
                      .log = log,
                      .request_timeout = 1min};
  runtime.AddFault({.method = "RunPodSandbox", .code = StatusCode::kUnknown});
  SyncInput input{.pod = {.bytes = kube::PodBytes::Of(TestPod{}.Make())},
                  .restarts = {CrashBackoff(), {}, {}},
                  .ending = std::make_shared<CancelToken>(),
                  .incarnation = 1};
  EXPECT_EQ(RunSync(sync, input).status.code(), StatusCode::kUnknown);
  ASSERT_EQ(events.Count("FailedCreatePodSandBox"), 1);
  traced.before = [&input](const std::string&) { input.ending->Cancel(); };
  EXPECT_EQ(RunSync(sync, input).status.code(), StatusCode::kCancelled);
  EXPECT_EQ(events.Count("FailedCreatePodSandBox"), 1);
}

TEST_F(Containers, ARuntimeThatSaysStoppedAndShowsARunningContainerIsAskedAgain) {
  const auto pod = TestPod{.source = "api", .grace = 2}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  traced.stops_nothing = true;
  process->calls.hold = true;
  Remove(pod);
  ASSERT_EQ(process->calls.stops.size(), 1u);
  process->calls.stops[0](OkStatus());
  Settle();
  EXPECT_EQ(Record()->state(), v1::TERMINATING);
  EXPECT_EQ(events.Text("FailedKillPod").find("error killing pod: detected running containers"), 0u)
      << events.Text("FailedKillPod");
  traced.stops_nothing = false;
  process->calls.hold = false;
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
}

TEST_F(Containers, ANameThatIsTooLongForAHostIsToldAndMakesNoSandbox) {
  Kill();
  config.node.cluster_domain = "cluster.local";
  Start();
  auto pod = TestPod{.name = "web-" + std::string(20, 'x')}.Make();
  pod.mutable_spec()->set_subdomain("a-rather-long-subdomain");
  pod.mutable_spec()->set_set_hostname_as_fqdn(true);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(30s);
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(runtime.Calls("RunPodSandbox"), 0u);
  EXPECT_EQ(events.Text("FailedCreatePodSandBox"),
            "Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster "
            "domain, FQDN web-xxxxxxxxxxxxxxxxxxxx.a-rather-long-subdomain.default.svc.cluster."
            "local is too long (64 characters is the max, 74 characters requested)");
  pod.mutable_spec()->set_set_hostname_as_fqdn(false);
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready") << "the host's own name is short enough";
}

/// Told before it can end: how it ends says nothing of what comes next.
TEST_F(Containers, WhatIsStoppedToBeReplacedIsSaidToComeBack) {
  auto pod = TestPod{.policy = "OnFailure"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  process->calls.hold = true;
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  ASSERT_EQ(process->calls.stops.size(), 1u);
  EXPECT_EQ(NoteOf("app").reason(), "ContainerCreating");
  process->calls.hold = false;
  ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 0).ok());
  std::exchange(process->calls.stops, {})[0](OkStatus());
  RunFor(1s);
  EXPECT_EQ(Show(), "app/0=exited(0) app/1=running sandbox/0=ready");
  EXPECT_EQ(NoteOf("app").reason(), "ContainerCreating") << "others may see only the first yet";
  Exit("app", 0);
  EXPECT_EQ(NoteOf("app").reason(), "");
}

TEST_F(Containers, OneThatHasEndedForGoodIsProbedNoMoreAndHasNoSeries) {
  auto pod = TestPod{.policy = "Never", .containers = {"app", "other"}}.Make();
  Probe(*App(pod).mutable_liveness_probe());
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(3s);
  ASSERT_GT(SeriesOf("app"), 0);
  Exit("app", 0);
  const size_t before = runtime.Calls("ExecSync");
  RunFor(2min);
  EXPECT_EQ(runtime.Calls("ExecSync"), before);
  EXPECT_EQ(SeriesOf("app"), 0);
  EXPECT_EQ(Show(), "app/0=exited(0) other/0=running sandbox/0=ready");
}

TEST_F(Containers, OnlyWhatAProbeDecidesMakesWork) {
  auto pod = TestPod{}.Make();
  Probe(*App(pod).mutable_readiness_probe());
  Probe(*App(pod).mutable_liveness_probe());
  App(pod).mutable_liveness_probe()->set_failure_threshold(30);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  const size_t looks = runtime.Calls("ListPodSandbox");
  runtime.SetExec("uid-web", "app", cri::ExecResult{.exit_code = 1});
  RunFor(5s);
  ASSERT_EQ(events.Count("Killing"), 0);
  EXPECT_EQ(runtime.Calls("ListPodSandbox"), looks) << "it is unready, and the record says so";
  RunFor(30s);
  EXPECT_EQ(events.Count("Killing"), 1);
  EXPECT_GT(runtime.Calls("ListPodSandbox"), looks);
}

/// The other one has twenty seconds more.
TEST_F(Containers, WhatHasStoppedBeforeTheRestOfItsPodIsProbedNoMore) {
  auto pod = TestPod{.source = "api", .containers = {"app", "slow"}}.Make();
  Probe(*App(pod).mutable_readiness_probe());
  pod.mutable_spec()
      ->mutable_containers(1)
      ->mutable_lifecycle()
      ->mutable_pre_stop()
      ->mutable_sleep()
      ->set_seconds(20);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(3s);
  Remove(pod);
  ASSERT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"slow"});
  const size_t before = runtime.Calls("ExecSync");
  RunFor(10s);
  EXPECT_EQ(runtime.Calls("ExecSync"), before);
  EXPECT_EQ(events.Count("Unhealthy"), 0) << events.Text("Unhealthy");
}

TEST_F(Containers, OfAPodThatEndsReadinessAndSidecarsAreProbedOn) {
  auto pod = TestPod{.source = "api", .inits = {"side"}, .sidecars = {"side"}}.Make();
  Probe(*pod.mutable_spec()->mutable_init_containers(0)->mutable_liveness_probe());
  Probe(*App(pod).mutable_readiness_probe());
  Probe(*App(pod).mutable_liveness_probe());
  App(pod).mutable_lifecycle()->mutable_pre_stop()->mutable_sleep()->set_seconds(20);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(3s);
  Remove(pod);
  for (const char* name : {"app", "side"})
    runtime.SetExec("uid-web", name, cri::ExecResult{.exit_code = 1});
  RunFor(10s);
  ASSERT_EQ(runtime.Running("uid-web"), (std::vector<std::string>{"app", "side"}));
  bool ready = true;
  const auto record = Record();
  for (const auto& result : record->probes())
    if (result.kind() == "readiness") ready = result.success();
  EXPECT_FALSE(ready);
  std::set<std::string> unhealthy;
  for (const auto& event : events.events)
    if (event.reason == "Unhealthy") unhealthy.insert(event.container + event.message);
  EXPECT_EQ(unhealthy,
            (std::set<std::string>{"appReadiness probe failed: ", "sideLiveness probe failed: "}));
}

TEST_F(Containers, AHookThatFailsWhileTheRuntimeIsLookedAtSaysWhyItsContainerWaits) {
  auto pod = TestPod{}.Make();
  App(pod).mutable_lifecycle()->mutable_post_start()->mutable_exec()->add_command("hook");
  process->calls.hold_exec = true;
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(process->calls.execs.size(), 1u);
  process->calls.hold = true;  // it runs on
  // The look has begun, with the hook under way, when the hook fails.
  pleg_bus.Signal("pod-changed", "uid-web");
  process->calls.execs[0](cri::ExecResult{1, "no", ""});
  Settle();
  EXPECT_EQ(NoteOf("app").reason(), "PostStartHookError");
}

/// Killed in StartContainer, and the runtime gives the call up.
TEST_F(Containers, AStartThatWasCutOffIsToldWithTheNext) {
  runtime.AddFault({.method = "StartContainer", .code = StatusCode::kUnknown, .times = 2});
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  ASSERT_EQ(Show(), "app/0=created sandbox/0=ready");
  const std::string before = events.Text("Failed");
  const auto is_told = [this] {
    return std::ranges::any_of(sink.lines(), [](const auto& line) {
      return line.message == "starting a container that was made before pod-worker started";
    });
  };
  EXPECT_FALSE(is_told()) << "a start that has failed is another matter";
  events.events.clear();
  Restart();
  RunFor(1s);
  EXPECT_EQ(events.Text("Failed"), before);
  EXPECT_EQ(NoteOf("app").reason(), "RunContainerError");
  EXPECT_TRUE(is_told());
  for (const auto& line : sink.lines())
    for (const auto& field : line.fields)
      EXPECT_FALSE(field.value.ends_with("(UNKNOWN)")) << field.value;
  RunFor(20s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Containers, NoFolderOfThePodsLogsIsMadeThroughALink) {
  ExpectNoLogsThrough("/logs/pods/default_web_uid-web");
  EXPECT_GT(events.Count("FailedCreatePodSandBox"), 0);
}

TEST_F(Containers, NoFolderOfAContainersLogsIsMadeThroughALink) {
  ExpectNoLogsThrough("/logs/pods/default_web_uid-web/app");
}

TEST_F(Containers, NoLogIsRemovedThroughALink) {
  ASSERT_TRUE(RunPod(TestPod{.policy = "OnFailure", .inits = {"one", "two"}}.Make()).ok());
  Exit("one", 0);
  Exit("two", 0);
  ASSERT_TRUE(files.RemoveTree("/logs/pods/default_web_uid-web/two").ok());
  ASSERT_TRUE(files.Replace("/elsewhere/0.log", "", {}).ok());
  ASSERT_TRUE(files.MakeSymlink("/elsewhere", "/logs/pods/default_web_uid-web/two").ok());
  runtime.BreakSandbox("uid-web");
  Changed();
  RunFor(2s);
  EXPECT_EQ(Show(),
            "app/0=exited(137) one/0=exited(0) one/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_TRUE(files.Stat("/elsewhere/0.log", false).ok());
}

TEST_F(Containers, WhatInitContainersLeftInAnEarlierSandboxIsRemoved) {
  ASSERT_TRUE(RunPod(TestPod{.policy = "OnFailure", .inits = {"one", "two"}}.Make()).ok());
  Exit("one", 0);
  WriteLog("two/0.log");
  WriteLog("two/0.log.20260101-000000");
  Exit("two", 1);
  WriteLog("two/1.log");
  Exit("two", 0);
  ASSERT_EQ(Show(), "app/0=running one/0=exited(0) sandbox/0=ready two/1=exited(0)");
  runtime.BreakSandbox("uid-web");
  Changed();
  RunFor(2s);
  EXPECT_EQ(Show(),
            "app/0=exited(137) one/0=exited(0) one/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_FALSE(HasLog("two/0.log") || HasLog("two/0.log.20260101-000000") || HasLog("two/1.log"));
  Exit("one", 0);
  EXPECT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"two"}) << Show();
  Exit("two", 0);
  EXPECT_EQ(runtime.Running("uid-web"), std::vector<std::string>{"app"}) << Show();
  EXPECT_EQ(Record()->state(), v1::SYNCING);
}

}  // namespace
}  // namespace splitlet::pod_worker
