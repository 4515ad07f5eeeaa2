#include <fmt/ranges.h>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/fs/group_of.h"
#include "libs/fs/real_file_system.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/objects/folder_objects.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

/// Pods that name API objects, and the folder that these come from.

namespace splitlet::pod_worker {
namespace {

std::string MapOf(const std::string& name, const std::string& value) {
  return fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\ndata: {{K: {}}}\n",
                     name, value);
}

class Objects : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files.MakeDirs("/objects", 0700).ok());
    objects = [this] { return folder_->View(); };
    Start();
    folder_ = std::make_unique<FolderObjects>(
        FolderObjects::Deps{process->loop, process->strands, files,
                            std::make_unique<fs::FakeFileWatcher>(files), Log(sink)},
        "/objects");
    Call([this] {
      folder_->Start([this] {
        ++changes_;
        service().OnObjectsChanged();
      });
    });
  }
  void TearDown() override {
    folder_.reset();
    Kill();
  }
  void Put(const std::string& name, const std::string& text) {
    ASSERT_TRUE(files.Replace("/objects/" + name, text, {}).ok());
    Settle();
  }
  /// The value of K of the config map, or the error.
  std::string ValueOf(const std::string& name) {
    const auto found = folder_->View()->GetConfigMap({"default", name});
    if (!found.ok()) return std::string(Message(found.status()));
    return (*found)->data().at("K");
  }
  static kube::Pod PodThatNames(const std::string& name) {
    auto pod = TestPod{}.Make();
    auto& variable = *pod.mutable_spec()->mutable_containers(0)->add_env();
    variable.set_name("V");
    auto& selector = *variable.mutable_value_from()->mutable_config_map_key_ref();
    selector.mutable_local_object_reference()->set_name(name);
    selector.set_key("K");
    return pod;
  }

  std::unique_ptr<FolderObjects> folder_;
  int changes_ = 0;
};

TEST_F(Objects, APodWaitsForWhatItNamesAndRunsWhenItComes) {
  ASSERT_TRUE(RunPod(PodThatNames("settings")).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("app").message(), "configmap \"settings\" not found");
  Put("settings.yaml", MapOf("settings", "blue"));
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Objects, AVolumeWaitsForItsObjectFollowsItAndGoesWithThePod) {
  auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}]", {"v"});
  (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(events.Text("FailedMount"),
            "MountVolume.SetUp failed for volume \"v\" : configmap \"settings\" not found");
  EXPECT_EQ(Show(), "");
  Put("settings.yaml", MapOf("settings", "blue"));
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  const std::string dir = "/kubelet/pods/uid-web/volumes/kubernetes.io~configmap/v";
  EXPECT_EQ(files.Read(dir + "/K", 10).value_or(""), "blue");
  Put("settings.yaml", MapOf("settings", "red"));
  EXPECT_EQ(files.Read(dir + "/K", 10).value_or(""), "red") << "immediately";
  ASSERT_TRUE(files.Remove("/objects/settings.yaml").ok());
  Settle();
  EXPECT_EQ(files.Read(dir + "/K", 10).value_or(""), "red") << "it keeps what it had";
}

/// What keeps a pod from having all of its containers, and what it shows then.
const struct {
  const char* name;
  void (*hold)(kube::Pod& pod);
  const char* shown;
} kBeginnings[] = {
    {"an init container that waits for a key",
     [](kube::Pod& pod) {
       auto& init = *pod.mutable_spec()->add_init_containers() = pod.spec().containers(0);
       init.set_name("wait");
     },
     "sandbox/0=ready wait/0=running"},
    {"a sidecar that has not started",
     [](kube::Pod& pod) {
       auto& side = *pod.mutable_spec()->add_init_containers() = pod.spec().containers(0);
       side.set_name("side");
       side.set_restart_policy("Always");
       auto& probe = *side.mutable_startup_probe();
       probe.set_period_seconds(1);
       probe.set_timeout_seconds(1);
       probe.set_success_threshold(1);
       probe.set_failure_threshold(30);
       probe.mutable_handler()->mutable_exec()->add_command("check");
     },
     "sandbox/0=ready side/0=running"},
    {"a postStart hook before the other container",
     [](kube::Pod& pod) {
       auto& other = *pod.mutable_spec()->add_containers() = pod.spec().containers(0);
       other.set_name("other");
       pod.mutable_spec()
           ->mutable_containers(0)
           ->mutable_lifecycle()
           ->mutable_post_start()
           ->mutable_exec()
           ->add_command("hook");
     },
     "app/0=running sandbox/0=ready"},
};

