// A node with one pod with every feature is handed over from a kubelet's records to splitlet and
// back, on real containerd. No container restarts, splitlet maintains all of the pod, and a kubelet
// could adopt what it leaves. docs/takeover.md describes it for users.

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "libs/base/processes.h"
#include "libs/cgroup/tree.h"
#include "libs/cri/grpc_runtime.h"
#include "tests/e2e/fixture.h"
#include "tests/e2e/kubelet_pod.h"

namespace splitlet::e2e {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

constexpr const char* kTakeoverConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
syncFrequency: 10s
cgroupsPerQOS: true
cgroupRoot: {}
splitlet: {{objectsPath: {}}}
)";

/// From a manifest like that of `web`, with a UID that splitlet assigns.
constexpr const char* kFresh = R"(apiVersion: v1
kind: Pod
metadata:
  name: fresh
spec:
  terminationGracePeriodSeconds: 5
  volumes: [{name: data, emptyDir: {}}]
  containers:
  - name: app
    image: splitlet.local/busybox:1
    command: [/bin/sh, -c, "trap 'exit 0' TERM; while true; do sleep 0.2; done"]
    ports: [{containerPort: 8080}]
    resources: {requests: {cpu: 100m, memory: 16Mi}}
    volumeMounts: [{name: data, mountPath: /data}]
    lifecycle: {preStop: {exec: {command: [touch, /scratch/before-the-end]}}}
)";

class Takeover : public E2eTest {
 protected:
  void SetUp() override {
    E2eTest::SetUp();
    if (IsSkipped()) return;
    const auto layout = cgroup::ParseLayout(harness::ReadFile("/proc/self/mountinfo"));
    if (!layout.ok()) GTEST_SKIP() << layout.status();
    tree_ = std::make_unique<cgroup::Tree>(kernel_, *layout);
    root_ = {fmt::format("splitlet-takeover-{}", getpid())};
    PutWord("old");
    MakeNode(
        {.runtime_endpoint = Endpoint(),
         .config = fmt::format(kTakeoverConfig, cgroup::CgroupfsPath(root_), objects_.path())});
    fs::create_directories(scratch());
    pod_ = {.root = node_->dir() + "/kubelet",
            .log_root = node_->dir() + "/pods",
            .scratch = scratch(),
            .cgroup_root = cgroup::CgroupfsPath(root_)};
    ASSERT_TRUE(tree_->Make(Cgroup(pod_.uid)).ok());
    auto made = MakeKubeletPod(*view_, pod_);
    ASSERT_TRUE(made.ok()) << made.status();
    records_ = *std::move(made);
    node_->PutManifest("web.yaml", ManifestOf(pod_));
    ASSERT_TRUE(WaitFor(kSoon, [this] { return Inside("seen") == "old"; }));
  }
  void TearDown() override {
    const std::string in_memory = pod_.Volume("empty-dir", "quick");
    E2eTest::TearDown();
    if (tree_ == nullptr) return;
    umount2(in_memory.c_str(), MNT_DETACH);
    EXPECT_TRUE(tree_->Destroy(root_).ok());
  }

