#include "libs/node/pod_place.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "libs/fs/path.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Where pods have their directories, and whose they are.

namespace splitlet::pod_worker {
namespace {

class Place : public testing::Test, public TestNode {
 protected:
  static kube::Pod PodWithScratch() {
    auto pod = TestPod{}.Make();
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name("scratch");
    volume.mutable_volume_source()->mutable_empty_dir();
    MountAt(*pod.mutable_spec()->mutable_containers(0), "scratch");
    return pod;
  }
  bool Exists(const std::string& path) { return files.Stat(path, false).ok(); }
  std::string MarkOf(const std::string& uid = "uid-web") {
    const auto mark = node::ReadPodMark(files, "/state/pods/" + uid, uid);
    return mark.ok() && *mark ? (*mark)->path : "none";
  }
};

constexpr const char* kScratch = "/volumes/kubernetes.io~empty-dir/scratch";

TEST_F(Place, IsBelowTheRootDirectoryAndMarkedBeforeItIsMade) {
  std::vector<std::string> unmarked;
  bool inside = false;
  Start();
  files.SetHook([&](std::string_view operation, const std::string& path) -> Status {
    if (inside || !path.starts_with("/kubelet/pods/uid-web")) return OkStatus();
    if (operation == "read" || operation == "stat" || operation == "list") return OkStatus();
    inside = true;
    if (MarkOf() != "/kubelet/pods/uid-web") unmarked.push_back(path);
    inside = false;
    return OkStatus();
  });
  ASSERT_TRUE(RunPod(PodWithScratch()).ok());
  files.SetHook(nullptr);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_TRUE(unmarked.empty()) << unmarked.front();
  EXPECT_TRUE(Exists(std::string("/kubelet/pods/uid-web") + kScratch));
  EXPECT_TRUE(Exists("/kubelet/pods/uid-web/etc-hosts"));
  EXPECT_TRUE(Exists("/kubelet/pods/uid-web/containers/app"));
  EXPECT_EQ(files.List("/state/pods/uid-web")->size(), 1u);
}

TEST_F(Place, VariablesComeFromWhatAnInitContainerWrote) {
  auto pod = PodWithScratch();
  auto& init = *pod.mutable_spec()->add_init_containers();
  init = pod.spec().containers(0);
  init.set_name("init");
  auto& variable = *pod.mutable_spec()->mutable_containers(0)->add_env();
  variable.set_name("TOKEN");
  auto& selector = *variable.mutable_value_from()->mutable_file_key_ref();
  selector.set_volume_name("scratch");
  selector.set_path("env");
  selector.set_key("KEY");
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("init", 0);
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  const std::string file = std::string("/kubelet/pods/uid-web") + kScratch + "/env";
  ASSERT_TRUE(files.Replace(file, "KEY='value'\n", {}).ok());
  RunFor(30s);
  EXPECT_EQ(Show(), "app/0=running init/0=exited(0) sandbox/0=ready");
}

TEST_F(Place, FilesOfVariablesAreBoundedTogether) {
  Start();
  for (const int count : {16, 17}) {  // of 64 KiB
    SCOPED_TRACE(count);
    auto pod = PodWithScratch();
    const std::string uid = fmt::format("uid-{}", count);
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_metadata()->set_name(uid);
    auto& init = *pod.mutable_spec()->add_init_containers();
    init = pod.spec().containers(0);
    init.set_name("init");
    for (int i = 0; i <= count; ++i) {  // the first one twice
      auto& variable = *pod.mutable_spec()->mutable_containers(0)->add_env();
      variable.set_name(fmt::format("V{}", i));
      auto& selector = *variable.mutable_value_from()->mutable_file_key_ref();
      selector.set_volume_name("scratch");
      selector.set_path(fmt::format("env{}", i % count));
      selector.set_key("KEY");
    }
    ASSERT_TRUE(RunPod(pod).ok());
    const std::string text = "KEY='v'\n#" + std::string((64u << 10) - 10, 'x') + "\n";
    for (int i = 0; i < count; ++i) {
      const std::string path = fmt::format("/kubelet/pods/{}{}/env{}", uid, kScratch, i);
      ASSERT_TRUE(files.Replace(path, text, {}).ok());
    }
    Exit("init", 0, uid);
    EXPECT_EQ(runtime.Running(uid).size(), count == 16 ? 1u : 0u) << Show(uid);
    const auto note = NoteOf("app", uid);
    EXPECT_EQ(note.reason(), count == 16 ? "" : "CreateContainerConfigError");
    EXPECT_EQ(note.message().find("longer than 1048576 bytes") != std::string::npos, count == 17)
        << note.message();
  }
}

TEST_F(Place, AMarkOutlivesAPowerCut) {
  Start();
  ASSERT_TRUE(RunPod(PodWithScratch()).ok());
  Kill();
  files.PowerCut();
  EXPECT_EQ(MarkOf(), "/kubelet/pods/uid-web");
}

/// The directories of an earlier version stay where containers have them mounted.
TEST_F(Place, APodOfBeforeStaysWhereItIsUntilItEnds) {
  const std::string before = "/state/pods/uid-web";
  const auto pod = PodWithScratch();
  ASSERT_TRUE(files.Replace(before + kScratch + "/kept", "by the pod", {}).ok());
  ASSERT_TRUE(files.Replace(before + "/etc-hosts", "old", {}).ok());
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  EXPECT_TRUE(Exists(before + kScratch + "/kept"));
  EXPECT_TRUE(Exists(before + "/containers/app"));
  EXPECT_EQ(MarkOf(), "none");
  EXPECT_FALSE(Exists("/kubelet/pods/uid-web"));
  const auto other = TestPod{.name = "new", .uid = "uid-new"}.Make();
  ASSERT_TRUE(RunPod(other).ok());
  EXPECT_EQ(MarkOf("uid-new"), "/kubelet/pods/uid-new");
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_FALSE(Exists(before + kScratch)) << "its volumes end with it";
}

TEST_F(Place, StaysTheSameWhenTheRootDirectoryIsAnother) {
  Start();
  ASSERT_TRUE(RunPod(PodWithScratch()).ok());
  Kill();
  config.node.pod_roots.root_dir = "/srv/kubelet";
  Start();
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  EXPECT_FALSE(Exists("/srv/kubelet"));
  EXPECT_EQ(MarkOf(), "/kubelet/pods/uid-web");
}

TEST_F(Place, WhatSomebodyElseHasBelowTheRootIsNotTouched) {
  ASSERT_TRUE(files.Replace("/kubelet/pods/uid-other/etc-hosts", "theirs", {}).ok());
  ASSERT_TRUE(files.Replace(std::string("/kubelet/pods/uid-other") + kScratch + "/f", "", {}).ok());
  Start();
  const auto pod = PodWithScratch();
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_FALSE(Exists(std::string("/kubelet/pods/uid-web") + kScratch));
  EXPECT_TRUE(Exists("/kubelet/pods/uid-other/etc-hosts"));
  EXPECT_TRUE(Exists(std::string("/kubelet/pods/uid-other") + kScratch + "/f"));
  EXPECT_FALSE(Exists("/state/pods/uid-other"));
}

/// One that ran here is ours, also when the state was lost under it or a kubelet began it.
TEST_F(Place, APodThatRanHereWithoutAMarkLeavesNothingThatNobodyRemoves) {
  const auto pod = PodWithScratch();
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  Kill();
  for (const char* lost : {"/run", "/state"}) ASSERT_TRUE(files.RemoveTree(lost).ok());
  Start();
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_FALSE(Exists(std::string("/kubelet/pods/uid-web") + kScratch));
  EXPECT_EQ(MarkOf(), "/kubelet/pods/uid-web") << "gc removes the rest";
}

/// A pod of a kubelet that no process recorded, with a secret, a part of it, a directory, and a
/// volume of a kind that is not known here.
class OrphanPlace : public Place {
 protected:
  void SetUp() override {
    runtime.AddUnmanagedPod({.uid = "uid-orphan", .name = "old", .containers = {"app"}});
    ASSERT_TRUE(files.MakeDirs(kSecret, 0755).ok());
    ASSERT_TRUE(mounts.Mount({.type = "tmpfs", .path = kSecret}).ok());
    ASSERT_TRUE(files.Replace(std::string(kSecret) + "/password", "hush", {}).ok());
    ASSERT_TRUE(files.MakeDirs(fs::ParentOf(kPart), 0750).ok());
    ASSERT_TRUE(mounts.BindWithin({kSecret, "password", kPart}).ok());
    ASSERT_TRUE(files.Replace(kOrphan + kScratch + "/f", "", {}).ok());
    ASSERT_TRUE(files.MakeDirs(kCsi, 0755).ok());
    ASSERT_TRUE(mounts.Mount({.type = "ext4", .path = kCsi}).ok());
    Start();
  }
  v1::KillPodRequest KillAll() const {
    v1::KillPodRequest request;
    request.set_uid("uid-orphan");
    for (const auto& sandbox : runtime.Sandboxes())
      if (sandbox.pod_uid == "uid-orphan") request.add_sandbox_ids(sandbox.id.str());
    return request;
  }
  std::string HoldOrphan() {
    v1::HoldRequest request;
    request.add_uids("uid-orphan");
    const auto reply = HoldFor(request);
    EXPECT_TRUE(reply.ok() && reply->uids_size() == 1) << ToString(reply.status());
    return reply.ok() ? reply->hold_id() : "";
  }
  std::vector<std::string> Mounted() const {
    std::vector<std::string> paths;
    for (const auto& [path, request] : mounts.mounted()) paths.push_back(path);
    return paths;
  }
  const std::string kOrphan = "/kubelet/pods/uid-orphan";
  const std::string kSecret = kOrphan + "/volumes/kubernetes.io~secret/login";
  const std::string kPart = kOrphan + "/volume-subpaths/login/app/0";
  const std::string kCsi = kOrphan + "/volumes/kubernetes.io~csi/disk/mount";
};

TEST_F(OrphanPlace, VolumesGoWithItButForKindsThatAreNotKnown) {
  ASSERT_TRUE(KillPod(KillAll()).ok());
  RunFor(5s);
  EXPECT_THAT(Mounted(), testing::ElementsAre(kCsi));
  EXPECT_FALSE(Exists(kSecret));
  EXPECT_FALSE(Exists(kOrphan + kScratch));
  EXPECT_TRUE(Exists(kCsi));
  EXPECT_EQ(MarkOf("uid-orphan"), kOrphan) << "gc removes the rest when nothing is mounted";
  EXPECT_FALSE(workers.Contains("uid-orphan"));
}

TEST_F(OrphanPlace, VolumesStayWhileASandboxThatWasNotNamedIsThere) {
  const auto first = KillAll();
  runtime.AddUnmanagedPod({.uid = "uid-orphan", .name = "old-again", .containers = {"late"}});
  const auto all_of_it = KillAll();
  ASSERT_TRUE(KillPod(first).ok());
  RunFor(5s);
  EXPECT_EQ(Show("uid-orphan"), "app/0=exited(143) late/0=running sandbox/0=dead sandbox/0=ready");
  EXPECT_EQ(Mounted().size(), 3u);
  EXPECT_TRUE(Exists(kOrphan + kScratch + "/f"));
  EXPECT_EQ(MarkOf("uid-orphan"), "none");
  ASSERT_TRUE(KillPod(all_of_it).ok());
  RunFor(5s);
  EXPECT_THAT(Mounted(), testing::ElementsAre(kCsi));
}

TEST_F(OrphanPlace, AVolumeThatIsBusyIsTriedAgainAlsoAfterARestart) {
  mounts.FailUnmount(FailedPrecondition("device or resource busy"));
  ASSERT_TRUE(KillPod(KillAll()).ok());
  RunFor(10s);
  EXPECT_THAT(events.Text("FailedKillPod"), testing::HasSubstr("busy"));
  Restart();
  RunFor(10s);
  EXPECT_EQ(Mounted().size(), 3u);
  mounts.FailUnmount(OkStatus());
  RunFor(10s);
  EXPECT_THAT(Mounted(), testing::ElementsAre(kCsi));
  EXPECT_FALSE(workers.Contains("uid-orphan"));
}

/// Nothing of it had to be ended: gc found the directory.
TEST_F(OrphanPlace, VolumesOfOneThatIsDeadGoWhenGcAsksUnderAHold) {
  const auto why = [this] { return Message(TakeDownVolumes("uid-orphan").status()); };
  EXPECT_EQ(why(), "no hold names the pod");
  const std::string hold = HoldOrphan();
  EXPECT_EQ(why(), "nothing says that the pod is of this node");
  ASSERT_TRUE(files.Replace("/state/pods/uid-orphan/root", kOrphan, {}).ok());
  EXPECT_EQ(why(), "a container or a sandbox of the pod may use them");
  runtime.BreakSandbox("uid-orphan");
  const int fault = runtime.AddFault({.method = "ListPodSandbox"});
  EXPECT_THAT(why(), testing::HasSubstr("injected"));
  runtime.RemoveFault(fault);
  mounts.FailUnmount(FailedPrecondition("device or resource busy"));
  EXPECT_THAT(why(), testing::HasSubstr("busy"));
  mounts.FailUnmount(OkStatus());
  Want(TestPod{.uid = "uid-orphan"}.Make());
  EXPECT_EQ(why(), "the pod is not over");
  EXPECT_EQ(Mounted().size(), 3u);
  Gone("uid-orphan");
  EXPECT_EQ(*TakeDownVolumes("uid-orphan"), Progress::kDone);
  EXPECT_THAT(Mounted(), testing::ElementsAre(kCsi));
  EXPECT_FALSE(Exists(kOrphan + kScratch));
  EXPECT_EQ(TakeDownVolumes("../x").status().code(), StatusCode::kInvalidArgument);
  Call([this, hold] { service().OnReleaseHold(hold); });
  EXPECT_EQ(why(), "no hold names the pod");
}

TEST_F(OrphanPlace, AHoldThatIsOverAllowsNothing) {
  ASSERT_TRUE(files.Replace("/state/pods/uid-orphan/root", kOrphan, {}).ok());
  runtime.BreakSandbox("uid-orphan");
  HoldOrphan();
  RunFor(61s);
  EXPECT_EQ(Message(TakeDownVolumes("uid-orphan").status()), "no hold names the pod");
  EXPECT_EQ(Mounted().size(), 3u);
}

/// A server does not answer while the hold lasts.
TEST_F(OrphanPlace, WhatLastsIsFinishedWithoutBeingAskedAgain) {
  const std::string share = kOrphan + "/volumes/kubernetes.io~nfs/share";
  const std::string line = "40 1 0:40 / " + share + " rw - nfs s:/e rw\n";
  ASSERT_TRUE(files.MakeDirs(share, 0750).ok());
  ASSERT_TRUE(files.Replace("/proc/self/mountinfo", line, {}).ok());
  run_program = [&](const process::Program& program) -> StatusOr<std::string> {
    EXPECT_EQ(program.argv.front(), "umount");
    RETURN_IF_ERROR(files.Replace("/proc/self/mountinfo", "", {}), "mounts");
    return std::string();
  };
  programs.Hold(true);
  Restart();
  ASSERT_TRUE(files.Replace("/state/pods/uid-orphan/root", kOrphan, {}).ok());
  runtime.BreakSandbox("uid-orphan");
  const std::string hold = HoldOrphan();
  EXPECT_EQ(*TakeDownVolumes("uid-orphan"), Progress::kUnderWay);
  Call([this, hold] { service().OnReleaseHold(hold); });
  RunFor(60s);
  EXPECT_TRUE(Exists(share));
  programs.EndAll();
  all.RunUntilIdle();
  EXPECT_FALSE(Exists(share));
  EXPECT_FALSE(programs.Knows({"uid-orphan", "umount  " + share})) << "its answer was taken";
}

TEST_F(OrphanPlace, NothingIsTakenDownWhileTheRuntimeCannotBeAsked) {
  int fault = 0;
  files.SetHook([&](std::string_view operation, const std::string& path) {
    const bool saves = operation == "replace" && path.starts_with("/run/");
    if (saves && fault == 0 && runtime.Running("uid-orphan").empty())
      fault = runtime.AddFault({.method = "ListPodSandbox"});
    return OkStatus();
  });
  ASSERT_TRUE(KillPod(KillAll()).ok());
  RunFor(10s);
  files.SetHook(nullptr);
  ASSERT_NE(fault, 0);
  EXPECT_THAT(events.Text("FailedKillPod"), testing::HasSubstr("injected"));
  EXPECT_EQ(Mounted().size(), 3u);
  runtime.RemoveFault(fault);
  RunFor(10s);
  EXPECT_THAT(Mounted(), testing::ElementsAre(kCsi));
}

TEST_F(Place, WithAMarkThatNamesAnotherNothingIsMadeOrRemoved) {
  ASSERT_TRUE(files.Replace("/state/pods/uid-web/root", "/kubelet/pods/uid-other", {}).ok());
  ASSERT_TRUE(files.Replace(std::string("/kubelet/pods/uid-other") + kScratch + "/f", "", {}).ok());
  Start();
  const auto pod = PodWithScratch();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_THAT(events.Text("Failed"), testing::StartsWith("error making pod data directories: "));
  EXPECT_EQ(events.Count("FailedMount"), 0);
  Remove(pod);
  RunFor(60s);
  EXPECT_TRUE(Exists(std::string("/kubelet/pods/uid-other") + kScratch + "/f"));
  EXPECT_NE(Record()->state(), v1::FINISHED) << "its volumes may be there still";
}

TEST_F(Place, AServerOfAVolumeThatHangsHoldsUpItsPodAlone) {
  bool hangs = true;
  std::vector<std::string> ran;
  run_program = [&](const process::Program& program) -> StatusOr<std::string> {
    ran.push_back(fmt::format("{}", fmt::join(program.argv, " ")));
    if (hangs) return DeadlineExceeded("mount: no end in time");
    RETURN_IF_ERROR(
        files.Replace("/proc/self/mountinfo",
                      fmt::format("40 1 0:40 / {} rw - nfs s:/e rw\n", program.argv.back()), {}),
        "mounts");
    return std::string();
  };
  auto far = TestPod{.name = "far", .uid = "uid-far"}.Make();
  auto& volume = *far.mutable_spec()->add_volumes();
  volume.set_name("v");
  auto& nfs = *volume.mutable_volume_source()->mutable_nfs();
  nfs.set_server("s");
  nfs.set_path("/e");
  MountAt(*far.mutable_spec()->mutable_containers(0), "v");
  Start();
  RunPod(far).IgnoreError();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  RunFor(10s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(Show("uid-far"), "");
  EXPECT_GT(events.Count("FailedMount"), 0);
  hangs = false;
  RunFor(3min);
  EXPECT_EQ(Show("uid-far"), "app/0=running sandbox/0=ready");
  EXPECT_EQ(ran.back(), "mount -t nfs -- s:/e /kubelet/pods/uid-far/volumes/kubernetes.io~nfs/v");
}

/// No sync and no end of the pod waits for it, nor does a pod-worker that is killed meanwhile.
TEST_F(Place, AMountThatLastsIsWaitedForWithoutAThreadAlsoOverAKill) {
  std::vector<std::string> ran;
  bool mounted = false;
  run_program = [&](const process::Program& program) -> StatusOr<std::string> {
    ran.push_back(program.argv[0]);
    mounted = program.argv[0] == "mount";
    const std::string line = fmt::format("40 1 0:40 / {} rw - nfs s:/e rw\n", program.argv.back());
    RETURN_IF_ERROR(files.Replace("/proc/self/mountinfo", mounted ? line : "", {}), "mounts");
    return std::string();
  };
  programs.Hold(true);
  auto far = TestPod{.name = "far", .uid = "uid-far"}.Make();
  auto& volume = *far.mutable_spec()->add_volumes();
  volume.set_name("v");
  auto& nfs = *volume.mutable_volume_source()->mutable_nfs();
  nfs.set_server("s");
  nfs.set_path("/e");
  MountAt(*far.mutable_spec()->mutable_containers(0), "v");
  Start();
  ASSERT_TRUE(RunPod(far).ok());
  RunFor(30s);
  EXPECT_EQ(Show("uid-far"), "");
  ASSERT_EQ(programs.running().size(), 1u);
  Restart();
  RunFor(30s);
  EXPECT_EQ(programs.running().size(), 1u) << "the one of before";
  programs.EndAll();
  all.RunUntilIdle();
  EXPECT_EQ(Show("uid-far"), "app/0=running sandbox/0=ready") << "at once";
  EXPECT_EQ(events.Count("FailedMount"), 0);
  EXPECT_TRUE(mounted);

  Remove(far);
  RunFor(60s);
  EXPECT_EQ(programs.running().size(), 1u) << "umount(8)";
  EXPECT_NE(Record("uid-far")->state(), v1::FINISHED);
  programs.EndAll();
  all.RunUntilIdle();
  EXPECT_EQ(Record("uid-far")->state(), v1::FINISHED);
  EXPECT_EQ(ran, (std::vector<std::string>{"mount", "umount"}));
  EXPECT_EQ(events.Count("FailedKillPod"), 0);
}

/// It cannot be killed, and its server may never answer.
TEST_F(Place, AMountThatHangsInTheKernelIsToldWhenItsPodHasEnded) {
  run_program = [](const process::Program&) { return StatusOr<std::string>(std::string()); };
  programs.Hold(true);
  programs.Hang(true);
  auto far = TestPod{.name = "far", .uid = "uid-far"}.Make();
  auto& volume = *far.mutable_spec()->add_volumes();
  volume.set_name("v");
  volume.mutable_volume_source()->mutable_nfs()->set_server("s");
  volume.mutable_volume_source()->mutable_nfs()->set_path("/e");
  MountAt(*far.mutable_spec()->mutable_containers(0), "v");
  constexpr const char* kTold = "volumes of a terminated pod are still mounted";
  const auto lines = [this] {
    int count = 0;
    for (const auto& line : sink.lines()) count += line.message == kTold ? 1 : 0;
    return count;
  };
  const auto late = [this] { return Metrics(process->registry).late_unmounts.Value(); };
  Start();
  ASSERT_TRUE(RunPod(far).ok());
  RunFor(10s);
  Remove(far);
  RunFor(2min);
  EXPECT_EQ(lines(), 0);
  EXPECT_EQ(late(), 0);
  RunFor(2min);
  EXPECT_EQ(lines(), 1);
  EXPECT_EQ(late(), 1);
  EXPECT_EQ(Record("uid-far")->state(), v1::TERMINATED);
  EXPECT_THAT(Record("uid-far")->sync_error(), testing::HasSubstr("not unmounted yet"));
  EXPECT_EQ(events.Count("FailedKillPod"), 0) << "a kubelet tells none";
  Restart();
  RunFor(4min);
  EXPECT_EQ(lines(), 2) << "each process once";
  programs.EndAll();
  RunFor(1min);
  EXPECT_EQ(Record("uid-far")->state(), v1::FINISHED);
  EXPECT_EQ(Record("uid-far")->sync_error(), "");
  EXPECT_EQ(late(), 0);
}

TEST_F(Place, EachVolumeThatCannotBeMadeIsTold) {
  Start();
  auto pod = TestPod{}.Make();
  for (const char* name : {"v", "w"}) {
    auto& volume = *pod.mutable_spec()->add_volumes();
    volume.set_name(name);
    volume.mutable_volume_source()->mutable_host_path()->set_path(std::string("/absent/") + name);
    volume.mutable_volume_source()->mutable_host_path()->set_type("Directory");
    MountAt(*pod.mutable_spec()->mutable_containers(0), name);
  }
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "");
  std::vector<std::string> told;
  for (const auto& event : events.events)
    if (event.reason == "FailedMount") told.push_back(event.message);
  EXPECT_THAT(told, testing::ElementsAre(testing::HasSubstr("for volume \"v\""),
                                         testing::HasSubstr("for volume \"w\"")));
  EXPECT_THAT(Record()->sync_error(), testing::HasSubstr("volume \"v\""));
}

}  // namespace
}  // namespace splitlet::pod_worker
