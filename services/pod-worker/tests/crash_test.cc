#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/api_objects/api_fixture.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Killed at each of its fail points, at each time it passes them, pod-worker ends in the same
/// state as one that was never killed.

namespace splitlet::pod_worker {
namespace {

class Crashes : public TestNode {
 public:
  Crashes() {
    config.user_ids = IdPool{65536, 65536, 3};
    config.cgroups = {.enabled = true, .layout = cgroup::FakeKernel::V2(), .pod_pids = 50};
    runtime.SetFeatures({.handlers = {{.user_namespaces = true}}});
    traced.on_sandbox = [this](const runtime::v1::PodSandboxConfig& made) {
      const auto& options = made.linux().security_context().namespace_options();
      CheckIds(made.metadata().uid() + "/" + made.annotations().at("splitlet.dev/incarnation"),
               options);
      // Limited before anything runs in it; and something stays in it that no runtime knows.
      const std::string dir = "/sys/fs/cgroup" + made.linux().cgroup_parent();
      EXPECT_EQ(kernel.Read(dir + "/pids.max").value_or("none"), "50") << dir;
      kernel.AddProcess(dir, 1000 + static_cast<int64_t>(made.metadata().uid().size()));
    };
    traced.on_container = [this](const runtime::v1::ContainerConfig& made) {
      CheckIds(made.labels().at("io.kubernetes.pod.uid") + "/" +
                   made.annotations().at("splitlet.dev/incarnation"),
               made.linux().security_context().namespace_options());
    };
    PutAccount(server_, "app");
    PutDisk();
    api = &server_;
    FailPoints::SetCurrent(&points_);
    run_program = [this](const process::Program& program) { return MountOrUnmount(program); };
    all.SetAfterStep([this](const auto& step, bool crashed) {
      if (crashed && process != nullptr && step.owner == process->owner) died_ = true;
    });
  }
  ~Crashes() { FailPoints::SetCurrent(nullptr); }

  void CrashAt(const std::string& point, int n) {
    const std::string term =
        n == 1 ? "1*crash->off" : fmt::format("{}*delay(1ms)->1*crash->off", n - 1);
    ASSERT_TRUE(points_.Set(point, term).ok());
  }

  /// Starts, an init container that fails once, an exit, another image, another incarnation, a pod
  /// that completes, an eviction, a container whose end takes the others of its pod along.
  void Live() {
    auto web = TestPod{.inits = {"init"}}.Make();
    web.mutable_spec()->set_host_users(false);
    auto& lifecycle = *web.mutable_spec()->mutable_containers(0)->mutable_lifecycle();
    lifecycle.mutable_post_start()->mutable_exec()->add_command("true");
    lifecycle.mutable_pre_stop()->mutable_exec()->add_command("true");
    auto& volume = *web.mutable_spec()->add_volumes();
    volume.set_name("self");
    auto& downward = *volume.mutable_volume_source()->mutable_downward_api();
    downward.set_default_mode(0644);
    auto& item = *downward.add_items();
    item.set_path("name");
    item.mutable_field_ref()->set_api_version("v1");
    item.mutable_field_ref()->set_field_path("metadata.name");
    MountAt(*web.mutable_spec()->mutable_containers(0), "self");
    auto& part = *web.mutable_spec()->mutable_containers(0)->add_volume_mounts();
    part.set_name("self");
    part.set_mount_path("/me");
    part.set_sub_path("name");
    web.mutable_spec()->mutable_security_context()->set_fs_group(2000);
    auto& probe = *web.mutable_spec()->mutable_containers(0)->mutable_readiness_probe();
    probe.set_period_seconds(30);
    probe.mutable_handler()->mutable_exec()->add_command("check");
    auto job = TestPod{.name = "job", .uid = "uid-job", .policy = "Never", .source = "api"}.Make();
    job.mutable_spec()->mutable_containers(0)->set_image("pulled:1");
    AddToken(job);
    AddShare(job);
    server_.Put(PathOf("pods", job.metadata().name()), job);
    auto victim = TestPod{.name = "victim", .uid = "uid-victim", .source = "api"}.Make();
    AddDisk(victim);
    auto crew =
        TestPod{
            .name = "crew", .uid = "uid-crew", .policy = "Never", .containers = {"lead", "mate"}}
            .Make();
    crew.mutable_spec()->set_host_users(false);
    auto& lead = *crew.mutable_spec()->mutable_containers(0);
    lead.set_restart_policy("Never");
    auto& rule = *lead.add_restart_policy_rules();
    rule.set_action("RestartAllContainers");
    rule.mutable_exit_codes()->set_operator_("In");
    rule.mutable_exit_codes()->add_values(42);
    runtime.AddImage("other:1");
    Start();
    Post(crew, 1, 1);
    Post(web, 1, 1);
    Post(job, 1, 1);
    Post(victim, 1, 1);
    Supervise(30s);
    runtime.ExitContainer("uid-web", "init", 1).IgnoreError();
    Supervise(120s);
    runtime.ExitContainer("uid-web", "init", 0).IgnoreError();
    Supervise(120s);
    runtime.ExitContainer("uid-web", "app", 1).IgnoreError();
    runtime.ExitContainer("uid-crew", "lead", 42).IgnoreError();
    Supervise(120s);
    web.mutable_spec()->mutable_containers(0)->set_image("other:1");
    Post(web, 1, 2);
    Supervise(60s);
    runtime.ExitContainer("uid-job", "app", 0).IgnoreError();
    evict_ = true;
    Supervise(120s);
    Post(web, 2, 3);
    Supervise(120s);
    runtime.ExitContainer("uid-web", "init", 0).IgnoreError();
    Supervise(120s);
    Remove(job);
    Gone("uid-job");
    wanted_.erase("uid-job");
    Supervise(5s);
  }

