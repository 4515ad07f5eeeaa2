#include "services/pod-worker/volumes/volume_manager.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <memory>
#include <set>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "libs/fs/path.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/tests/pods_fixture.h"
#include "services/pod-worker/volumes/empty_dir.h"
#include "services/pod-worker/volumes/host_path.h"
#include "services/pod-worker/volumes/object_volume.h"
#include "services/pod-worker/volumes/volumes_fixture.h"
#include "tests/harness/child.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
constexpr const char* kSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n";

void FailTest(const char* reason, const Status& why) { ADD_FAILURE() << reason << ": " << why; }

class Volumes : public testing::Test {
 protected:
  std::string RefreshError(const kube::Pod& pod) {
    std::string first;
    manager_.Refresh({pod, &objects_}, Place(), [&first](const char*, const Status& why) {
      if (first.empty()) first = Message(why);
    });
    return first;
  }
  StatusOr<VolumePaths> SetUpAll(const kube::Pod& pod) {
    auto made = manager_.SetUp({pod, &objects_}, Place());
    if (!made.ok()) return made.status();
    return std::move(made->paths);
  }
  node::PodPlace Place() { return node::FindPodPlace(files_, node_.pod_roots, "uid-web").value(); }
  /// The error of the set-up.
  std::string ErrorOf(const std::string& volume) {
    const auto done = SetUpAll(PodWithVolumes("[{name: v, " + volume + "}]", {"v"}));
    return std::string(Message(done.status()));
  }
  void Put(const std::string& text) {
    auto read = ReadObjects(text, "objects.yaml");
    ASSERT_TRUE(read.ok()) << read.status();
    objects_ = *std::move(read);
  }
  bool IsThere(const std::string& path) { return files_.Stat(path, false).ok(); }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  fs::FakeOwnership ownership_{files_};
  NodeInfo node_{.name = "node-1",
                 .allocatable = {.memory_bytes = 1 << 30},
                 .pod_roots = {"/state/pods", "/kubelet"}};
  ObjectSet objects_;
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  VolumeManager manager_{{files_, mounts_, ownership_, clock_, node_, log_, metrics_}};
  const std::string dir_ = "/kubelet/pods/uid-web/volumes/";
};

TEST_F(Volumes, EachKindHasItsPlaceAndGoesWithThePod) {
  Put(std::string(kMap) + "data: {a: one}\n---\n" + kSecret + "stringData: {b: two}\n");
  const auto pod = PodWithVolumes(
      "[{name: scratch, emptyDir: {}}, {name: fast, emptyDir: {medium: Memory}},"
      "{name: host, hostPath: {path: /srv/data, type: DirectoryOrCreate}},"
      "{name: map, configMap: {name: settings}}, {name: key, secret: {secretName: login}},"
      "{name: self, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}},"
      "{name: all, projected: {sources: [{secret: {name: login}}]}}]",
      {"scratch", "fast", "host", "map", "key", "self", "all"});
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_EQ(*paths, (VolumePaths{{"scratch", dir_ + "kubernetes.io~empty-dir/scratch"},
                                 {"fast", dir_ + "kubernetes.io~empty-dir/fast"},
                                 {"host", "/srv/data"},
                                 {"map", dir_ + "kubernetes.io~configmap/map"},
                                 {"key", dir_ + "kubernetes.io~secret/key"},
                                 {"self", dir_ + "kubernetes.io~downward-api/self"},
                                 {"all", dir_ + "kubernetes.io~projected/all"}}));
  EXPECT_EQ(files_.Read(paths->at("map") + "/a", 10).value_or(""), "one");
  EXPECT_EQ(files_.Read(paths->at("key") + "/b", 10).value_or(""), "two");
  EXPECT_EQ(files_.Read(paths->at("self") + "/name", 10).value_or(""), "web");
  EXPECT_EQ(files_.Read(paths->at("all") + "/b", 10).value_or(""), "two");
  std::vector<std::string> in_memory;
  for (const auto& [path, request] : mounts_.mounted()) {
    in_memory.push_back(path.substr(dir_.size()));
    EXPECT_EQ(request.options, "size=1073741824,noswap");
  }
  EXPECT_EQ(in_memory, (std::vector<std::string>{
                           "kubernetes.io~downward-api/self", "kubernetes.io~empty-dir/fast",
                           "kubernetes.io~projected/all", "kubernetes.io~secret/key"}))
      << "a secret is never on disk";
  ASSERT_TRUE(SetUpAll(pod).ok()) << "again";
  EXPECT_EQ(mounts_.mounted().size(), 4u);

  ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_TRUE(mounts_.mounted().empty());
  EXPECT_TRUE(files_.List(dir_)->empty());
  EXPECT_TRUE(IsThere("/srv/data"));
  EXPECT_TRUE(manager_.TearDown("uid-web", "file").ok()) << "again";
}

