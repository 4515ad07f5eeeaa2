// The fsGroup and subPath of volumes in containers on real containerd.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class Volumes : public E2eTest {
 protected:
  void StartNode() {
    E2eTest::StartNode({.runtime_endpoint = {},
                        .config = fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                              "kind: KubeletConfiguration\n"
                                              "fileCheckFrequency: 2s\nsyncFrequency: 10s\n"
                                              "splitlet: {{objectsPath: {}}}\n",
                                              folder_.path())});
  }
  void PutWord(const std::string& word) {
    harness::WriteFile(folder_ / "settings.yaml",
                       fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n"
                                   "data: {{WORD: {}}}\n",
                                   word));
  }
  std::string Words() const { return harness::ReadFile(scratch() + "/words"); }
  std::vector<std::string> Mounted() const { return MountsBelow(node_->dir() + "/kubelet/pods"); }
  const harness::TempDir folder_{"vo"};
};

TEST_F(Volumes, GroupsAndPartsAreAsAskedAndLeaveNothingBehind) {
  PutWord("old");
  StartNode();
  std::string manifest = R"yaml(apiVersion: v1
kind: Pod
metadata: {name: parts}
spec:
  terminationGracePeriodSeconds: 2
  securityContext: {runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000}
  volumes:
  - {name: scratch, hostPath: {path: SCRATCH}}
  - {name: disk, emptyDir: {}}
  - {name: fast, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: settings, configMap: {name: settings, defaultMode: 0400}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command:
    - /bin/sh
    - -c
    - |
      touch /disk/file /fast/file /part/file
      while true; do
        echo "$(stat -c %g:%a /disk) $(stat -c %g:%a /fast) $(stat -c %g:%a /part) $(stat -c %u:%g /part/file)" > /scratch/new
        echo "$(stat -L -c %g:%a /settings/WORD) $(cat /settings/WORD) $(cat /word) $(ls /whole/app)" >> /scratch/new
        mv /scratch/new /scratch/words
        sleep 0.2
      done
    env: [{name: WHO, value: app}]
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: disk, mountPath: /disk}
    - {name: fast, mountPath: /fast}
    - {name: settings, mountPath: /settings}
    - {name: disk, mountPath: /part, subPathExpr: $(WHO)/deep}
    - {name: settings, mountPath: /word, subPath: WORD}
    - {name: disk, mountPath: /whole, readOnly: true}
)yaml";
  manifest.replace(manifest.find("SCRATCH"), 7, scratch());
  ASSERT_EQ(::chmod(scratch().c_str(), 0777), 0);
  node_->PutManifest("parts.yaml", manifest);
  ExpectRunning("parts");
  const auto says = [this](const std::string& word) {
    return Words() == "2000:2777 2000:3777 2000:2777 1000:2000\n2000:440 " + word + " old deep\n";
  };
  EXPECT_TRUE(WaitFor(kSoon, [&] { return says("old"); })) << Words();
  PutWord("new");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return says("new"); }))
      << "a file that is mounted alone stays as it was: " << Words();
  EXPECT_EQ(RestartsOf("parts"), 0);
  EXPECT_EQ(Mounted().size(), 3u) << "a tmpfs and two parts";
  node_->Kill("pod-worker");
  node_->RemoveManifest("parts.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("parts") == nullptr; }));
  EXPECT_THAT(Mounted(), testing::IsEmpty());
}

TEST_F(Volumes, ALinkThatLeadsOutOfTheVolumeIsNotFollowed) {
  PutWord("old");
  StartNode();
  node_->PutManifest("escape.yaml", R"yaml(apiVersion: v1
kind: Pod
metadata: {name: escape}
spec:
  terminationGracePeriodSeconds: 2
  volumes: [{name: disk, emptyDir: {}}]
  initContainers:
  - name: link
    image: splitlet.local/busybox:1
    command: [ln, -s, /etc, /disk/out]
    volumeMounts: [{name: disk, mountPath: /disk}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [sleep, "1000"]
    volumeMounts: [{name: disk, mountPath: /etc2, subPath: out}]
)yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("escape");
    if (pod == nullptr) return false;
    for (const auto& container : pod->containers)
      if (container.reason == "CreateContainerConfigError") return true;
    return false;
  }));
  const Node::Run described = node_->Ctl({"describe", "pod", "escape-node-1"});
  EXPECT_NE(described.output.find(
                "failed to prepare subPath for volumeMount \"disk\" of container \"app\""),
            std::string::npos)
      << described.output;
  EXPECT_THAT(Mounted(), testing::IsEmpty());
}

/// With a claim bound to the directory `disk` of the machine.
std::string PodWithDisk(const std::string& name, int group, bool read_only) {
  return fmt::format(R"yaml(apiVersion: v1
kind: Pod
metadata: {{name: {0}}}
spec:
  terminationGracePeriodSeconds: 2
  securityContext: {{runAsUser: 1000, runAsGroup: 1000, fsGroup: {1}}}
  volumes: [{{name: data, persistentVolumeClaim: {{claimName: data, readOnly: {2}}}}}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [/bin/sh, -c, "cat /data/old; echo new > /data/{0}; exec sleep 1000"]
    volumeMounts: [{{name: data, mountPath: /data}}]
)yaml",
                     name, group, read_only);
}

struct Owned {
  gid_t group;
  mode_t mode;
  bool operator==(const Owned&) const = default;
};
Owned OwnedBy(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return {info.st_gid, info.st_mode & 07777};
}

