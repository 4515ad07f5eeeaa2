/// Pods with a user namespace of their own, and what else a runtime's handler has to be able to:
/// what the runtime is asked for, what is on disk before it is asked, and the refusals.

#include <gmock/gmock.h>

#include "k8s.io/api/core/v1/security.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/objects/object_source.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string InWords(const google::protobuf::RepeatedPtrField<runtime::v1::IDMapping>& mappings) {
  std::string text;
  for (const auto& mapping : mappings)
    text += fmt::format("{}->{}+{} ", mapping.container_id(), mapping.host_id(), mapping.length());
  return text;
}

class UserNamespaces : public testing::Test, public TestNode {
 protected:
  UserNamespaces() {
    config.user_ids = IdPool{65536, 65536, 3};
    runtime.SetFeatures({.handlers = {{.user_namespaces = true}}});
    traced.on_sandbox = [this](const runtime::v1::PodSandboxConfig& made) {
      sandbox_ = made;
      sandboxes_.push_back(HostId(made.linux().security_context().namespace_options()));
    };
    traced.on_container = [this](const runtime::v1::ContainerConfig& made) {
      container_ = made;
      containers_.push_back(HostId(made.linux().security_context().namespace_options()));
    };
    Start();
  }
  static kube::Pod Isolated(const std::string& name = "web") {
    auto pod = TestPod{.name = name, .uid = "uid-" + name}.Make();
    pod.mutable_spec()->set_host_users(false);
    return pod;
  }
  /// 0: the host's users.
  static uint32_t HostId(const runtime::v1::NamespaceOption& options) {
    const auto& mapped = options.userns_options();
    return mapped.uids_size() == 0 ? 0 : mapped.uids(0).host_id();
  }
  void End(const kube::Pod& pod) {
    Remove(pod);
    RunFor(1min);
    EXPECT_EQ(Record(pod.metadata().uid())->state(), v1::FINISHED);
  }

  runtime::v1::PodSandboxConfig sandbox_;
  runtime::v1::ContainerConfig container_;
  std::vector<uint32_t> sandboxes_, containers_;  // first id on the host of each that was made
};

TEST_F(UserNamespaces, SandboxContainersAndMountsAreMappedAlike) {
  auto pod = Isolated();
  pod.mutable_spec()->mutable_containers(0)->mutable_security_context()->set_proc_mount("Unmasked");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  const std::string want = "0->65536+65536 ";
  const auto& of_sandbox = sandbox_.linux().security_context().namespace_options().userns_options();
  const auto& security = container_.linux().security_context();
  const auto& of_container = security.namespace_options().userns_options();
  for (const auto* mapped : {&of_sandbox, &of_container}) {
    EXPECT_EQ(mapped->mode(), runtime::v1::POD);
    EXPECT_EQ(InWords(mapped->uids()), want);
    EXPECT_EQ(InWords(mapped->gids()), want);
  }
  ASSERT_EQ(container_.mounts_size(), 2) << "hosts file and termination log";
  for (const auto& mount : container_.mounts()) {
    EXPECT_EQ(InWords(mount.uid_mappings()), want);
    EXPECT_EQ(InWords(mount.gid_mappings()), want);
  }
  EXPECT_EQ(security.masked_paths_size() + security.readonly_paths_size(), 0);
}

TEST_F(UserNamespaces, APodWithTheHostsUsersHasNoMapping) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_host_users(true);
  ASSERT_TRUE(RunPod(pod).ok());
  const auto& options = sandbox_.linux().security_context().namespace_options().userns_options();
  EXPECT_EQ(options.mode(), runtime::v1::NODE);
  EXPECT_EQ(options.uids_size() + container_.mounts(0).uid_mappings_size(), 0);
}

TEST_F(UserNamespaces, EachPodHasItsOwnIdsOverRestartsAndUntilItsEnd) {
  const auto web = Isolated("web"), data = Isolated("data"), late = Isolated("late");
  ASSERT_TRUE(RunPod(web).ok());
  ASSERT_TRUE(RunPod(data).ok());
  EXPECT_THAT(sandboxes_, ElementsAre(65536, 131072));
  Restart();
  Exit("app", 1);
  RunFor(1min);
  EXPECT_THAT(sandboxes_, ElementsAre(65536, 131072)) << "no sandbox was made again";
  EXPECT_THAT(containers_, ElementsAre(65536, 131072, 65536)) << "the container was";
  End(data);
  Restart();
  ASSERT_TRUE(RunPod(late).ok());
  EXPECT_EQ(sandboxes_.back(), 131072u) << "of a pod that is over nobody holds ids";
  EXPECT_EQ(Record("uid-web")->state(), v1::SYNCING);
}