TEST_F(Volumes, AreCountedAndTimedByPlugin) {
  Put(std::string(kMap) + "data: {a: one}\n");
  const auto pod = PodWithVolumes(
      "[{name: map, configMap: {name: settings}}, {name: gone, secret: {secretName: login}}]",
      {"map", "gone"});
  const std::string wanted = "desired_state_of_world", made = "actual_state_of_world";
  const auto count = [&](const std::string& plugin, const std::string& state) {
    return metrics_.total_volumes.Add({{"plugin_name", plugin}, {"state", state}}).Value();
  };
  const auto timed = [&](const std::string& plugin, const std::string& operation,
                         const std::string& status) {
    return metrics_.storage_operation
        .Add({{"volume_plugin", plugin},
              {"operation_name", operation},
              {"status", status},
              {"migrated", "false"}},
             prometheus::Histogram::BucketBoundaries{})
        .Collect()
        .histogram.sample_count;
  };
  EXPECT_FALSE(SetUpAll(pod).ok()) << "there is no such secret";
  EXPECT_EQ(count("kubernetes.io/configmap", wanted), 1);
  EXPECT_EQ(count("kubernetes.io/configmap", made), 1);
  EXPECT_EQ(count("kubernetes.io/secret", wanted), 1);
  EXPECT_EQ(count("kubernetes.io/secret", made), 0);
  EXPECT_EQ(timed("kubernetes.io/configmap", "volume_mount", "success"), 1u);
  EXPECT_EQ(timed("kubernetes.io/secret", "volume_mount", "fail-unknown"), 1u);
  ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_EQ(timed("kubernetes.io/configmap", "volume_unmount", "success"), 1u);
  EXPECT_EQ(count("kubernetes.io/configmap", wanted), 0);
  EXPECT_EQ(count("kubernetes.io/configmap", made), 0);
  EXPECT_EQ(count("kubernetes.io/secret", wanted), 0);
}

TEST_F(Volumes, OfAPodThatRanBeforeAreCountedWithItsNextSync) {
  Put(std::string(kMap) + "data: {a: one}\n");
  const auto pod =
      PodWithVolumes("[{name: map, configMap: {name: settings}}, {name: scratch, emptyDir: {}}]",
                     {"map", "scratch"});
  ASSERT_TRUE(SetUpAll(pod).ok());
  prometheus::Registry registry;
  Metrics metrics(registry);
  VolumeManager next({files_, mounts_, ownership_, clock_, node_, log_, metrics});
  next.Refresh({pod, &objects_}, Place(), FailTest);
  for (const char* plugin : {"kubernetes.io/configmap", "kubernetes.io/empty-dir"})
    for (const char* state : {"desired_state_of_world", "actual_state_of_world"})
      EXPECT_EQ(metrics.total_volumes.Add({{"plugin_name", plugin}, {"state", state}}).Value(), 1);
}