  void PutWord(const std::string& word) const {
    harness::WriteFile(objects_ / "settings.yaml",
                       fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n"
                                   "data: {{WORD: {}}}\n",
                                   word));
  }
  void Touch(const std::string& name) const { harness::WriteFile(scratch() + "/" + name, ""); }
  cgroup::Name Cgroup(const std::string& uid) const {
    return cgroup::PodName(root_, kube::QosClass::kBurstable, uid);
  }
  /// A file in the pod's emptyDir `data`.
  std::string Inside(const std::string& name) const {
    return harness::ReadFile(pod_.Volume("empty-dir", "data") + "/" + name);
  }
  /// Ids of the pod's running containers and sandboxes.
  std::set<std::string> Running() {
    std::set<std::string> ids;
    for (const auto& container : view_->RunningOf("web")) ids.insert(container.id.str());
    return ids;
  }
  bool IsUntouched() {
    const auto sandboxes = view_->ReadySandboxesOf("web");
    return sandboxes.size() == 1 && sandboxes[0].id == records_.sandbox &&
           Running() == std::set{records_.app.str(), records_.side.str()};
  }
  void ExpectUntouched() {
    EXPECT_TRUE(harness::HoldsFor(2s, [this] { return IsUntouched(); })) << view_->Describe();
  }
  bool IsReady(const std::string& name) {
    const auto pod = node_->Pod(name);
    return pod != nullptr && pod->ready;
  }
  void StartAll() {
    for (const auto& process : ProcessNames()) node_->StartProcess(process);
  }
  void StopAll() {
    for (const auto& process : ProcessNames()) node_->StopProcess(process);
  }
  /// The newest running container of this name.
  cri::Container Newest(const std::string& pod, const std::string& name) {
    for (const auto& container : view_->RunningOf(pod))
      if (container.name == name) return container;
    ADD_FAILURE() << "no " << name << " of " << pod << "; " << view_->Describe();
    return {};
  }
  /// A kubelet stops the pod at its start unless it finds its cgroup, with the container in it.
  void ExpectInCgroup(const std::string& uid, const cri::ContainerId& container) {
    cgroup::Name name = Cgroup(uid);
    EXPECT_EQ(tree_->Exists(name).value_or(false), true);
    name.push_back(container.str());
    EXPECT_EQ(tree_->Exists(name).value_or(false), true) << cgroup::CgroupfsPath(name);
  }
  void ExpectTended();
  void ExpectRestartedInPlace();
  void ExpectKubeletsRecords(const cri::Container& app, int attempt, const std::string& uid);

  const harness::TempDir objects_{"ob"};
  cgroup::RealKernel kernel_;
  std::unique_ptr<cgroup::Tree> tree_;
  cgroup::Name root_;
  KubeletPod pod_;
  KubeletPodRecords records_;
};

/// Probes, logs, volumes and counts, while the containers are the kubelet's.
void Takeover::ExpectTended() {
  const auto pod = node_->Pod("web");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->uid, pod_.uid);
  ASSERT_THAT(pod->containers, SizeIs(2));
  EXPECT_EQ(pod->containers[0].restarts, 2);
  EXPECT_EQ(pod->containers[1].restarts, 0);
  ASSERT_THAT(pod->init_containers, SizeIs(1));
  EXPECT_EQ(pod->init_containers[0].state, "terminated");

  EXPECT_FALSE(pod->ready) << "no probe has succeeded yet";
  Touch("ready");
  EXPECT_TRUE(WaitFor(kSoon, [this] { return IsReady("web"); }));

  const auto size = fs::file_size(pod_.LogOf("app", 2));
  EXPECT_TRUE(WaitFor(kSoon, [&] { return fs::file_size(pod_.LogOf("app", 2)) > size; }));
  PutWord("new");
  EXPECT_TRUE(WaitFor(kSoon, [this] { return Inside("seen") == "new"; }))
      << "the config map reaches the container";
  EXPECT_EQ(Inside("before"), "of the kubelet");
  EXPECT_EQ(harness::ReadFile(pod_.Volume("empty-dir", "quick") + "/before"), "of the kubelet");
  EXPECT_TRUE(IsUntouched()) << view_->Describe();
}

/// The next attempt of the container `app`, after its liveness probe has failed.
void Takeover::ExpectRestartedInPlace() {
  Touch("dead");
  ASSERT_TRUE(WaitFor(kSoon, [this] { return RestartsOf("web") >= 3; }));
  fs::remove(scratch() + "/dead");
  ASSERT_TRUE(WaitFor(kSoon, [this] {
    return view_->RunningOf("web").size() == 2 && node_->IsRunning("web") && IsReady("web");
  }));
  EXPECT_EQ(harness::ReadFile(scratch() + "/ended"), "bye\n");
  const auto app = Newest("web", "app");
  EXPECT_EQ(app.sandbox_id, records_.sandbox);
  EXPECT_EQ(Newest("web", "side").id, records_.side) << "the other one goes on";
  EXPECT_EQ(app.labels, LabelsOfApp(pod_));
  const int attempt = static_cast<int>(app.attempt);
  EXPECT_GE(attempt, 3);
  ExpectKubeletsRecords(app, attempt, pod_.uid);
  EXPECT_TRUE(fs::exists(pod_.LogOf("app", attempt)));
  EXPECT_EQ(Inside("before"), "of the kubelet");
  EXPECT_EQ(harness::ReadFile(pod_.Volume("empty-dir", "quick") + "/before"), "of the kubelet");
}

