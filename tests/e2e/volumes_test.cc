// Groups and parts of volumes in containers on real containerd.

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

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
  /// Lines of this machine's mounts that are below the directories of pods.
  std::vector<std::string> Mounted() const {
    std::vector<std::string> found;
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);)
      if (line.find(" " + node_->dir() + "/kubelet/pods") != std::string::npos)
        found.push_back(line);
    return found;
  }
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

}  // namespace
}  // namespace splitlet::e2e