TEST_F(Volumes, WhatCannotBeMadeIsAnError) {
  const struct {
    std::string volume, error;
  } kCases[] = {
      {"nfs: {server: a, path: /b}",
       "MountVolume.FindPluginBySpec failed for volume \"v\" : volume type \"nfs\" is not "
       "supported"},
      {"hostPath: {path: /a/../b}",
       "MountVolume.SetUp failed for volume \"v\" : invalid HostPath `/a/../b`: must not contain "
       "'..'"},
      {"hostPath: {path: /none, type: Directory}",
       "MountVolume.SetUp failed for volume \"v\" : hostPath type check failed: /none is not a "
       "directory"},
      {"emptyDir: {medium: Tape}",
       "MountVolume.SetUp failed for volume \"v\" : unknown storage medium \"Tape\""},
      {"emptyDir: {medium: HugePages}",
       "MountVolume.SetUp failed for volume \"v\" : medium HugePages: hugePages storage requested, "
       "but there is no resource request for huge pages"},
      {"configMap: {name: none}",
       "MountVolume.SetUp failed for volume \"v\" : configmap \"none\" not found"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(ErrorOf(test.volume), test.error);
    EXPECT_FALSE(IsThere(dir_ + "kubernetes.io~configmap/v"));
  }
  mounts_.FailMount(PermissionDenied("Operation not permitted"));
  EXPECT_EQ(ErrorOf("emptyDir: {medium: Memory}"),
            "MountVolume.SetUp failed for volume \"v\" : mount tmpfs: mount: Operation not "
            "permitted");
}

TEST_F(Volumes, OneThatNobodyMountsIsNotMade) {
  const auto paths =
      SetUpAll(PodWithVolumes("[{name: v, emptyDir: {}}, {name: key, secret: {secretName: none}}, "
                              "{name: far, nfs: {server: "
                              "a, path: /b}}]",
                              {"v"}));
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_EQ(paths->size(), 1u);
}

TEST_F(Volumes, OneThatFailsDoesNotHoldUpTheOthers) {
  const std::string claim = "{name: claim, persistentVolumeClaim: {claimName: data}}",
                    kind = "{name: kind, nfs: {server: a, path: /b}}",
                    path = "{name: path, hostPath: {path: /a/../b}}",
                    map = "{name: map, configMap: {name: none}}",
                    good = "{name: good, emptyDir: {}}";
  const struct {
    std::string volumes, first;
  } kCases[] = {
      {claim + "," + kind + "," + path + "," + map + "," + good,
       "Unable to attach or mount volumes: unmounted volumes=[claim], unattached volumes=[], "
       "failed to process volumes=[claim]: error processing PVC default/data: failed to fetch PVC "
       "from API server: persistentvolumeclaim \"data\" not found"},
      {kind + "," + map + "," + good,
       "MountVolume.FindPluginBySpec failed for volume \"kind\" : volume type \"nfs\" is not "
       "supported"},
      {path + "," + map + "," + good,
       "MountVolume.SetUp failed for volume \"path\" : invalid HostPath `/a/../b`: must not "
       "contain '..'"},
      {good + "," + map + "," + claim,
       "Unable to attach or mount volumes: unmounted volumes=[claim], unattached volumes=[], "
       "failed to process volumes=[claim]: error processing PVC default/data: failed to fetch PVC "
       "from API server: persistentvolumeclaim \"data\" not found"},
      {map + "," + good,
       "MountVolume.SetUp failed for volume \"map\" : configmap \"none\" not found"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.volumes);
    const auto done =
        SetUpAll(PodWithVolumes("[" + c.volumes + "]", {"claim", "kind", "path", "map", "good"}));
    EXPECT_EQ(Message(done.status()), c.first);
    EXPECT_TRUE(IsThere(dir_ + "kubernetes.io~empty-dir/good"));
    ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  }
}

/// Otherwise a token would expire in its file.
TEST_F(Volumes, OneThatCannotBeBroughtUpToDateDoesNotHoldUpTheOthers) {
  Put(std::string(kMap) + "data: {a: one}\n---\n" + kSecret + "stringData: {b: one}\n");
  const auto pod = PodWithVolumes(
      "[{name: v, configMap: {name: settings}}, {name: key, secret: {secretName: login}}]",
      {"v", "key"});
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  Put(std::string(kSecret) + "stringData: {b: two}\n");
  EXPECT_EQ(RefreshError(pod),
            "MountVolume.SetUp failed for volume \"v\" : configmap \"settings\" not found");
  EXPECT_EQ(files_.Read(paths->at("key") + "/b", 10).value_or(""), "two");
}

TEST_F(Volumes, RefreshBringsObjectsUpToDate) {
  Put(std::string(kMap) + "data: {a: one}\n");
  const auto pod = PodWithVolumes(
      "[{name: v, configMap: {name: settings}}, {name: host, hostPath: {path: /gone, type: "
      "Directory}}]",
      {"v", "host"});
  ASSERT_TRUE(files_.MakeDirs("/gone", 0755).ok());
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  Put(std::string(kMap) + "data: {a: two}\n");
  ASSERT_TRUE(files_.RemoveTree("/gone").ok());
  EXPECT_EQ(RefreshError(pod), "") << "host paths are not checked";
  EXPECT_EQ(files_.Read(paths->at("v") + "/a", 10).value_or(""), "two");
  objects_ = {};
  EXPECT_EQ(RefreshError(pod),
            "MountVolume.SetUp failed for volume \"v\" : configmap \"settings\" not found");
  EXPECT_EQ(files_.Read(paths->at("v") + "/a", 10).value_or(""), "two") << "it keeps what it had";
  EXPECT_TRUE(ShowsObjects(pod));
  EXPECT_FALSE(ShowsObjects(PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"})));
}

TEST_F(Volumes, AnotherVolumeMayBeMountedInsideOne) {
  Put(std::string(kMap) + "data: {a: one}\n");
  auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}, {name: w, emptyDir: {}}]",
                            {"v", "w"});
  pod.mutable_spec()->mutable_containers(0)->mutable_volume_mounts(1)->set_mount_path("/v/x/y");
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_TRUE(IsThere(paths->at("v") + "/x/y")) << "the volume is read-only for the runtime";
}

