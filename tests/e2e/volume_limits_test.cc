// Volumes that are attacked, shared or large, in containers on real containerd.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/fixture.h"
#include "tests/harness/at_least.h"

namespace splitlet::e2e {
namespace {

/// A secret of 10,000 keys and 1 MB, and a volume with 10,000 files.
constexpr int kMany = 10'000;
constexpr uint64_t kMostMemory = 256u << 20;  // limit of pod-worker's memory at any time

class VolumeLimits : public E2eTest {
 protected:
  void StartNode() {
    E2eTest::StartNode(
        {.runtime_endpoint = {},
         .config = fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                               "kind: KubeletConfiguration\n"
                               "fileCheckFrequency: 2s\nsyncFrequency: 2s\n"
                               "crashLoopBackOff: {{maxContainerRestartPeriod: 1s}}\n"
                               "splitlet: {{objectsPath: {}}}\n",
                               folder_.path())});
  }
  /// The peak memory of a process.
  uint64_t MemoryOf(const std::string& process) const {
    const auto info = node_->Info(process);
    if (!info.ok()) return UINT64_MAX;
    std::ifstream status(fmt::format("/proc/{}/status", info->pid()));
    for (std::string line; std::getline(status, line);) {
      uint64_t kilobytes = 0;
      if (line.starts_with("VmHWM:") && std::istringstream(line.substr(6)) >> kilobytes)
        return kilobytes << 10;
    }
    return UINT64_MAX;
  }
  const harness::TempDir folder_{"vl"};
};

/// Exchanges a directory and a link repeatedly, until destroyed. The directory itself is never
/// lost.
class Swapper {
 public:
  Swapper(std::string one, std::string other) : one_(std::move(one)), other_(std::move(other)) {}
  ~Swapper() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    ended_.notify_all();
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  int Swaps() const { return swaps_; }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    // Pauses between two exchanges, so that the containers get CPU time, too.
    while (!ended_.wait_for(lock, 50us, [this] { return ends_; })) {
      if (::renameat2(AT_FDCWD, one_.c_str(), AT_FDCWD, other_.c_str(), RENAME_EXCHANGE) != 0)
        return;
      ++swaps_;
    }
  }
  const std::string one_, other_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ends_ = false;
  std::atomic<int> swaps_ = 0;
  std::thread thread_{[this] { Run(); }};
};

/// Imitates a hostile process in the volume, but faster: a directory alternates with a link to a
/// host directory while containers start that mount it as subPath.
TEST_F(VolumeLimits, ADirectoryThatIsSwappedForALinkNeverLeadsOut) {
  StartNode();
  const std::string outside = node_->dir() + "/outside", disk = node_->dir() + "/disk";
  std::filesystem::create_directories(outside);
  std::filesystem::create_directories(disk + "/part");
  harness::WriteFile(outside + "/of-the-host", "1");
  harness::WriteFile(disk + "/part/of-the-volume", "1");
  std::filesystem::create_directory_symlink(outside, disk + "/link");
  std::filesystem::create_directory_symlink(disk + "/part", disk + "/absolute");
  std::string containers;
  for (int i = 0; i < 4; ++i)
    containers += fmt::format(R"yaml(  - name: app-{0}
    image: splitlet.local/busybox:1
    command: [/bin/sh, -c, "echo $(ls /part) >> /scratch/saw-{0}"]
    volumeMounts:
    - {{name: scratch, mountPath: /scratch}}
    - {{name: disk, mountPath: /part, subPath: {1}}}
)yaml",
                              i, i % 2 == 0 ? "part" : "absolute");
  const auto saw = [this] {
    std::vector<std::string> lines;
    for (int i = 0; i < 4; ++i) {
      std::istringstream text(harness::ReadFile(fmt::format("{}/saw-{}", scratch(), i)));
      for (std::string line; std::getline(text, line);) lines.push_back(line);
    }
    return lines;
  };
  {
    const Swapper swapper(disk + "/part", disk + "/link");
    node_->PutManifest("swap.yaml", fmt::format(R"yaml(apiVersion: v1
kind: Pod
metadata: {{name: swap}}
spec:
  terminationGracePeriodSeconds: 1
  volumes:
  - {{name: scratch, hostPath: {{path: {}}}}}
  - {{name: disk, hostPath: {{path: {}}}}}
  containers:
{})yaml",
                                                scratch(), disk, containers));
    const harness::AtLeast starts(30);
    EXPECT_TRUE(WaitFor(kSoon + harness::AtLeast::Asked(), [&] {
      return !starts.GoesOn(static_cast<int>(saw().size()));
    })) << saw().size();
    EXPECT_GE(swapper.Swaps(), 1000);
  }
  const auto lines = saw();
  EXPECT_EQ(std::set(lines.begin(), lines.end()), std::set<std::string>{"of-the-volume"});
  node_->RemoveManifest("swap.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("swap") == nullptr; }));
  EXPECT_EQ(harness::ReadFile(outside + "/of-the-host"), "1");
}