TEST_F(Objects, AVolumeFollowsItsObjectWhileThePodBegins) {
  for (const auto& c : kBeginnings) {
    SCOPED_TRACE(c.name);
    process->calls.hold_exec = true;
    Put("settings.yaml", MapOf("settings", "blue"));
    auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}]", {"v"});
    (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
    const std::string uid = fmt::format("uid-{}", &c - kBeginnings);
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_metadata()->set_name(uid);
    c.hold(pod);
    ASSERT_TRUE(RunPod(pod).ok());
    ASSERT_EQ(Show(uid), c.shown);
    Put("settings.yaml", MapOf("settings", "go"));
    EXPECT_EQ(
        files.Read(fmt::format("/kubelet/pods/{}/volumes/kubernetes.io~configmap/v/K", uid), 10)
            .value_or(""),
        "go");
    EXPECT_EQ(Show(uid), c.shown);
  }
}

/// No mark says that its directory is ours.
TEST_F(Objects, AVolumeOfAPodTakenOverFromAKubeletFollowsItsObjectWithoutARestart) {
  auto pod = PodWithVolumes("[{name: v, configMap: {name: settings}}]", {"v"});
  (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
  Put("settings.yaml", MapOf("settings", "blue"));
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_TRUE(files.RemoveTree("/state/pods/uid-web").ok());
  Put("settings.yaml", MapOf("settings", "red"));
  EXPECT_EQ(
      files.Read("/kubelet/pods/uid-web/volumes/kubernetes.io~configmap/v/K", 10).value_or(""),
      "red");
  EXPECT_TRUE(files.Stat("/state/pods/uid-web/root", false).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

/// Otherwise a container that starts before the folder was read would lack its optional objects.
TEST_F(Objects, BeforeTheFirstLookNobodyKnows) {
  const FolderObjects fresh(
      FolderObjects::Deps{process->loop, process->strands, files,
                          std::make_unique<fs::FakeFileWatcher>(files), Log(sink)},
      "/objects");
  ASSERT_NE(fresh.View(), nullptr);
  EXPECT_EQ(fresh.View()->GetConfigMap({"default", "a"}).status().code(), StatusCode::kUnavailable);
}

TEST_F(Objects, TheFolderIsFollowed) {
  EXPECT_EQ(ValueOf("a"), "configmap \"a\" not found");
  Put("1.yaml", MapOf("a", "one"));
  EXPECT_EQ(ValueOf("a"), "one");
  Put("1.yaml", MapOf("a", "two"));
  EXPECT_EQ(ValueOf("a"), "two");
  Put("0.yaml", MapOf("a", "before"));
  EXPECT_EQ(ValueOf("a"), "before");
  EXPECT_EQ(folder_->Notes(),
            std::vector<std::string>{
                "/objects/1.yaml: ConfigMap default/a is ignored, an earlier file has it"});
  ASSERT_TRUE(files.Remove("/objects/0.yaml").ok());
  Settle();
  EXPECT_EQ(ValueOf("a"), "two");
  EXPECT_TRUE(folder_->Notes().empty());
  Put("notes.txt", "no manifest");
  Put(".1.yaml.swp", "neither");
  EXPECT_TRUE(folder_->Notes().empty());
}

TEST_F(Objects, NothingIsToldWhereNothingChanged) {
  Put("1.yaml", MapOf("a", "one"));
  const int before = changes_;
  RunFor(5min);
  EXPECT_EQ(changes_, before);
}

TEST_F(Objects, AFileThatBreaksKeepsWhatItSaid) {
  Put("1.yaml", MapOf("a", "one"));
  Put("1.yaml", "kind: [");
  EXPECT_EQ(ValueOf("a"), "one");
  ASSERT_EQ(folder_->Notes().size(), 1u);
  EXPECT_TRUE(folder_->Notes()[0].starts_with("/objects/1.yaml: ")) << folder_->Notes()[0];
  Put("2.yaml", MapOf("b", "two"));
  EXPECT_EQ(ValueOf("a") + ValueOf("b"), "onetwo");
  Put("1.yaml", MapOf("a", "three"));
  EXPECT_EQ(ValueOf("a"), "three");
  EXPECT_TRUE(folder_->Notes().empty());
}

TEST_F(Objects, AFolderThatCannotBeReadKeepsWhatItSaid) {
  Put("1.yaml", MapOf("a", "one"));
  files.SetHook([](std::string_view operation, const std::string& path) {
    return operation == "list" && path == "/objects" ? ErrnoStatus(EIO) : OkStatus();
  });
  RunFor(1min);
  EXPECT_EQ(ValueOf("a"), "one");
  EXPECT_EQ(folder_->Notes().size(), 1u);
  files.SetHook(nullptr);
  RunFor(1min);
  EXPECT_TRUE(folder_->Notes().empty());
}

TEST_F(Objects, AFileThatIsTooLongIsNamed) {
  Put("1.yaml", std::string(FolderObjects::kMaxFile + 1, ' '));
  ASSERT_EQ(folder_->Notes().size(), 1u);
  EXPECT_NE(folder_->Notes()[0].find("longer than"), std::string::npos);
}

TEST_F(Objects, TheHandlerOfARuntimeClassMakesTheSandbox) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_runtime_class_name("vm");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(events.Text("FailedCreatePodSandBox"),
            "Failed to create pod sandbox: runtimeclass.node.k8s.io \"vm\" not found");
  Put("vm.yaml",
      "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: vm}\nhandler: kata\n");
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Objects, TheOverheadOfARuntimeClassIsTheSandboxes) {
  const struct {
    const char *name, *of_class, *of_pod, *want;
  } kCases[] = {
      {"the class's where the pod names none", "{podFixed: {memory: 64Mi}}", "", "67108864"},
      {"the same in other words", "{podFixed: {memory: 64Mi}}", "65536Ki", "67108864"},
      {"another", "{podFixed: {memory: 64Mi}}", "32Mi",
       "Failed to create pod sandbox: pod rejected: Pod's Overhead doesn't match RuntimeClass's "
       "defined Overhead"},
      {"of another resource", "{podFixed: {cpu: 64Mi}}", "64Mi",
       "Failed to create pod sandbox: pod rejected: Pod's Overhead doesn't match RuntimeClass's "
       "defined Overhead"},
      {"of a class without any", "{}", "32Mi",
       "Failed to create pod sandbox: pod rejected: Pod Overhead set without corresponding "
       "RuntimeClass defined Overhead"},
  };
  int64_t memory = 0;
  traced.on_sandbox = [&memory](const runtime::v1::PodSandboxConfig& made) {
    memory = made.linux().overhead().memory_limit_in_bytes();
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const std::string name = fmt::format("pod-{}", &c - kCases);
    Put("vm.yaml",
        fmt::format("apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {{name: vm}}\n"
                    "handler: kata\noverhead: {}\n",
                    c.of_class));
    auto pod = TestPod{.name = name, .uid = name}.Make();
    pod.mutable_spec()->set_runtime_class_name("vm");
    if (*c.of_pod != '\0') (*pod.mutable_spec()->mutable_overhead())["memory"].set_string(c.of_pod);
    memory = 0;
    events.events.clear();
    ASSERT_TRUE(RunPod(pod).ok());
    EXPECT_EQ(memory > 0 ? std::to_string(memory) : events.Text("FailedCreatePodSandBox"), c.want);
  }
}

/// Its directory is one of the machine's, whose group the kernel tells.
TEST_F(Objects, ALocalVolumeThatAnotherPodHasWithAnotherGroupIsToldAndShared) {
  const std::string disk = testing::TempDir() + "local-disk";
  fs::RealFileSystem real;
  ASSERT_TRUE(real.MakeDirs(disk, 0755).ok());
  const auto theirs = fs::GroupOf(disk);
  ASSERT_TRUE(theirs.ok()) << theirs.status();
  const uint32_t group = theirs->group;
  ASSERT_TRUE(files.MakeDirs(disk, 0755).ok());
  Put("disk.yaml",
      "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {local: {path: " +
          disk +
          "}}\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
          "spec: {volumeName: disk}\n");
  const std::string place = "/volumes/kubernetes.io~local-volume/disk";
  const auto run = [&](const std::string& name, uint32_t wanted) {
    auto pod = PodWithVolumes("[{name: v, persistentVolumeClaim: {claimName: data}}]", {"v"});
    (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_uid("uid-" + name);
    pod.mutable_spec()->mutable_security_context()->set_fs_group(wanted);
    ASSERT_TRUE(RunPod(pod).ok());
    EXPECT_EQ(Show("uid-" + name), "app/0=running sandbox/0=ready");
    EXPECT_TRUE(mounts.mounted().contains("/kubelet/pods/uid-" + name + place));
  };
  run("first", group);
  ASSERT_TRUE(files
                  .Replace("/proc/self/mountinfo",
                           "40 1 8:1 / /kubelet/pods/uid-first" + place + " rw - ext4 /dev/a rw\n",
                           {})
                  .ok());
  run("same", group);
  EXPECT_EQ(events.Count("AlreadyMountedVolume"), 0);
  run("second", group + 1);
  EXPECT_EQ(events.Text("AlreadyMountedVolume"),
            fmt::format("The requested fsGroup is {}, but the volume disk has GID {}. The volume "
                        "may not be shareable.",
                        group + 1, group));
  EXPECT_EQ(events.Count("AlreadyMountedVolume"), 1);
  EXPECT_EQ(ownership.AccessOf(disk), (fs::GroupAccess{group, false}));
  ASSERT_TRUE(real.RemoveTree(disk).ok());
}

/// As a kubelet gives it, to the sandbox and to each container, whenever that is made.
TEST_F(Objects, TheGroupOfAPersistentVolumeIsOneOfThePodsGroups) {
  ASSERT_TRUE(files.MakeDirs("/srv/a", 0755).ok());
  Put("disk.yaml",
      "apiVersion: v1\nkind: PersistentVolume\n"
      "metadata: {name: disk, annotations: {pv.beta.kubernetes.io/gid: '1234'}}\n"
      "spec: {hostPath: {path: /srv/a}}\n---\n"
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"
      "spec: {volumeName: disk}\n");
  auto pod = PodWithVolumes("[{name: v, persistentVolumeClaim: {claimName: data}}]", {"v"});
  (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
  pod.mutable_spec()->mutable_security_context()->set_fs_group(7);
  std::vector<std::string> groups;
  const auto note = [&groups](const auto& asked) {
    const auto& given = asked.linux().security_context().supplemental_groups();
    groups.push_back(fmt::format("{}", fmt::join(given, " ")));
  };
  traced.on_sandbox = note;
  traced.on_container = note;
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  EXPECT_EQ(groups, (std::vector<std::string>{"7 1234", "7 1234", "7 1234"}));
}

}  // namespace
}  // namespace splitlet::pod_worker