/// The author of the pod chooses both paths.
TEST_F(Volumes, NothingIsMadeOutsideOfOneForAnotherThatIsMountedInside) {
  Put(std::string(kMap) + "data: {a: one}\n");
  const struct {
    std::string volume, other, made;  // "": nothing
  } kCases[] = {{"/c", "/c/x/y", "x/y"},
                {"/c/", "/c/./x//y/", "x/y"},
                {"/c", "/b/../c/x", "x"},
                {"/../c", "/c/x", "x"},
                {"c", "/c/x", "x"},
                {"/c", "/c/x/../y", "y"},
                {"/c", "/c/../../../../../../../../../etc/evil", ""},
                {"/c", "/c/x/../../../../etc/evil", ""},
                {"/c", "/c/../c/../../../../../../etc/evil", ""},
                {"/c", "c/../../../../../../../../etc/evil", ""},
                {"c", "c/../../../../../../../../etc/evil", ""},
                {"/c", "/c/..", ""},
                {"/c", "/c/../c2/x", ""},
                {"/c", "/c/.", ""},
                {"/c", "/c/x/..", ""},
                {"/c", "/b/../c//", ""},
                {"/c", "/c2/x", ""},
                {"/c", "/c/x/../a", ""}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.volume + " and " + c.other);
    auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}, {name: w, emptyDir: {}}]",
                              {"v", "w"});
    auto& mounts = *pod.mutable_spec()->mutable_containers(0)->mutable_volume_mounts();
    mounts[0].set_mount_path(c.volume);
    mounts[1].set_mount_path(c.other);
    const std::string volume = dir_ + "kubernetes.io~configmap/v";
    std::vector<std::string> inside;
    files_.SetHook([&](std::string_view operation, const std::string& path) {
      const auto steps = fs::NamesOf(path);
      EXPECT_EQ(std::count(steps.begin(), steps.end(), ".."), 0) << operation << " " << path;
      if (operation == "make-dirs" && path.starts_with(volume + "/") &&
          !path.starts_with(volume + "/.."))
        inside.push_back(path.substr(volume.size() + 1));
      return OkStatus();
    });
    const auto paths = SetUpAll(pod);
    EXPECT_TRUE(paths.ok()) << paths.status();
    files_.SetHook(nullptr);
    EXPECT_EQ(inside, c.made.empty() ? std::vector<std::string>() : std::vector{c.made});
    ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  }
}

