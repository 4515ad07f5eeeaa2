#include "services/pod-worker/volumes/volume_manager.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "libs/fs/real_file_system.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/volumes/empty_dir.h"
#include "services/pod-worker/volumes/object_volume.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n";
constexpr const char* kSecret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n";

class Volumes : public testing::Test {
 protected:
  StatusOr<VolumePaths> SetUpAll(const kube::Pod& pod) {
    return manager_.SetUp({pod, &objects_}, Place());
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
  VolumeManager manager_{{files_, mounts_, ownership_, clock_, node_, log_}};
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

TEST_F(Volumes, WhatCannotBeMadeIsAnError) {
  const struct {
    std::string volume, error;
  } kCases[] = {
      {"nfs: {server: a, path: /b}",
       "Unable to attach or mount volumes: volume type \"nfs\" is not supported"},
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
  const auto done = SetUpAll(PodWithVolumes(
      "[{name: bad, configMap: {name: none}}, {name: good, emptyDir: {}}]", {"bad", "good"}));
  EXPECT_FALSE(done.ok());
  EXPECT_TRUE(IsThere(dir_ + "kubernetes.io~empty-dir/good"));
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
  ASSERT_TRUE(manager_.Refresh({pod, &objects_}, Place()).ok()) << "host paths are not looked at";
  EXPECT_EQ(files_.Read(paths->at("v") + "/a", 10).value_or(""), "two");
  objects_ = {};
  EXPECT_EQ(Message(manager_.Refresh({pod, &objects_}, Place())),
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
  EXPECT_EQ(sink_.lines()[0].message, "cannot give a volume to the group of its pod");
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
    return plugin.SetUp(pod.spec().volumes(0), {pod, nullptr}, "/pod/v");
  };
  ASSERT_TRUE(set_up("HugePages", "hugepages-2Mi: 4Mi, memory: 1Gi, cpu: 1").ok());
  EXPECT_EQ(mounts.mounted().at("/pod/v").type, "hugetlbfs");
  EXPECT_EQ(mounts.mounted().at("/pod/v").options, "pagesize=2Mi");
  ASSERT_TRUE(plugin.TearDown("/pod/v").ok());
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
  VolumeManager manager({files, mounts, ownership, clock, node, log});
  for (const std::string type : {"CharDevice", "BlockDevice", "Socket", "File"}) {
    const auto pod =
        PodWithVolumes("[{name: v, hostPath: {path: /dev/null, type: " + type + "}}]", {"v"});
    const auto place = node::FindPodPlace(files, node.pod_roots, "uid-web");
    const auto made = manager.SetUp({pod, nullptr}, *place);
    EXPECT_EQ(made.ok(), type == "CharDevice") << type << ": " << made.status();
  }
  ASSERT_TRUE(files.RemoveTree(root).ok());
}

TEST_F(Volumes, AClaimIsTheVolumeThatItIsBoundTo) {
  const std::string volume =
      "[{name: data, persistentVolumeClaim: {claimName: data, readOnly: true}}]";
  EXPECT_EQ(Message(SetUpAll(PodWithVolumes(volume, {"data"})).status()),
            "Unable to attach or mount volumes: unmounted volumes=[data], unattached volumes=[], "
            "failed to process volumes=[data]: error processing PVC default/data: failed to fetch "
            "PVC from API server: persistentvolumeclaim \"data\" not found");
  Put("apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n"
      "spec: {local: {path: /srv/disk}}\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
      "spec: {volumeName: disk}\n");
  objects_.BindClaims();
  EXPECT_EQ(
      Message(SetUpAll(PodWithVolumes(volume, {"data"})).status()),
      "MountVolume.SetUp failed for volume \"disk\" : hostPath type check failed: /srv/disk is "
      "not a directory");
  ASSERT_TRUE(files_.MakeDirs("/srv/disk", 0755).ok());
  const auto paths = SetUpAll(PodWithVolumes(volume, {"data"}));
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_EQ(*paths, (VolumePaths{{"data", "/srv/disk"}}));
  ASSERT_TRUE(manager_.TearDown("uid-web", "file").ok());
  EXPECT_TRUE(IsThere("/srv/disk")) << "it outlives its pods";
}

}  // namespace
}  // namespace splitlet::pod_worker