TEST_F(Volumes, ALocalVolumeIsSharedWithTheGroupOfItsFirstPod) {
  StartNode();
  const std::string disk = node_->dir() + "/disk";
  ASSERT_EQ(::mkdir(disk.c_str(), 0700), 0);
  harness::WriteFile(disk + "/old", "kept\n");
  ASSERT_EQ(::chmod((disk + "/old").c_str(), 0600), 0);
  harness::WriteFile(
      folder_ / "disk.yaml",
      fmt::format("apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: disk}}\n"
                  "spec: {{local: {{path: {}}}}}\n---\n"
                  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\n"
                  "spec: {{volumeName: disk}}\n",
                  disk));
  node_->PutManifest("first.yaml", PodWithDisk("first", 2000, false));
  ExpectRunning("first");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(disk + "/first") == "new\n"; }));
  EXPECT_EQ(OwnedBy(disk), (Owned{2000, 02770}));
  EXPECT_EQ(OwnedBy(disk + "/old"), (Owned{2000, 0660}));
  EXPECT_EQ(OwnedBy(disk + "/first").group, 2000u);

  node_->PutManifest("second.yaml", PodWithDisk("second", 3000, true));
  ExpectRunning("second");
  EXPECT_EQ(OwnedBy(disk), (Owned{2000, 02770}));
  const Node::Run described = node_->Ctl({"describe", "pod", "second-node-1"});
  EXPECT_NE(described.output.find("The requested fsGroup is 3000, but the volume disk has GID "
                                  "2000. The volume may not be shareable."),
            std::string::npos)
      << described.output;
  EXPECT_THAT(Mounted(),
              testing::UnorderedElementsAre(testing::HasSubstr("~local-volume/disk "),
                                            testing::ContainsRegex("~local-volume/disk .* ro,")));

  node_->Kill("pod-worker");
  node_->RemoveManifest("first.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("first") == nullptr; }));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Mounted().size() == 1; })) << "the other pod's stays";
  node_->RemoveManifest("second.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("second") == nullptr; }));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Mounted().empty(); }));
  EXPECT_EQ(harness::ReadFile(disk + "/old"), "kept\n");
  EXPECT_EQ(harness::ReadFile(disk + "/first"), "new\n");
}

/// A block device on a file of four megabytes; empty if this machine has no free loop device.
class LoopDevice {
 public:
  LoopDevice() {
    harness::WriteFile(dir_ / "disk", "hello" + std::string((4 << 20) - 5, '.'));
    if (harness::RunToEnd({.argv = {"losetup", "--find", "--show", dir_ / "disk"},
                           .env = {},
                           .output = dir_ / "name"},
                          60s) != 0)
      return;
    name_ = harness::ReadFile(dir_ / "name");
    name_.erase(name_.find_last_not_of('\n') + 1);
  }
  ~LoopDevice() {
    if (name_.empty()) return;
    EXPECT_EQ(harness::RunToEnd(
                  {.argv = {"losetup", "--detach", name_}, .env = {}, .output = "/dev/null"}, 60s),
              0);
  }
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;
  const std::string& name() const { return name_; }  // "/dev/loop0"
  std::string Begin(size_t bytes) const {
    return harness::ReadFile(dir_ / "disk").substr(0, bytes);
  }

 private:
  const harness::TempDir dir_{"lo"};
  std::string name_;
};

TEST_F(Volumes, ABlockDeviceIsReadAndWrittenAndStaysAsItIs) {
  const LoopDevice device;
  if (device.name().empty()) GTEST_SKIP() << "no loop device";
  StartNode();
  harness::WriteFile(
      folder_ / "raw.yaml",
      fmt::format("apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: raw}}\n"
                  "spec: {{volumeMode: Block, local: {{path: {}}}}}\n---\n"
                  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: raw}}\n"
                  "spec: {{volumeMode: Block, volumeName: raw}}\n",
                  device.name()));
  node_->PutManifest("blocks.yaml", fmt::format(R"yaml(apiVersion: v1
kind: Pod
metadata: {{name: blocks}}
spec:
  terminationGracePeriodSeconds: 2
  volumes:
  - {{name: raw, persistentVolumeClaim: {{claimName: raw}}}}
  - {{name: scratch, hostPath: {{path: {}}}}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command:
    - /bin/sh
    - -c
    - |
      dd if=/dev/blocks of=/scratch/new bs=5 count=1
      printf world | dd of=/dev/blocks bs=5 seek=1 conv=notrunc,fsync
      mv /scratch/new /scratch/words
      exec sleep 1000
    volumeDevices: [{{name: raw, devicePath: /dev/blocks}}]
    volumeMounts: [{{name: scratch, mountPath: /scratch}}]
)yaml",
                                                scratch()));
  ExpectRunning("blocks");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Words() == "hello"; })) << Words();
  EXPECT_EQ(device.Begin(11), "helloworld.");
  const auto bound = [&] { return MountsBelow(node_->dir() + "/kubelet/plugins/"); };
  EXPECT_THAT(bound(), testing::Not(testing::IsEmpty()));
  node_->Kill("pod-worker");
  node_->RemoveManifest("blocks.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("blocks") == nullptr && bound().empty(); }));
  EXPECT_EQ(device.Begin(11), "helloworld.");
}

}  // namespace
}  // namespace splitlet::e2e