TEST_F(Volumes, BelongToTheGroupOfTheirPod) {
  Put(std::string(kMap) + "data: {a: one}\n---\n" + kSecret + "stringData: {b: two}\n");
  auto pod = PodWithVolumes(
      "[{name: scratch, emptyDir: {}}, {name: fast, emptyDir: {medium: Memory}},"
      "{name: host, hostPath: {path: /srv/data, type: DirectoryOrCreate}},"
      "{name: map, configMap: {name: settings}}, {name: key, secret: {secretName: login}}]",
      {"scratch", "fast", "host", "map", "key"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  const fs::GroupAccess write{2000, false}, read{2000, true};
  EXPECT_EQ(ownership_.AccessOf(paths->at("scratch")), write);
  EXPECT_EQ(ownership_.AccessOf(paths->at("map")), write);
  EXPECT_EQ(ownership_.AccessOf(paths->at("map") + "/..data/a"), read);
  EXPECT_EQ(ownership_.AccessOf(paths->at("key") + "/..data/b"), read);
  EXPECT_EQ(ownership_.AccessOf("/srv/data"), std::nullopt) << "it is not the pod's";
  for (const char* name : {"fast", "key"})
    EXPECT_EQ(mounts_.mounted().at(paths->at(name)).options,
              "size=1073741824,noswap,gid=2000,mode=3777");
  EXPECT_TRUE(sink_.lines().empty());
}

TEST_F(Volumes, WhatContainersMadeOfADirectoryStays) {
  auto pod = PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  const std::string file = paths->at("v") + "/file";
  ASSERT_TRUE(files_.Replace(file, "1", {}).ok());
  ASSERT_TRUE(SetUpAll(pod).ok()) << "for the next container";
  EXPECT_EQ(ownership_.AccessOf(file), std::nullopt);
}

TEST_F(Volumes, AGroupThatCannotBeGivenIsSaidAndHoldsUpNothing) {
  auto pod = PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  ownership_.Fail(PermissionDenied("Operation not permitted"));
  ASSERT_TRUE(SetUpAll(pod).ok());
  ASSERT_EQ(sink_.lines().size(), 1u);
  EXPECT_EQ(sink_.lines()[0].message,
            "cannot give all of a volume to the group of its pod, mounting it anyway");
  ASSERT_TRUE(SetUpAll(pod).ok());
  EXPECT_EQ(sink_.lines().size(), 1u);
}

TEST_F(Volumes, AMountThatIsBusyKeepsThePodFromEnding) {
  ASSERT_TRUE(SetUpAll(PodWithVolumes("[{name: v, emptyDir: {medium: Memory}}]", {"v"})).ok());
  mounts_.FailUnmount(ErrnoStatus(EBUSY));
  EXPECT_FALSE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_EQ(mounts_.mounted().size(), 1u);
  mounts_.FailUnmount(OkStatus());
  EXPECT_TRUE(manager_.TearDown("uid-web", "file").ok());
}

TEST_F(Volumes, KilledAnywhereTheNextStartGoesOn) {
  Put(std::string(kSecret) + "stringData: {b: two}\n");
  auto pod = PodWithVolumes("[{name: v, secret: {secretName: login}}, {name: w, emptyDir: {}}]",
                            {"v", "w"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  bool killed = true;
  for (int step = 1; killed; ++step) {
    ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
    const auto place = Place();
    int left = step;
    killed = false;
    files_.SetHook([&](std::string_view, const std::string&) {
      killed = killed || --left == 0;
      return killed ? Cancelled("killed") : OkStatus();
    });
    const bool made = manager_.SetUp({pod, &objects_}, place).ok();
    if (made && !killed) killed = !manager_.TearDown("uid-web", "file").ok() || killed;
    files_.SetHook(nullptr);
    const auto paths = SetUpAll(pod);
    ASSERT_TRUE(paths.ok()) << step << ": " << paths.status();
    EXPECT_EQ(files_.Read(paths->at("v") + "/b", 10).value_or(""), "two") << step;
    EXPECT_EQ(mounts_.mounted().size(), 1u) << step;
    EXPECT_TRUE(ownership_.AccessOf(paths->at("v") + "/..data/b")) << step;
    EXPECT_TRUE(ownership_.AccessOf(paths->at("w"))) << step;
  }
  ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_TRUE(mounts_.mounted().empty());
}

TEST_F(Volumes, ADirectoryThatIsNotFinishedHasNotItsName) {
  const std::string path = dir_ + "kubernetes.io~empty-dir/v";
  files_.SetHook([](std::string_view operation, const std::string&) {
    return operation == "rename" ? Cancelled("killed") : OkStatus();
  });
  EXPECT_FALSE(SetUpAll(PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"})).ok());
  files_.SetHook(nullptr);
  EXPECT_FALSE(IsThere(path)) << "the next start would take it for one with its mode";
  EXPECT_TRUE(SetUpAll(PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"})).ok());
  EXPECT_TRUE(IsThere(path));
}

TEST(OnDisk, WhatAKilledProcessMadeWithoutItsModeIsMadeAnew) {
  fs::RealFileSystem files;
  fs::RealMounts mounts;
  fs::RealOwnership ownership;
  FakeLogSink sink;
  const Log log(sink);
  VolumeDirs dirs({files, mounts, ownership, log});
  const harness::TempDir dir;
  const std::string path = dir.path() + "/v", beside = fs::NewContentPath(path);
  ASSERT_TRUE(files.MakeDirs(beside + "/old", 0700).ok());
  ASSERT_TRUE(dirs.EnsureOnDisk(path, std::nullopt).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0777u);
  EXPECT_TRUE(files.List(path)->empty());
  EXPECT_EQ(files.Stat(beside, false).status().code(), StatusCode::kNotFound);
}

/// Remembers mount points without mounting: files go into the directory itself.
class NamesOfMounts final : public fs::Mounts {
 public:
  StatusOr<bool> IsMountPoint(const std::string& path) override { return paths_.contains(path); }
  Status Mount(const fs::MountRequest& request) override {
    paths_.insert(request.path);
    return OkStatus();
  }
  Status MakeWithin(const std::string&, const std::string&) override {
    return Unimplemented("make");
  }
  Status BindWithin(const fs::BindRequest& /*request*/) override { return Unimplemented("bind"); }
  Status Unmount(const std::string& path) override {
    paths_.erase(path);
    return OkStatus();
  }

 private:
  std::set<std::string> paths_;
};

/// Files and links below the directory, without directories.
std::map<fs::FileInfo::Kind, size_t> CountBelow(fs::FileSystem& files, const std::string& dir) {
  std::map<fs::FileInfo::Kind, size_t> counts;
  const auto entries = files.List(dir);
  EXPECT_TRUE(entries.ok()) << entries.status();
  if (!entries.ok()) return counts;
  for (const auto& entry : *entries) {
    ++counts[entry.kind];
    if (entry.kind != fs::FileInfo::Kind::kDirectory) continue;
    for (const auto& [kind, count] : CountBelow(files, dir + "/" + entry.name))
      counts[kind] += count;
  }
  return counts;
}

TEST(OnDisk, ASecretOfTenThousandKeysLeavesOneSetOfItsFilesAndNothingAtTheEnd) {
  using Kind = fs::FileInfo::Kind;
  constexpr size_t kKeys = 10'000;
  const harness::TempDir dir;
  FakeClock clock;
  fs::RealFileSystem files;
  NamesOfMounts mounts;
  fs::RealOwnership ownership;
  FakeLogSink sink;
  const Log log(sink);
  const NodeInfo node{.pod_roots = {dir.path() + "/state", dir.path() + "/kubelet"}};
  prometheus::Registry registry;
  Metrics metrics(registry);
  VolumeManager manager({files, mounts, ownership, clock, node, log, metrics});
  const auto place = node::FindPodPlace(files, node.pod_roots, "uid-web");
  ASSERT_TRUE(place.ok()) << place.status();
  const auto pod = PodWithVolumes("[{name: v, secret: {secretName: login}}]", {"v"});
  const auto key = [](size_t i) { return fmt::format("key-{}", i); };
  const auto secret = [&key](size_t first, char content) {
    auto made = std::make_shared<Secret>();
    for (size_t i = first; i < first + kKeys; ++i)
      (*made->mutable_data())[key(i)] = std::string(100, content);
    return made;
  };
  const auto check = [&](const std::string& path, size_t first, char content) {
    auto counts = CountBelow(files, path);
    EXPECT_EQ(counts[Kind::kFile], kKeys) << "one set of files";
    EXPECT_EQ(counts[Kind::kSymlink], kKeys + 1) << "a link for each, and ..data";
    EXPECT_EQ(counts[Kind::kDirectory], 1u);
    for (const size_t i : {first, first + kKeys / 2, first + kKeys - 1})
      EXPECT_EQ(files.Read(path + "/" + key(i), 200).value_or(""), std::string(100, content)) << i;
  };

  ObjectSet objects;
  objects.secrets["default/login"] = secret(0, 'a');
  const auto made = manager.SetUp({pod, &objects}, *place);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string path = made->paths.at("v");
  check(path, 0, 'a');
  objects.secrets["default/login"] = secret(kKeys / 2, 'b');
  manager.Refresh({pod, &objects}, *place, FailTest);
  check(path, kKeys / 2, 'b');
  EXPECT_FALSE(files.Stat(path + "/" + key(0), false).ok());
  const Status gone = manager.TearDown("uid-web", "file").status();
  ASSERT_TRUE(gone.ok()) << gone;
  EXPECT_EQ(files.Stat(path, false).status().code(), StatusCode::kNotFound);
}

TEST(Tmpfs, HoldsTheLeastOfAll) {
  const auto pod = [](const std::string& limit) {
    return PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"},
                          limit.empty() ? "{}" : "{limits: {memory: " + limit + "}}");
  };
  constexpr int64_t kMi = 1 << 20;
  EXPECT_EQ(TmpfsBytes(pod("32Mi"), 1024 * kMi, 64 * kMi), 32 * kMi);
  EXPECT_EQ(TmpfsBytes(pod(""), 1024 * kMi, 64 * kMi), 64 * kMi);
  EXPECT_EQ(TmpfsBytes(pod(""), 1024 * kMi, 0), 1024 * kMi);
  EXPECT_EQ(TmpfsBytes(pod("2Gi"), 1024 * kMi, 0), 1024 * kMi);
  EXPECT_EQ(TmpfsBytes(pod("16Mi"), 0, 0), 16 * kMi) << "what the node has is not known";
  kube::Pod two = pod("64Mi");
  auto& other = *two.mutable_spec()->add_containers();
  EXPECT_EQ(TmpfsBytes(two, 1024 * kMi, 0), 1024 * kMi) << "the other one may use all";
  (*other.mutable_resources()->mutable_limits())["memory"].set_string("32Mi");
  EXPECT_EQ(TmpfsBytes(two, 1024 * kMi, 0), 96 * kMi);
  two.mutable_spec()->add_init_containers();
  EXPECT_EQ(TmpfsBytes(two, 1024 * kMi, 0), 1024 * kMi) << "so may one that begins";
  (*two.mutable_spec()->mutable_resources()->mutable_limits())["memory"].set_string("128Mi");
  EXPECT_EQ(TmpfsBytes(two, 1024 * kMi, 0), 128 * kMi) << "the pod has a limit of its own";
}

TEST(HugePages, TheSizeIsThatOfTheRequest) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  fs::FakeMounts mounts(files);
  fs::FakeOwnership ownership(files);
  FakeLogSink sink;
  const Log log(sink);
  VolumeDirs dirs({files, mounts, ownership, log});
  EmptyDirVolume plugin(dirs, 0);
  const auto set_up = [&](const std::string& medium, const std::string& limits) {
    const auto pod = PodWithVolumes("[{name: v, emptyDir: {medium: " + medium + "}}]", {"v"},
                                    "{limits: {" + limits + "}}");
    return plugin.SetUp({pod.spec().volumes(0)}, {pod, nullptr}, {"/pod/v"}).status();
  };
  ASSERT_TRUE(set_up("HugePages", "hugepages-2Mi: 4Mi, memory: 1Gi, cpu: 1").ok());
  EXPECT_EQ(mounts.mounted().at("/pod/v").type, "hugetlbfs");
  EXPECT_EQ(mounts.mounted().at("/pod/v").options, "pagesize=2Mi");
  ASSERT_TRUE(plugin.TearDown({"/pod/v"}).ok());
  EXPECT_EQ(Message(set_up("HugePages", "hugepages-2Mi: 4Mi, hugepages-1Gi: 1Gi, memory: 1Gi")),
            "medium: HugePages can't be used if container requests multiple huge page sizes");
  EXPECT_FALSE(set_up("HugePages-1Gi", "hugepages-2Mi: 4Mi, memory: 1Gi").ok());
}

TEST(HostPath, EachKindOfDeviceIsToldApart) {
  FakeClock clock;
  fs::RealFileSystem files;
  fs::RealMounts mounts;
  const std::string root = testing::TempDir() + "volumes-of-devices";
  const NodeInfo node{.pod_roots = {root + "/state", root + "/kubelet"}};
  fs::RealOwnership ownership;
  FakeLogSink sink;
  const Log log(sink);
  prometheus::Registry registry;
  Metrics metrics(registry);
  VolumeManager manager({files, mounts, ownership, clock, node, log, metrics});
  for (const std::string type : {"CharDevice", "BlockDevice", "Socket", "File"}) {
    const auto pod =
        PodWithVolumes("[{name: v, hostPath: {path: /dev/null, type: " + type + "}}]", {"v"});
    const auto place = node::FindPodPlace(files, node.pod_roots, "uid-web");
    const auto made = manager.SetUp({pod, nullptr}, *place);
    EXPECT_EQ(made.ok(), type == "CharDevice") << type << ": " << made.status();
  }
  ASSERT_TRUE(files.RemoveTree(root).ok());
}

TEST(HostPath, AFileIsMadeOnlyWhereThereIsNone) {
  fs::RealFileSystem files;
  const harness::TempDir dir;
  const std::string path = dir.path() + "/file";
  const auto set_up = [&](const std::string& at, const fs::NewFileMaker& make) {
    const auto pod =
        PodWithVolumes("[{name: v, hostPath: {path: " + at + ", type: FileOrCreate}}]", {"v"});
    return HostPathVolume(files, make)
        .SetUp({pod.spec().volumes(0)}, {pod, nullptr}, {at})
        .status();
  };
  ASSERT_TRUE(set_up(path, fs::MakeNewFile).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  EXPECT_EQ(info.st_size, 0);
  ASSERT_TRUE(files.Replace(path, "kept", {}).ok());
  ASSERT_TRUE(set_up(path, fs::MakeNewFile).ok());
  EXPECT_EQ(files.Read(path, 10).value_or(""), "kept");
  ASSERT_TRUE(files.Remove(path).ok());
  // Another pod is faster.
  const Status made = set_up(path, [&files](const std::string& at, uint32_t mode) {
    EXPECT_TRUE(files.Replace(at, "theirs", {}).ok());
    return fs::MakeNewFile(at, mode);
  });
  EXPECT_TRUE(made.ok()) << made;
  EXPECT_EQ(files.Read(path, 10).value_or(""), "theirs");
  EXPECT_EQ(files.List(dir.path())->size(), 1u) << "nothing is left beside it";
  EXPECT_FALSE(set_up(dir.path() + "/none/file", fs::MakeNewFile).ok())
      << "its directory is not made";
}

TEST_F(Volumes, AClaimIsTheVolumeThatItIsBoundTo) {
  const std::string volume = "[{name: data, persistentVolumeClaim: {claimName: data}}]";
  EXPECT_EQ(Message(SetUpAll(PodWithVolumes(volume, {"data"})).status()),
            "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], "
            "failed to process volumes=[data]: error processing PVC default/data: failed to fetch "
            "PVC from API server: persistentvolumeclaim \"data\" not found");
  Put("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n"
      "spec: {local: {path: /srv/disk}}\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
      "spec: {volumeName: disk}\n");
  objects_.BindClaims();
  EXPECT_EQ(Message(SetUpAll(PodWithVolumes(volume, {"data"})).status()),
            "MountVolume.NewMounter initialization failed for volume \"disk\" : path \"/srv/disk\" "
            "does not exist");
  ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
  auto pod = PodWithVolumes(volume, {"data"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  const std::string place = dir_ + "kubernetes.io~local-volume/disk";
  EXPECT_EQ(*paths, (VolumePaths{{"data", place}}));
  ASSERT_TRUE(mounts_.mounted().contains(place));
  EXPECT_EQ(mounts_.mounted().at(place).options, "/srv/disk");
  EXPECT_EQ(ownership_.AccessOf("/srv/disk"), (fs::GroupAccess{2000, false}));
  ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_TRUE(mounts_.mounted().empty());
  EXPECT_TRUE(IsThere("/srv/disk")) << "it outlives its pods";
}

TEST_F(Volumes, AClaimThatIsOnlyReadIsMountedSo) {
  Put("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n"
      "spec: {local: {path: /srv/disk}, mountOptions: [noatime]}\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
      "spec: {volumeName: disk}\n");
  objects_.BindClaims();
  ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
  std::vector<std::string> ran;
  VolumeManager manager({files_, mounts_, ownership_, clock_, node_, log_, metrics_,
                         [&ran](const process::Program& program) -> StatusOr<std::string> {
                           ran = program.argv;
                           return std::string();
                         }});
  const auto pod = PodWithVolumes(
      "[{name: data, persistentVolumeClaim: {claimName: data, readOnly: true}}]", {"data"});
  ASSERT_TRUE(manager.SetUp({pod, &objects_}, Place()).ok());
  EXPECT_EQ(ran, (std::vector<std::string>{"mount", "-o", "remount,bind,noatime,ro",
                                           dir_ + "kubernetes.io~local-volume/disk"}));
}

/// In a manifest such a path is a path on the host.
TEST_F(Volumes, NoPodNamesALocalVolumeItself) {
  ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
  auto pod = PodWithVolumes("[{name: v, hostPath: {path: /srv/disk}}]", {"v"});
  pod.mutable_spec()->mutable_security_context()->set_fs_group(2000);
  const auto paths = SetUpAll(pod);
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_EQ(paths->at("v"), "/srv/disk");
  EXPECT_EQ(ownership_.AccessOf("/srv/disk"), std::nullopt);
}

}  // namespace
}  // namespace splitlet::pod_worker