  /// A pod whose container is of another image from a moment on.
  void LiveThroughAReplacement() {
    auto web = TestPod{.policy = "Never"}.Make();
    runtime.AddImage("other:1");
    Start();
    Post(web, 1, 1);
    Supervise(10s);
    web.mutable_spec()->mutable_containers(0)->set_image("other:1");
    Post(web, 1, 2);
    Supervise(60s);
  }

  /// The newest container of this name has ended.
  bool HasEnded(const std::string& uid, const std::string& name) const {
    const cri::Container* newest = nullptr;
    const auto all_of_them = runtime.Containers();
    for (const auto& container : all_of_them)
      if (container.labels.at("io.kubernetes.pod.uid") == uid && container.name == name &&
          (newest == nullptr || container.attempt > newest->attempt))
        newest = &container;
    return newest != nullptr && newest->state == cri::ContainerState::kExited;
  }

  /// A pod that completes and is removed, while these sources are complete.
  void LiveAndBeRemoved(const std::set<std::string>& complete = {"file", "api"}) {
    const auto job = TestPod{.name = "job", .uid = "uid-job", .policy = "Never"}.Make();
    Start();
    Post(job, 1, 1);
    Supervise(10s);
    runtime.ExitContainer("uid-job", "app", 0).IgnoreError();
    Supervise(120s);
    desired.SetComplete({complete, clock.Now(), {}});
    Remove(job);
    Gone("uid-job");
    wanted_.erase("uid-job");
    Supervise(5s);
    for (const auto& sandbox : runtime.Sandboxes())  // gc
      EXPECT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
    EXPECT_TRUE(files.RemoveTree("/kubelet/pods/uid-job").ok());
    EXPECT_TRUE(files.RemoveTree("/state/pods/uid-job").ok());
    // Killed while it forgets, the next start counts its five minutes again.
    Supervise(complete.contains("file") ? 130s : 800s);
  }

  /// It comes back for a moment: the source that wants it goes while no process looks.
  void BeGrantedAgainAndGo() {
    Post(TestPod{.name = "job", .uid = "uid-job", .policy = "Never"}.Make(), 2, 1);
    Reconcile();
    wanted_.erase("uid-job");
    Gone("uid-job");
    Supervise(300s);
  }

  /// And is remembered no more after an hour.
  void BeForgotten() {
    clock.Advance(1h);
    Supervise(70s);
    clock.Advance(1h);
    Supervise(70s);
  }