/// A container made by splitlet has the annotations, mounts and cgroup that a kubelet makes and
/// looks for.
void Takeover::ExpectKubeletsRecords(const cri::Container& app, int attempt,
                                     const std::string& uid) {
  auto annotations = app.annotations;
  std::erase_if(annotations, [](const auto& each) { return each.first.starts_with("splitlet."); });
  EXPECT_EQ(annotations, AnnotationsOfApp(attempt));
  const auto full = view_->runtime().ContainerStatus(app.id, After(view_->clock(), 30s));
  ASSERT_TRUE(full.ok()) << full.status();
  const std::string dir = pod_.root + "/pods/" + uid;
  std::map<std::string, std::string> mounts;
  for (const auto& mount : full->mounts) mounts[mount.container_path] = mount.host_path;
  EXPECT_EQ(mounts["/data"], dir + "/volumes/kubernetes.io~empty-dir/data");
  EXPECT_EQ(mounts["/etc/hosts"], dir + "/etc-hosts");
  EXPECT_THAT(mounts["/dev/termination-log"],
              testing::MatchesRegex(dir + "/containers/app/[0-9a-f]{8}"));
  EXPECT_TRUE(full->log_path.ends_with(fmt::format("_{}/app/{}.log", uid, attempt)))
      << full->log_path;
  ExpectInCgroup(uid, app.id);
}

TEST_F(Takeover, OfAKubeletsPodNothingRestartsAndAllOfItIsTendedToItsEnd) {
  ASSERT_TRUE(IsUntouched()) << view_->Describe();
  node_->Start();
  ExpectPhase("web", "Running");
  ASSERT_NO_FATAL_FAILURE(ExpectTended());
  ASSERT_NO_FATAL_FAILURE(ExpectRestartedInPlace());
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_TRUE(fs::exists(scratch() + "/before-the-end")) << "its preStop hook";
  EXPECT_EQ(harness::ReadFile(scratch() + "/ended"), "bye\nbye\n");
  EXPECT_TRUE(WaitFor(kSoon, [this] {
    return node_->RunGc(false).ok() && !fs::exists(pod_.Directory());
  })) << "the directory that the kubelet made";
  EXPECT_EQ(tree_->Exists(Cgroup(pod_.uid)).value_or(true), false) << "nor its cgroup";
}

TEST_F(Takeover, WhatIsGivenBackIsWhatAKubeletWouldAdopt) {
  Touch("ready");
  node_->Start();
  ExpectRunning("web");
  node_->PutManifest("fresh.yaml", kFresh);
  ExpectRunning("fresh");
  const std::string uid = node_->Pod("fresh")->uid;
  const auto fresh = Newest("fresh", "app");
  StopAll();
  ExpectUntouched();
  EXPECT_EQ(Newest("fresh", "app").id, fresh.id);

  ExpectKubeletsRecords(fresh, 0, uid);
  const auto sandbox = view_->ReadySandboxesOf("fresh").at(0);
  EXPECT_EQ(sandbox.attempt, 0U);
  EXPECT_EQ(sandbox.labels, (cri::StringMap{{"io.kubernetes.pod.name", "fresh-node-1"},
                                            {"io.kubernetes.pod.namespace", "default"},
                                            {"io.kubernetes.pod.uid", uid}}));
  EXPECT_EQ(sandbox.annotations.at("kubernetes.io/config.hash"), uid);
  EXPECT_EQ(sandbox.annotations.at("kubernetes.io/config.source"), "file");
  ExpectInCgroup(pod_.uid, records_.app);
  EXPECT_EQ(harness::ReadFile(pod_.Volume("configmap", "settings") + "/WORD"), "old");
  EXPECT_TRUE(fs::is_symlink(pod_.Volume("configmap", "settings") + "/..data"));
  for (const char* name : {"data", "quick", "wrapped_settings"})
    EXPECT_TRUE(fs::exists(
        fmt::format("{}/plugins/kubernetes.io~empty-dir/{}/ready", pod_.Directory(), name)));
}