/// A directory of the host that is a shared mount until destroyed.
class SharedDirectory {
 public:
  explicit SharedDirectory(std::string path) : path_(std::move(path)) {
    EXPECT_EQ(::mkdir(path_.c_str(), 0755), 0);
    EXPECT_EQ(::mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr), 0);
    EXPECT_EQ(::mount(nullptr, path_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  }
  ~SharedDirectory() {
    ::umount2((path_ + "/made").c_str(), MNT_DETACH);
    EXPECT_EQ(::umount2(path_.c_str(), MNT_DETACH), 0);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

 private:
  const std::string path_;
};

std::string PodWithShare(const std::string& name, const std::string& share,
                         const std::string& propagation, const std::string& script) {
  return fmt::format(R"yaml(apiVersion: v1
kind: Pod
metadata: {{name: {0}}}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{{name: share, hostPath: {{path: {1}}}}}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [/bin/sh, -c, "{3}"]
    securityContext: {{privileged: true}}
    volumeMounts: [{{name: share, mountPath: /share, mountPropagation: {2}}}]
)yaml",
                     name, share, propagation, script);
}

TEST_F(VolumeLimits, AMountMadeInsideIsSeenOnTheHostAndInAnotherPod) {
  StartNode();
  const std::string share = node_->dir() + "/share";
  const SharedDirectory shared(share);
  const std::string forever = "while true; do sleep 0.1; done";
  node_->PutManifest("sees.yaml",
                     PodWithShare("sees", share, "HostToContainer",
                                  "while true; do cat /share/made/word > /share/seen; sleep 0.1; "
                                  "done"));
  ExpectRunning("sees");
  node_->PutManifest("makes.yaml",
                     PodWithShare("makes", share, "Bidirectional",
                                  "mkdir /share/made && mount -t tmpfs made /share/made && "
                                  "echo hello > /share/made/word; " +
                                      forever));
  ExpectRunning("makes");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(share + "/made/word") == "hello\n"; }))
      << "on the host";
  EXPECT_TRUE(WaitFor(kSoon, [&] { return harness::ReadFile(share + "/seen") == "hello\n"; }))
      << "in the pod that was there before";
  for (const char* name : {"makes", "sees"}) node_->RemoveManifest(std::string(name) + ".yaml");
  EXPECT_TRUE(WaitFor(
      kSoon, [&] { return node_->Pod("makes") == nullptr && node_->Pod("sees") == nullptr; }));
  EXPECT_EQ(harness::ReadFile(share + "/made/word"), "hello\n")
      << "what was mounted for the host outlives the pod";
}

TEST_F(VolumeLimits, ASecretOfTenThousandKeysIsThereWholeInBoundedMemory) {
  std::string keys;
  for (int i = 0; i < kMany; ++i) keys += fmt::format("  key-{}: {}\n", i, std::string(80, 'x'));
  harness::WriteFile(folder_ / "many.yaml",
                     "apiVersion: v1\nkind: Secret\nmetadata: {name: many}\nstringData:\n" + keys);
  StartNode();
  node_->PutManifest("many.yaml", fmt::format(R"yaml(apiVersion: v1
kind: Pod
metadata: {{name: many}}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {{fsGroup: 2000}}
  volumes:
  - {{name: scratch, hostPath: {{path: {}}}}}
  - {{name: many, secret: {{secretName: many}}}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [/bin/sh, -c, "while true; do ls /many | wc -l > /scratch/n; cat /many/key-0 > /scratch/first; sleep 0.5; done"]
    volumeMounts:
    - {{name: scratch, mountPath: /scratch}}
    - {{name: many, mountPath: /many}}
)yaml",
                                              scratch()));
  ExpectRunning("many");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return harness::ReadFile(scratch() + "/n") == fmt::format("{}\n", kMany);
  })) << harness::ReadFile(scratch() + "/n");
  keys.replace(keys.find("xxx"), 3, "yyy");
  harness::WriteFile(folder_ / "many.yaml",
                     "apiVersion: v1\nkind: Secret\nmetadata: {name: many}\nstringData:\n" + keys);
  EXPECT_TRUE(
      WaitFor(kSoon, [&] { return harness::ReadFile(scratch() + "/first").starts_with("yyy"); }));
  EXPECT_EQ(RestartsOf("many"), 0);
  EXPECT_LT(MemoryOf("pod-worker"), kMostMemory);
  node_->RemoveManifest("many.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("many") == nullptr; }));
}

TEST_F(VolumeLimits, TenThousandFilesGetTheirGroupInBoundedMemory) {
  StartNode();
  const std::string disk = node_->dir() + "/disk";
  for (int i = 0; i < 100; ++i) {
    const std::string dir = fmt::format("{}/{}", disk, i);
    std::filesystem::create_directories(dir);
    for (int j = 0; j < kMany / 100; ++j) harness::WriteFile(fmt::format("{}/{}", dir, j), "");
  }
  // A device of the same name, mounted by a parallel test, would keep its group.
  harness::WriteFile(
      folder_ / "disk.yaml",
      fmt::format("apiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: many-files}}\n"
                  "spec: {{local: {{path: {}}}}}\n---\n"
                  "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data}}\n"
                  "spec: {{volumeName: many-files}}\n",
                  disk));
  node_->PutManifest("files.yaml", R"yaml(apiVersion: v1
kind: Pod
metadata: {name: files}
spec:
  terminationGracePeriodSeconds: 1
  securityContext: {fsGroup: 2000}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [sleep, "1000"]
    volumeMounts: [{name: data, mountPath: /data}]
)yaml");
  ExpectRunning("files");
  int given = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(disk)) {
    struct stat info {};
    ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
    const mode_t want = S_ISDIR(info.st_mode) ? 02770 : 0660;
    given += info.st_gid == 2000 && (info.st_mode & want) == want ? 1 : 0;
  }
  EXPECT_EQ(given, kMany + 100);
  EXPECT_LT(MemoryOf("pod-worker"), kMostMemory);
  node_->RemoveManifest("files.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("files") == nullptr; }));
}

}  // namespace
}  // namespace splitlet::e2e