  std::string State() {
    std::string text;
    for (const char* uid : {"uid-web", "uid-job", "uid-victim", "uid-crew"}) {
      const auto record = Record(uid);
      text += fmt::format("{}: {}; incarnation {} state {} phase {} reason {}\n", uid, Show(uid),
                          record->incarnation(), static_cast<int>(record->state()),
                          record->terminal_status().phase(), record->terminal_status().reason());
    }
    for (const auto& [path, mount] : mounts.mounted()) text += "mounted: " + path + "\n";
    for (const auto& path : shares_) text += "mounted share: " + path + "\n";
    for (const auto& dir : kernel.Dirs()) text += "cgroup: " + dir + "\n";
    for (const auto& violation : runtime.Violations()) text += violation + "\n";
    return text;
  }

  FailPoints& points() { return points_; }
  int deaths = 0;

 private:
  /// What runs of one incarnation of a pod has the same ids, and no other pod has them; both pods
  /// that have any are there all the time.
  void CheckIds(const std::string& incarnation, const runtime::v1::NamespaceOption& options) {
    if (options.userns_options().mode() != runtime::v1::POD) return;
    ASSERT_EQ(options.userns_options().uids_size(), 1);
    const uint32_t first = options.userns_options().uids(0).host_id();
    const std::string uid = incarnation.substr(0, incarnation.find('/'));
    EXPECT_EQ(ids_.emplace(incarnation, first).first->second, first) << incarnation;
    for (const auto& [other, theirs] : now_) {
      EXPECT_TRUE(other == uid || theirs != first) << other << " and " << uid;
    }
    now_[uid] = first;
  }

  std::map<std::string, uint32_t> ids_, now_;
  struct Wanted {
    kube::Pod pod;
    int64_t incarnation, generation;
  };
  void Post(const kube::Pod& pod, int64_t incarnation, int64_t generation) {
    wanted_[pod.metadata().uid()] = {pod, incarnation, generation};
    Want(pod, incarnation, generation);
  }
  /// sync-loop: compares, and sends what is not granted.
  void Reconcile() {
    for (const auto& [uid, want] : wanted_) {
      const auto record = Record(uid);
      const bool granted =
          record->incarnation() == want.incarnation &&
          (record->state() == v1::FINISHED || record->generation() >= want.generation);
      if (!granted) Grant(want.pod, want.incarnation, want.generation).IgnoreError();
    }
    if (evict_ && !Record("uid-victim")->evicted()) {
      v1::KillPodRequest request;
      request.set_uid("uid-victim");
      request.set_incarnation(1);
      request.set_request_id("evict");
      request.set_evict(true);
      request.set_reason("Evicted");
      KillPod(request).IgnoreError();
    }
  }
  void Supervise(Duration duration) {
    for (Duration past{0}; past < duration; past += 1s) {
      if (!died_) Reconcile();
      if (died_) {
        died_ = false;
        ++deaths;
        Restart();
        continue;
      }
      RunFor(1s);
    }
  }
  static void AddToken(kube::Pod& pod) {
    pod.mutable_spec()->set_service_account_name("app");
    auto& from = *pod.mutable_spec()->add_volumes();
    from.set_name("token");
    auto& projected = *from.mutable_volume_source()->mutable_projected();
    projected.set_default_mode(0644);
    auto& token = *projected.add_sources()->mutable_service_account_token();
    token.set_path("token");
    token.set_expiration_seconds(3600);
    MountAt(*pod.mutable_spec()->mutable_containers(0), "token");
  }

