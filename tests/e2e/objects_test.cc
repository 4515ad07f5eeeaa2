// Config maps and secrets from the folder splitlet.objectsPath, in containers on real containerd.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class Objects : public E2eTest {
 protected:
  void StartNode() {
    E2eTest::StartNode({.runtime_endpoint = {},
                        .config = fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                              "kind: KubeletConfiguration\n"
                                              "fileCheckFrequency: 2s\nsyncFrequency: 10s\n"
                                              "splitlet: {{objectsPath: {}}}\n",
                                              folder_.path())});
  }
  void PutObject(const std::string& file, const std::string& kind, const std::string& rest) {
    harness::WriteFile(folder_ / file, "apiVersion: v1\nkind: " + kind + "\n" + rest);
  }
  void PutWord(const std::string& word) {
    PutObject("settings.yaml", "ConfigMap",
              fmt::format("metadata: {{name: settings}}\ndata: {{WORD: {}}}\n", word));
  }
  /// Writes a later invalid file: when its problem is reported, all earlier files have been read.
  void AwaitThatTheFolderWasRead() {
    harness::WriteFile(folder_ / "unusable.yaml", "kind: [");
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      const auto info = node_->Info("pod-worker");
      return info.ok() && info->notes_size() == 1;
    }));
  }
  /// A pod whose container prints its words once, and ends when the file `go` exists.
  std::string Talker() const {
    return PodWithScratch("talker",
                          "echo $WORD $KEY $ABSENT >> /scratch/words; while ! rm /scratch/go "
                          "2>/dev/null; do sleep 0.1; done",
                          scratch()) +
           R"(    envFrom:
    - configMapRef: {name: settings}
    - configMapRef: {name: absent, optional: true}
    env:
    - {name: KEY, valueFrom: {secretKeyRef: {name: door, key: code}}}
    - {name: ABSENT, valueFrom: {configMapKeyRef: {name: settings, key: none, optional: true}}}
)";
  }
  std::string Words() const { return harness::ReadFile(scratch() + "/words"); }

  const harness::TempDir folder_{"ob"};
};

TEST_F(Objects, AreVariablesAndAChangeReachesTheNextContainer) {
  PutWord("old");
  PutObject("door.yaml", "Secret", "metadata: {name: door}\nstringData: {code: secret-3141}\n");
  StartNode();
  node_->PutManifest("talker.yaml", Talker());
  ExpectRunning("talker");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Words() == "old secret-3141\n"; })) << Words();
  PutWord("new");
  AwaitThatTheFolderWasRead();
  EXPECT_EQ(RestartsOf("talker"), 0);
  harness::WriteFile(scratch() + "/go", "");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Words() == "old secret-3141\nnew secret-3141\n"; }))
      << Words();
}

TEST_F(Objects, WhatIsMissingIsSaidAndAwaited) {
  PutWord("old");
  StartNode();
  node_->PutManifest("talker.yaml", Talker());
  std::unique_ptr<Node::PodView> pod;
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    pod = node_->Pod("talker");
    return pod != nullptr && pod->containers.size() == 1 &&
           pod->containers[0].reason == "CreateContainerConfigError";
  }));
  EXPECT_TRUE(view_->RunningOf("talker").empty());
  const Node::Run described = node_->Ctl({"describe", "pod", "talker-node-1"});
  EXPECT_NE(described.output.find("secret \"door\" not found"), std::string::npos)
      << described.output;
  PutObject("door.yaml", "Secret", "metadata: {name: door}\nstringData: {code: secret-3141}\n");
  ExpectRunning("talker");
  EXPECT_EQ(RestartsOf("talker"), 0);
}

TEST_F(Objects, AreFilesThatFollowThemAndLeaveNothingBehind) {
  PutWord("old");
  PutObject("door.yaml", "Secret", "metadata: {name: door}\nstringData: {code: secret-3141}\n");
  StartNode();
  std::string manifest = R"yaml(apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  terminationGracePeriodSeconds: 2
  volumes:
  - {name: scratch, hostPath: {path: SCRATCH}}
  - {name: settings, configMap: {name: settings}}
  - name: all
    projected:
      defaultMode: 0440
      sources:
      - secret: {name: door}
      - downwardAPI: {items: [{path: me, fieldRef: {fieldPath: metadata.name}}]}
  - {name: fast, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command:
    - /bin/sh
    - -c
    - |
      while true; do
        refused=$(touch /all/x 2>&1 | sed 's/.*: //')
        room=$(df -k /fast | awk 'END {print $2}')
        echo "$(cat /settings/WORD) $(cat /all/code) $(cat /all/me) $(stat -L -c %a /all/code) $refused $room" > /scratch/new
        mv /scratch/new /scratch/words
        sleep 0.2
      done
    volumeMounts:
    - {name: scratch, mountPath: /scratch}
    - {name: settings, mountPath: /settings}
    - {name: all, mountPath: /all}
    - {name: fast, mountPath: /fast}
)yaml";
  manifest.replace(manifest.find("SCRATCH"), 7, scratch());
  node_->PutManifest("reader.yaml", manifest);
  ExpectRunning("reader");
  const auto reads = [this](const std::string& word) {
    return Words() == word + " secret-3141 reader-node-1 440 Read-only file system 1024\n";
  };
  EXPECT_TRUE(WaitFor(kSoon, [&] { return reads("old"); })) << Words();
  PutWord("new");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return reads("new"); })) << Words();
  EXPECT_EQ(RestartsOf("reader"), 0);
  EXPECT_EQ(MountsBelow(node_->dir() + "/kubelet/pods").size(), 2u);
  node_->Kill("pod-worker");
  node_->RemoveManifest("reader.yaml");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->Pod("reader") == nullptr; }));
  EXPECT_THAT(MountsBelow(node_->dir() + "/kubelet"), testing::IsEmpty());
}

/// Files below `folder` that contain the text.
std::vector<std::string> FilesWith(const std::string& text, const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    if (content.find(text) != std::string::npos) found.push_back(entry.path());
  }
  return found;
}

TEST_F(Objects, ASecretIsInTheContainerAndInNoFileOrAnswer) {
  PutWord("old");
  PutObject("door.yaml", "Secret", "metadata: {name: door}\nstringData: {code: secret-3141}\n");
  StartNode();
  node_->PutManifest("talker.yaml", Talker());
  EXPECT_TRUE(WaitFor(kSoon, [&] { return Words() == "old secret-3141\n"; })) << Words();
  ExpectRunning("talker");
  PutObject("door.yaml", "Secret", "metadata: {name: door}\nstringData: {code: secret-3141\n");
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto info = node_->Info("pod-worker");
    return info.ok() && info->notes_size() == 1;
  }));
  for (const char* folder : {"/run", "/state", "/kubelet", "/log"})
    EXPECT_THAT(FilesWith("secret-3141", node_->dir() + folder), testing::IsEmpty());
  const std::vector<std::vector<std::string>> questions = {{"get", "pods", "-o", "json"},
                                                           {"describe", "pod", "talker-node-1"},
                                                           {"get", "events", "-o", "json"},
                                                           {"get", "processes", "-o", "json"}};
  for (const auto& words : questions) {
    const Node::Run run = node_->Ctl(words);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_EQ(run.output.find("secret-3141"), std::string::npos) << words[0] << " " << words[1];
  }
}

}  // namespace
}  // namespace splitlet::e2e