TEST_F(UserNamespaces, NothingRunsWithIdsThatAreNotOnDisk) {
  int saves = 1;  // that of the grant
  files.SetHook([&saves](std::string_view operation, const std::string& path) {
    const bool worker = path.starts_with("/run/pod-worker/workers/");
    return operation == "replace" && worker && saves-- <= 0 ? ErrnoStatus(ENOSPC) : OkStatus();
  });
  ASSERT_TRUE(RunPod(Isolated()).ok());
  RunFor(10s);
  EXPECT_EQ(Show(), "");
  EXPECT_LT(saves, 0) << "it was tried";
  saves = 100;
  RunFor(10s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(UserNamespaces, MorePodsThanRangesWaitForOne) {
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(RunPod(Isolated(name)).ok());
  EXPECT_EQ(Show("uid-d"), "");
  EXPECT_EQ(events.Text("FailedCreatePodSandBox"),
            "Failed to create pod sandbox: user namespace: could not find an empty slot to "
            "allocate a user namespace");
  RunFor(1min);
  EXPECT_EQ(events.Count("FailedCreatePodSandBox"), 1) << "said once";
  End(Isolated("b"));
  EXPECT_EQ(Show("uid-d"), "app/0=running sandbox/0=ready");
  EXPECT_EQ(sandboxes_.back(), 131072u);
}

TEST_F(UserNamespaces, ANodeWhoseIdsCannotBeUsedRunsEveryOtherPod) {
  Kill();
  config.user_ids = FailedPrecondition("mismatched subuids and subgids for user kubelet");
  Start();
  ASSERT_TRUE(RunPod(Isolated()).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_THAT(events.Text("FailedCreatePodSandBox"), HasSubstr("mismatched subuids"));
  ASSERT_TRUE(RunPod(TestPod{.name = "plain", .uid = "uid-plain"}.Make()).ok());
  EXPECT_EQ(Show("uid-plain"), "app/0=running sandbox/0=ready");
}

TEST_F(UserNamespaces, WhileIdsMayBeInAFileThatCannotBeReadNoneAreGiven) {
  ASSERT_TRUE(RunPod(Isolated()).ok());
  Kill();
  const auto found = files.List("/run/pod-worker/workers");
  ASSERT_TRUE(found.ok());
  for (const auto& entry : *found)
    ASSERT_TRUE(files.Replace("/run/pod-worker/workers/" + entry.name, "\xff", {}).ok());
  Start();
  ASSERT_TRUE(RunPod(Isolated("data")).ok());
  EXPECT_EQ(Show("uid-data"), "");
  EXPECT_THAT(events.Text("FailedCreatePodSandBox"), HasSubstr("whose file cannot be read"));
}

TEST_F(UserNamespaces, AHandlerWithoutThemIsRefusedAsAKubeletDoes) {
  runtime.SetFeatures({.handlers = {{}, {.name = "other", .user_namespaces = true}}});
  ASSERT_TRUE(RunPod(Isolated()).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_EQ(events.Text("FailedCreatePodSandBox"),
            "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not "
            "support user namespaces");
  runtime.SetFeatures({.handlers = {{.user_namespaces = true}}});
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready") << "it is tried again";
}

TEST_F(UserNamespaces, TheirSandboxesAreCountedApart) {
  const auto counted = [this](const std::string& name) {
    for (const auto& family : process->registry.Collect())
      if (family.name == name) return family.metric.at(0).counter.value;
    return -1.0;
  };
  const int fault = runtime.AddFault({.method = "RunPodSandbox", .code = StatusCode::kUnknown});
  ASSERT_TRUE(RunPod(Isolated()).ok());
  const double failed = counted("kubelet_started_user_namespaced_pods_errors_total");
  EXPECT_GE(failed, 1);
  EXPECT_EQ(counted("kubelet_started_pods_errors_total"), failed);
  runtime.RemoveFault(fault);
  RunFor(1min);
  ASSERT_TRUE(RunPod(TestPod{.name = "plain", .uid = "uid-plain"}.Make()).ok());
  const double isolated = counted("kubelet_started_user_namespaced_pods_total");
  EXPECT_GT(isolated, failed);
  EXPECT_EQ(counted("kubelet_started_pods_total"), isolated + 1);
}

class OneClass final : public ObjectSource {
 public:
  StatusOr<ObjectPtr<ConfigMap>> GetConfigMap(const ObjectName&) const override {
    return NotFound("none");
  }
  StatusOr<ObjectPtr<Secret>> GetSecret(const ObjectName&) const override {
    return NotFound("none");
  }
  StatusOr<ObjectPtr<RuntimeClass>> GetRuntimeClass(const std::string&) const override {
    auto made = std::make_shared<RuntimeClass>();
    made->set_handler("kata");
    return made;
  }
  StatusOr<ObjectPtr<Claim>> GetClaim(const ObjectName&) const override { return NotFound("none"); }
  StatusOr<ObjectPtr<PersistentVolume>> GetPersistentVolume(const std::string&) const override {
    return NotFound("none");
  }
  StatusOr<std::vector<ObjectPtr<Service>>> Services(const std::string&) const override {
    return std::vector<ObjectPtr<Service>>();
  }
};

TEST_F(UserNamespaces, TheHandlerOfTheClassDecides) {
  Kill();
  objects = [] { return std::make_shared<OneClass>(); };
  Start();
  auto pod = Isolated();
  pod.mutable_spec()->set_runtime_class_name("vm");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(events.Text("FailedCreatePodSandBox"),
            "Failed to create pod sandbox: can't set `spec.hostUsers: false`, RuntimeClass handler "
            "\"kata\" does not support user namespaces");
  runtime.SetFeatures({.handlers = {{}, {.name = "kata", .user_namespaces = true}}});
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

kube::Pod WithMount(const std::string& mode) {
  auto pod = TestPod{}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("data");
  volume.mutable_volume_source()->mutable_empty_dir();
  auto& mount = *pod.mutable_spec()->mutable_containers(0)->add_volume_mounts();
  mount.set_name("data");
  mount.set_mount_path("/data");
  mount.set_read_only(true);
  mount.set_recursive_read_only(mode);
  return pod;
}

TEST_F(UserNamespaces, ReadOnlyAllTheWayDownWhereTheHandlerCan) {
  const struct {
    const char* mode;
    bool can, want;
  } kCases[] = {{"Enabled", true, true},
                {"IfPossible", true, true},
                {"IfPossible", false, false},
                {"Disabled", true, false}};
  int64_t incarnation = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", c.mode, c.can));
    runtime.SetFeatures({.handlers = {{.recursive_read_only_mounts = c.can}}});
    container_.Clear();
    ASSERT_TRUE(RunPod(WithMount(c.mode), ++incarnation).ok());
    RunFor(2min);
    ASSERT_GT(container_.mounts_size(), 0);
    EXPECT_TRUE(container_.mounts(0).readonly());
    EXPECT_EQ(container_.mounts(0).recursive_read_only(), c.want);
  }
}

TEST_F(UserNamespaces, ReadOnlyAllTheWayDownIsRefusedWhereTheHandlerCannot) {
  runtime.SetFeatures({});
  ASSERT_TRUE(RunPod(WithMount("Enabled")).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("app").message(),
            "failed to resolve recursive read-only mode: volume \"data\" requested recursive "
            "read-only mode, but it is not supported by the runtime");
}

TEST_F(UserNamespaces, AProfileThatIsNotThereIsNamed) {
  auto pod = TestPod{}.Make();
  auto& seccomp = *pod.mutable_spec()->mutable_security_context()->mutable_seccomp_profile();
  seccomp.set_type("Localhost");
  seccomp.set_localhost_profile("tight.json");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_THAT(NoteOf("app").message(),
              HasSubstr("cannot load seccomp profile \"/kubelet/seccomp/tight.json\": "));
  ASSERT_TRUE(files.Replace("/kubelet/seccomp/tight.json", "{}", {}).ok());
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(container_.linux().security_context().seccomp().localhost_ref(),
            "/kubelet/seccomp/tight.json");
}

}  // namespace
}  // namespace splitlet::pod_worker