  fake_api::FakeApiServer server_{clock};
  static void AddShare(kube::Pod& pod) {
    auto& share = *pod.mutable_spec()->add_volumes();
    share.set_name("share");
    share.mutable_volume_source()->mutable_nfs()->set_server("s");
    share.mutable_volume_source()->mutable_nfs()->set_path("/e");
    MountAt(*pod.mutable_spec()->mutable_containers(0), "share");
  }
  /// A directory of the machine behind a claim.
  void PutDisk() {
    EXPECT_TRUE(files.MakeDirs("/srv/disk", 0755).ok());
    Claim claim;
    claim.mutable_spec()->set_volume_name("disk");
    claim.mutable_status()->set_phase("Bound");
    server_.Put(PathOf("persistentvolumeclaims", "data"), claim);
    ASSERT_TRUE(server_.Get(PathOf("persistentvolumeclaims", "data"), claim));
    PersistentVolume volume;
    volume.mutable_spec()->mutable_claim_ref()->set_uid(claim.metadata().uid());
    volume.mutable_spec()->mutable_persistent_volume_source()->mutable_local()->set_path(
        "/srv/disk");
    server_.Put("/api/v1/persistentvolumes/disk", volume);
  }
  static void AddDisk(kube::Pod& pod) {
    auto& disk = *pod.mutable_spec()->add_volumes();
    disk.set_name("disk");
    disk.mutable_volume_source()->mutable_persistent_volume_claim()->set_claim_name("data");
    MountAt(*pod.mutable_spec()->mutable_containers(0), "disk");
    pod.mutable_spec()->mutable_security_context()->set_fs_group(3000);
  }
  /// What the kernel has mounted outlives the process.
  StatusOr<std::string> MountOrUnmount(const process::Program& program) {
    const std::string& path = program.argv.back();
    if (program.argv.front() == "mount")
      shares_.insert(path);
    else
      EXPECT_EQ(shares_.erase(path), 1U) << path;
    std::string table;
    for (const auto& share : shares_)
      table += fmt::format("40 1 0:40 / {} rw - nfs s:/e rw\n", share);
    RETURN_IF_ERROR(files.Replace("/proc/self/mountinfo", table, {}), "mounts");
    return std::string();
  }

