#include <gtest/gtest.h>

#include "libs/fs/fake_mounts.h"
#include "libs/fs/fake_ownership.h"
#include "libs/process/fake_programs.h"
#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/tests/pods_fixture.h"
#include "services/pod-worker/volumes/volume_manager.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

namespace splitlet::pod_worker {
namespace {

/// A pod with a claim on the volume "disk".
class PersistentVolumes : public testing::Test {
 protected:
  PersistentVolumes() {
    for (const char* dir : {"/srv/a", "/srv/b"}) EXPECT_TRUE(files_.MakeDirs(dir, 0755).ok());
  }
  void Put(const std::string& spec, const std::string& annotations = "") {
    auto read = ReadObjects(
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk, annotations: {" +
            annotations + "}}\nspec: {" + spec +
            "}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
            "spec: {volumeName: disk}\n",
        "f.yaml");
    ASSERT_TRUE(read.ok()) << read.status();
    objects_ = *std::move(read);
    objects_.BindClaims();
  }
  StatusOr<VolumePaths> SetUpVolumes(const kube::Pod& pod) {
    auto made = manager_.SetUp({pod, &objects_},
                               node::FindPodPlace(files_, node_.pod_roots, "uid-web").value(),
                               [this](const char* reason, const Status& why) {
                                 told_.push_back(fmt::format("{}: {}", reason, Message(why)));
                               });
    if (!made.ok()) return made.status();
    progress_ = made->progress;
    groups_ = made->groups;
    return std::move(made->paths);
  }
  /// The kernel's list has this server at `path`.
  void ShowMount(const std::string& path) {
    EXPECT_TRUE(files_
                    .Replace("/proc/self/mountinfo",
                             fmt::format("40 1 0:40 / {} rw - nfs a:/b rw\n", path), {})
                    .ok());
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  fs::FakeOwnership ownership_{files_};
  NodeInfo node_{.name = "node-1", .pod_roots = {"/state/pods", "/kubelet"}};
  ObjectSet objects_;
  FakeLogSink sink_;
  const Log log_{sink_};
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  std::vector<std::string> told_;
  Progress progress_ = Progress::kDone;
  std::set<int64_t> groups_;
  const process::ProgramRunner run_ = [this](const process::Program& program) {
    if (program.argv[0] == "mount" && program.argv[1] == "-t") ShowMount(program.argv.back());
    if (program.argv[0] == "umount") ShowMount("/none");
    return StatusOr<std::string>(std::string());
  };
  process::FakePrograms programs_{run_};
  VolumeManager manager_{
      {files_, mounts_, ownership_, clock_, node_, log_, metrics_, run_, &programs_}};
  const std::string claim_ = "[{name: v, persistentVolumeClaim: {claimName: data}}]";
};

TEST_F(PersistentVolumes, TheKindsThatANodeHasByItself) {
  const std::string here =
                        "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                        "kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}",
                    other =
                        "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: "
                        "kubernetes.io/hostname, operator: In, values: [node-2]}]}]}}",
                    volumes = "/kubelet/pods/uid-web/volumes/";
  const struct {
    std::string spec, want;  // the path on the host, or the error
  } kCases[] = {
      {"hostPath: {path: /srv/a}", "/srv/a"},
      {"hostPath: {path: /srv/made, type: DirectoryOrCreate}", "/srv/made"},
      {"hostPath: {path: /srv/a, type: File}",
       "MountVolume.SetUp failed for volume \"disk\" : hostPath type check failed: /srv/a is not a "
       "file"},
      {"hostPath: {path: /srv/a/../b}",
       "MountVolume.SetUp failed for volume \"disk\" : invalid HostPath `/srv/a/../b`: must not "
       "contain '..'"},
      {"local: {path: /srv/b}", volumes + "kubernetes.io~local-volume/disk"},
      {"nfs: {server: a, path: /b}", volumes + "kubernetes.io~nfs/disk"},
      {"csi: {driver: d, volumeHandle: h}",
       "MountVolume.FindPluginBySpec failed for volume \"disk\" : persistent volume type \"csi\" "
       "is "
       "not supported"},
      {"hostPath: {path: /srv/a}, mountOptions: [ro]",
       "MountVolume.MountOptionSupport check failed for volume \"disk\" : mount options are not "
       "supported for this volume type"},
      {"local: {path: /srv/b}, " + here, volumes + "kubernetes.io~local-volume/disk"},
      {"local: {path: /srv/b}, " + other,
       "MountVolume.NodeAffinity check failed for volume \"disk\" : no matching NodeSelectorTerms"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    Put(c.spec);
    const auto paths = SetUpVolumes(PodWithVolumes(claim_, {"v"}));
    EXPECT_EQ(paths.ok() ? paths->at("v") : Message(paths.status()), c.want);
    ASSERT_TRUE(manager_.TearDown("uid-web", "api").ok());
  }
}

TEST_F(PersistentVolumes, OneThatIsUnderWayHoldsUpNoOther) {
  programs_.Hold(true);
  Put("nfs: {server: a, path: /b}");
  const auto pod = PodWithVolumes(
      "[{name: v, persistentVolumeClaim: {claimName: data}}, {name: w, emptyDir: {}}]", {"v", "w"});
  const std::string scratch = "/kubelet/pods/uid-web/volumes/kubernetes.io~empty-dir/w";
  ASSERT_TRUE(SetUpVolumes(pod).ok());
  EXPECT_EQ(progress_, Progress::kUnderWay);
  EXPECT_TRUE(files_.Stat(scratch, false).ok());
  programs_.EndAll();
  ASSERT_TRUE(SetUpVolumes(pod).ok());
  EXPECT_EQ(progress_, Progress::kDone);
  EXPECT_EQ(manager_.TearDown("uid-web", "api").value_or(Progress::kDone), Progress::kUnderWay);
  EXPECT_FALSE(files_.Stat(scratch, false).ok());
  programs_.EndAll();
  EXPECT_EQ(manager_.TearDown("uid-web", "api").value_or(Progress::kUnderWay), Progress::kDone);
  EXPECT_TRUE(told_.empty());
}

TEST_F(PersistentVolumes, AreTakenForWhatTheirVolumeModeSays) {
  const std::string claim =
      "Unable to attach or mount volumes: unmounted volumes=[v], unattached "
      "volumes=[], failed to process volumes=[v]: error processing PVC "
      "default/data: ";
  const struct {
    std::string spec;
    bool as_device;
    std::string want;
  } kCases[] = {
      {"local: {path: /srv/a}, volumeMode: Block", false,
       "FailedMount: " + claim + "volume v has volumeMode Block, but is specified in volumeMounts"},
      {"local: {path: /srv/a}", true,
       "FailedMount: " + claim +
           "volume v has volumeMode Filesystem, but is specified in volumeDevices"},
      {"local: {path: /srv/a}, volumeMode: Block", true,
       "FailedMapVolume: MapVolume.SetUpDevice failed for volume \"disk\" : /srv/a is not a block "
       "device"},
      {"hostPath: {path: /srv/a}, volumeMode: Block", true,
       "FailedMapVolume: MapVolume.FindMapperPluginBySpec failed for volume \"disk\" : a volume of "
       "type "
       "\"hostPath\" is no block device"},
      {"nfs: {server: a, path: /b}, volumeMode: Block", true,
       "FailedMapVolume: MapVolume.FindMapperPluginBySpec failed for volume \"disk\" : a volume of "
       "type "
       "\"nfs\" is no block device"},
      {"csi: {driver: d, volumeHandle: h}, volumeMode: Block", true,
       "FailedMapVolume: MapVolume.FindMapperPluginBySpec failed for volume \"disk\" : a volume of "
       "type "
       "\"csi\" is no block device"},
      {"csi: {driver: d, volumeHandle: h}", false,
       "FailedMount: MountVolume.FindPluginBySpec failed for volume \"disk\" : persistent volume "
       "type \"csi\" is not supported"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    Put(c.spec);
    auto pod = PodWithVolumes(claim_, {"v"});
    if (c.as_device) {
      auto& container = *pod.mutable_spec()->mutable_containers(0);
      container.clear_volume_mounts();
      container.add_volume_devices()->set_name("v");
    }
    told_.clear();
    EXPECT_FALSE(SetUpVolumes(pod).ok());
    EXPECT_EQ(told_, std::vector<std::string>{c.want});
  }
}

TEST_F(PersistentVolumes, TheGroupOfOneIsForWhoMountsIt) {
  const std::string annotation = "pv.beta.kubernetes.io/gid: ";
  const struct {
    const char* name;
    std::string annotations;
    std::set<int64_t> want;
  } kCases[] = {
      {"none is asked for", "", {}},
      {"a group", annotation + "'1234'", {1234}},
      {"root's", annotation + "'0'", {0}},
      {"a name is no group", annotation + "staff", {}},
      {"nor is what a number begins", annotation + "'12 34'", {}},
      {"nor is one below zero", annotation + "'-1'", {}},
      {"nor is one that no group has", annotation + "'2147483648'", {}},
      {"another annotation does not count", "pv.beta.kubernetes.io/uid: '7'", {}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Put("hostPath: {path: /srv/a}", c.annotations);
    ASSERT_TRUE(SetUpVolumes(PodWithVolumes(claim_, {"v"})).ok());
    EXPECT_EQ(groups_, c.want);
  }
  Put("hostPath: {path: /srv/a}", annotation + "'1234'");
  ASSERT_TRUE(SetUpVolumes(PodWithVolumes(claim_, {})).ok());
  EXPECT_TRUE(groups_.empty()) << "no container mounts it";
}

/// Behind a claim the persistent volume counts, and not the pod's volume.
TEST(VolumeSpec, SaysWhatIsBehindTheClaim) {
  const kube::Volume claimed = ClaimOf(true);
  const auto spec = BehindClaim(
      "nfs: {server: a, path: /b}, mountOptions: [hard], accessModes: [ReadWriteOnce, "
      "ReadOnlyMany], volumeMode: Block",
      claimed);
  EXPECT_EQ(spec.name(), "disk");
  EXPECT_EQ(spec.kind(), "nfs");
  EXPECT_TRUE(spec.read_only());
  EXPECT_TRUE(spec.is_block());
  EXPECT_EQ(spec.mount_options(), std::vector<std::string>{"hard"});
  EXPECT_EQ(spec.access_modes(), (std::vector<std::string>{"ReadWriteOnce", "ReadOnlyMany"}));
  const auto pod = PodWithVolumes("[{name: v, emptyDir: {}}]", {"v"});
  const VolumeSpec own{pod.spec().volumes(0)};
  EXPECT_EQ(own.name(), "v");
  EXPECT_EQ(own.kind(), "emptyDir");
  EXPECT_EQ(own.source(), nullptr);
  EXPECT_FALSE(own.read_only());
}

}  // namespace
}  // namespace splitlet::pod_worker