/// The script for operators, with a fake systemd in this test: files record its requests and its
/// running units.
class TakeoverScript : public Takeover {
 protected:
  struct Ran {
    int code = -1;
    std::string output;
  };
  Ran RunScript(const std::vector<std::string>& arguments) {
    const std::string output = node_->LogOf("takeover");
    fs::remove(output);
    harness::Command command{.argv = {SourceScript()}, .env = Environment(), .output = output};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    std::atomic<int> code = -1;
    const std::jthread runner([&] { code = harness::RunToEnd(command, 120s); });
    EXPECT_TRUE(WaitFor(120s, [&] {
      Serve();
      return code >= 0;
    }));
    return {code, harness::ReadFile(output)};
  }
  static std::string SourceScript() { return harness::SourceDir() + "/deploy/systemd/takeover.sh"; }
  std::map<std::string, std::string> Environment() const {
    const std::string dir = scratch();
    return {{"CONFIG", node_->dir() + "/config.yaml"},
            {"ROOT_DIR", pod_.root},
            {"MANIFESTS", node_->manifests()},
            {"RUNTIME_ENDPOINT", Endpoint()},
            {"NODE_NAME", "node-1"},
            {"LIMIT", "60"},
            {"SETTLE", "2"},
            {"SPLITLET", harness::BinDir() + "/splitlet-config-source"},
            {"SPLITLETCTL", harness::BinDir() + "/splitletctl"},
            {"SPLITLET_STATE_DIR", node_->dir()},
            {"START_KUBELET", "touch " + dir + "/kubelet"},
            {"STOP_KUBELET", "rm -f " + dir + "/kubelet"},
            {"RUNS_KUBELET", "test -e " + dir + "/kubelet"},
            {"READY_KUBELET", "test -e " + dir + "/kubelet"},
            {"START_SPLITLET", "touch " + dir + "/start"},
            {"STOP_SPLITLET", "touch " + dir + "/stop"},
            {"RUNS_SPLITLET", "test -e " + dir + "/splitlet"}};
  }
  bool Take(const std::string& name) const { return fs::remove(scratch() + "/" + name); }
  void Serve() {
    if (Take("start")) {
      started_ ? StartAll() : node_->Start();
      started_ = true;
      Touch("splitlet");
    }
    if (Take("stop")) {
      StopAll();
      Take("splitlet");
    }
    if (harmful_kubelet_ && fs::exists(scratch() + "/kubelet")) {
      harmful_kubelet_ = false;
      EXPECT_TRUE(
          view_->runtime().StopContainer(records_.side, 0, After(view_->clock(), 30s)).ok());
    }
  }

  bool started_ = false, harmful_kubelet_ = false;
};

TEST_F(TakeoverScript, GoesThereAndBackAndUndoesWhatHurts) {
  const std::string manifest = node_->manifests() + "/web.yaml";
  std::string yaml = ManifestOf(pod_);
  const std::string uid = fmt::format("  uid: {}\n", pod_.uid);
  yaml.erase(yaml.find(uid), uid.size());
  harness::WriteFile(manifest, yaml);
  Touch("kubelet");
  Touch("ready");

  auto ran = RunScript({"check", "splitlet"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, testing::HasSubstr("takeover.sh pin"));
  ran = RunScript({"pin"});
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(harness::ReadFile(manifest),
              testing::HasSubstr(fmt::format("metadata:\n  uid: \"{}\"\n  name: web", pod_.uid)));
  ran = RunScript({"to", "splitlet"});
  ASSERT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, testing::HasSubstr("all 3 sandboxes and containers run on"));
  ExpectRunning("web");
  EXPECT_TRUE(IsUntouched()) << view_->Describe();
  EXPECT_EQ(RunScript({"to", "splitlet"}).code, 1) << "it runs already";

  harmful_kubelet_ = true;
  ran = RunScript({"to", "kubelet"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, testing::HasSubstr("the node is back with splitlet"));
  ASSERT_TRUE(WaitFor(kSoon, [this] { return view_->RunningOf("web").size() == 2; }));
  EXPECT_EQ(Newest("web", "app").id, records_.app);

  const auto before = Running();
  ran = RunScript({"to", "kubelet"});
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_FALSE(node_->Answers("pod-worker"));
  EXPECT_EQ(Running(), before);
}

}  // namespace
}  // namespace splitlet::e2e