  FailPoints points_{FailPoints::Actions{.crash = [] { throw exec::Scheduler::CrashedHere{}; },
                                         .delay = [](int64_t) {}}};
  std::map<std::string, Wanted> wanted_;
  std::set<std::string> shares_;
  bool died_ = false, evict_ = false;
};

std::vector<std::string> PointsHere() {
  std::vector<std::string> names;
  for (const auto& info : FailPoints().List()) {
    // The fake has no block devices: LocalDeviceTest.KilledAnywhereTheNextStartGoesOn has these.
    if (info.name.find("map-device") != std::string::npos) continue;
    // No pod has a CSI volume here: CsiRestart.KilledAnywhereItGoesOn has these.
    if (info.name.starts_with("pod-worker.csi-")) continue;
    // No process asks for a checkpoint here.
    if (info.name.find(".checkpoint") != std::string::npos) continue;
    if (info.name.starts_with("pod-worker.") || info.name.starts_with("cgroup.") ||
        info.name.starts_with("fs.save") || info.name.starts_with("fs.forget"))
      names.push_back(info.name);
  }
  return names;
}

class CrashTest : public testing::TestWithParam<std::string> {};

TEST_P(CrashTest, EndsAsIfNothingHadHappened) {
  static const std::string kUnharmed = [] {
    Crashes node;
    node.Live();
    return node.State();
  }();
  ASSERT_NE(kUnharmed.find("uid-web: app/0=exited(1) app/1=exited(143)"), std::string::npos)
      << kUnharmed;
  ASSERT_EQ(kUnharmed.find("local-volume"), std::string::npos) << kUnharmed;
  int hit = 0;
  // A life passes some of them more often than a test has time for.
  for (const int n : {1, 2, 3, 4, 6, 9, 12}) {
    SCOPED_TRACE(fmt::format("killed the {}th time it passes", n));
    Crashes node;
    node.CrashAt(GetParam(), n);
    node.Live();
    if (node.deaths == 0) break;
    ++hit;
    ASSERT_EQ(node.State(), kUnharmed);
  }
  EXPECT_GT(hit, 0) << "the life above never passes this point";
}

/// The state of a worker never outlives its terminal status.
TEST(Forgetting, LeavesNothingAndSaysNothingElseWhereverItIsKilled) {
  for (const char* point : {"fs.forget-fact.before", "fs.forget-fact.after"}) {
    for (int n = 1; n <= 12; ++n) {
      SCOPED_TRACE(fmt::format("killed the {}th time it passes {}", n, point));
      Crashes node;
      node.CrashAt(point, n);
      std::string unlike;
      node.workers.OnChange([&](const auto& change) {
        const auto& record = change.after;
        if (record != nullptr && record->state() == v1::FINISHED &&
            record->terminal_status().phase() != "Succeeded")
          unlike = record->ShortDebugString();
      });
      node.LiveAndBeRemoved();
      EXPECT_EQ(node.files.List("/state/pod-worker/pods")->size(), 0u) << "for this boot alone";
      node.BeForgotten();
      EXPECT_EQ(unlike, "");
      EXPECT_FALSE(node.workers.Contains("uid-job"));
      for (const char* kind :
           {"/run/pod-worker/workers", "/run/pod-worker/cgroups", "/state/pod-worker/pods"})
        EXPECT_EQ(node.files.List(kind)->size(), 0u) << kind;
      if (node.deaths == 0) {
        EXPECT_GT(n, 2) << "both files are forgotten";
        break;
      }
    }
  }
}

/// Its record stays until nothing is left of it, and leaves then.
TEST(Forgetting, UnderAnIncompleteSourceIsAsSureWhereverItIsKilled) {
  for (const char* point :
       {"fs.save-fact.before", "fs.save-fact.after", "fs.forget-fact.before",
        "fs.forget-fact.after", "pod-worker.put-workers.before", "pod-worker.put-workers.after"}) {
    for (int n = 1; n <= 16; ++n) {
      SCOPED_TRACE(fmt::format("killed the {}th time it passes {}", n, point));
      Crashes node;
      node.CrashAt(point, n);
      bool finished = false, removed = false;
      std::string back;
      node.workers.OnChange([&](const auto& change) {
        const auto& record = change.after;
        if (record == nullptr || record->state() != v1::FINISHED) return;
        if (removed && !record->removed()) back = record->ShortDebugString();
        finished = true;
        removed = record->removed();
      });
      node.LiveAndBeRemoved({"api"});
      EXPECT_TRUE(finished && removed) << "gc is told";
      EXPECT_EQ(back, "") << "it is never taken back";
      EXPECT_FALSE(node.workers.Contains("uid-job"));
      node.BeForgotten();
      for (const char* kind : {"/run/pod-worker/workers", "/state/pod-worker/pods"})
        EXPECT_EQ(node.files.List(kind)->size(), 0u) << kind;
      if (node.deaths == 0) {
        EXPECT_GT(n, 2) << "it passes";
        break;
      }
    }
  }
}

/// Its lasting file is of an incarnation that the other one does not know.
TEST(Forgetting, OfAnIncarnationWhoseGrantWasHalfSavedLeavesNothing) {
  for (int n = 1; n <= 6; ++n) {
    SCOPED_TRACE(fmt::format("killed the {}th time it saves a file", n));
    Crashes node;
    node.LiveAndBeRemoved();
    node.CrashAt("fs.save-fact.after", n);
    node.BeGrantedAgainAndGo();
    EXPECT_EQ(node.files.List("/state/pod-worker/pods")->size(), 0u) << node.Show("uid-job");
    EXPECT_FALSE(node.workers.Contains("uid-job"));
    if (node.deaths == 0) {
      EXPECT_GT(n, 2) << "both files are saved";
      break;
    }
  }
}

/// From its stop until its successor runs everybody is told that the container comes back.
TEST(Replacing, IsSaidToComeBackWhereverItIsKilled) {
  int deaths = 0;
  for (const char* point :
       {"pod-worker.stop-container.before", "pod-worker.stop-container.after",
        "pod-worker.create-container.before", "pod-worker.create-container.after",
        "pod-worker.start-container.before", "pod-worker.start-container.after",
        "fs.save-fact.before", "fs.save-fact.after"}) {
    for (int n = 1; n <= 12; ++n) {
      SCOPED_TRACE(fmt::format("killed the {}th time it passes {}", n, point));
      Crashes node;
      node.CrashAt(point, n);
      std::string untold;
      node.workers.OnChange([&](const auto& change) {
        if (change.after == nullptr || !node.HasEnded("uid-web", "app")) return;
        const auto& notes = change.after->containers();
        const bool told = std::any_of(notes.begin(), notes.end(), [](const auto& note) {
          return note.name() == "app" && !note.reason().empty();
        });
        if (!told) untold = change.after->ShortDebugString();
      });
      node.LiveThroughAReplacement();
      EXPECT_EQ(untold, "");
      EXPECT_EQ(node.Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
      if (node.deaths == 0) break;
      ++deaths;
    }
  }
  EXPECT_GT(deaths, 10);
}

INSTANTIATE_TEST_SUITE_P(FailPoints, CrashTest, testing::ValuesIn(PointsHere()),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name)
                             if (c == '.' || c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace splitlet::pod_worker
