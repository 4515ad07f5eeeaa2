#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/api_objects/api_fixture.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"
#include "services/pod-worker/volumes/volumes_fixture.h"

/// Pods of an API server, and the objects there that they name.

namespace splitlet::pod_worker {
namespace {

constexpr const char* kToken =
    "[{name: v, projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: "
    "600}}]}}]";

class ApiObjects : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    api = &server;
    PutAccount(server, "app");
    Start();
  }
  void TearDown() override { Kill(); }

  static kube::Pod PodOfApi(const std::string& volumes, const std::string& name = "web") {
    auto pod = PodWithVolumes(
        volumes, volumes == "[]" ? std::vector<std::string>{} : std::vector<std::string>{"v"});
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_uid("uid-" + name);
    (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "api";
    pod.mutable_spec()->set_service_account_name("app");
    pod.mutable_spec()->set_enable_service_links(true);
    return pod;
  }
  /// A token is bound to a pod that is there.
  Status RunApiPod(const kube::Pod& pod) {
    server.Put(PathOf("pods", pod.metadata().name()), pod);
    return RunPod(pod);
  }
  std::string ReadFile(const std::string& name, const std::string& plugin = "projected",
                       const std::string& uid = "uid-web") {
    return files
        .Read(fmt::format("/kubelet/pods/{}/volumes/kubernetes.io~{}/v/{}", uid, plugin, name),
              1 << 20)
        .value_or("");
  }

  /// All lines of the log that an operator would read, one in a line.
  std::string Warnings() const {
    std::string found;
    for (const auto& line : sink.lines())
      if (line.level >= LogLevel::kWarn) found += line.message + "\n";
    return found;
  }
  /// A start of pod-worker that gets no answer to its lists of these.
  void StartWithoutAnswer(const std::string& path) {
    Kill();
    server.Inject({.prefix = path, .hang = true});
    Start();
  }

  fake_api::FakeApiServer server{clock, {.ticks = true}};
};

const char* const kRuns = "app/0=running sandbox/0=ready";

/// The grant's check, the references to objects and the first sync share one parsing; a sync that
/// has to wait and comes again is a second one.
TEST_F(ApiObjects, ThePodIsParsedAtMostTwiceFromItsGrantToItsSandbox) {
  const auto pod = PodOfApi("[]");
  server.Put(PathOf("pods", "web"), pod);
  Want(pod);
  std::optional<uint64_t> at_sandbox;
  traced.on_sandbox = [&](const auto&) { at_sandbox = kube::PodBytes::parses(); };
  const uint64_t at_grant = kube::PodBytes::parses();
  ASSERT_TRUE(Grant(pod).ok());
  RunFor(5s);
  ASSERT_TRUE(at_sandbox.has_value());
  EXPECT_LE(*at_sandbox - at_grant, 2u);
}

TEST_F(ApiObjects, APodWaitsForTheConfigMapItNamesAndRunsWhenItComes) {
  auto pod = PodOfApi("[]");
  auto& variable = *pod.mutable_spec()->mutable_containers(0)->add_env();
  variable.set_name("V");
  auto& selector = *variable.mutable_value_from()->mutable_config_map_key_ref();
  selector.mutable_local_object_reference()->set_name("settings");
  selector.set_key("K");
  ASSERT_TRUE(RunApiPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("app").message(), "configmap \"settings\" not found");
  std::string value;
  traced.on_container = [&value](const runtime::v1::ContainerConfig& made) {
    for (const auto& env : made.envs())
      if (env.key() == "V") value = env.value();
  };
  PutConfigMap(server, "settings", "blue");
  RunFor(10ms);
  EXPECT_EQ(Show(), kRuns) << "immediately";
  EXPECT_EQ(value, "blue");
}

TEST_F(ApiObjects, ServicesAreVariablesOnceTheyAreKnown) {
  Kill();
  server.SetAway(true);
  Start();
  ASSERT_TRUE(RunApiPod(PodOfApi("[]")).ok());
  EXPECT_EQ(NoteOf("app").message(),
            "services have not yet been read at least once, cannot construct envvars");
  Service service;
  service.mutable_spec()->set_cluster_ip("10.0.0.1");
  service.mutable_spec()->add_ports()->set_port(443);
  server.Put("/api/v1/namespaces/default/services/kubernetes", service);
  std::string host;
  traced.on_container = [&host](const runtime::v1::ContainerConfig& made) {
    for (const auto& env : made.envs())
      if (env.key() == "KUBERNETES_SERVICE_HOST") host = env.value();
  };
  server.SetAway(false);
  RunFor(1min);
  EXPECT_EQ(Show(), kRuns);
  EXPECT_EQ(host, "10.0.0.1");
}

TEST_F(ApiObjects, APodThatOnlyWaitsForTheFirstListOfServicesIsNoFailure) {
  StartWithoutAnswer("/api/v1/services");
  ASSERT_TRUE(RunApiPod(PodOfApi("[]")).ok());
  RunFor(9s);
  EXPECT_EQ(Show(), "");
  server.ClearFaults();
  RunFor(10ms);
  EXPECT_EQ(Show(), kRuns) << "the answer wakes it";
  EXPECT_EQ(Warnings(), "");
  EXPECT_EQ(events.Count("Failed"), 0);
}

TEST_F(ApiObjects, AFirstListOfServicesThatDoesNotComeIsReportedAfterTenSeconds) {
  StartWithoutAnswer("/api/v1/services");
  ASSERT_TRUE(RunApiPod(PodOfApi("[]")).ok());
  RunFor(9s);
  EXPECT_EQ(NoteOf("app").message(), "");
  RunFor(2s);
  EXPECT_EQ(NoteOf("app").message(),
            "services have not yet been read at least once, cannot construct envvars");
  EXPECT_EQ(Warnings(), "sync pod failed\n");
  server.ClearFaults();
  RunFor(10ms);
  EXPECT_EQ(Show(), kRuns) << "the answer wakes it";
}

TEST_F(ApiObjects, AStaticPodThatOnlyWaitsForTheFirstListOfRuntimeClassesIsNoFailure) {
  server.PutJson("/apis/node.k8s.io/v1/runtimeclasses/vm",
                 R"({"apiVersion":"node.k8s.io/v1","kind":"RuntimeClass",)"
                 R"("metadata":{"name":"vm"},"handler":"kata"})");
  StartWithoutAnswer("/apis/node.k8s.io/v1/runtimeclasses");
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_runtime_class_name("vm");
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(9s);
  EXPECT_EQ(Show(), "");
  server.ClearFaults();
  RunFor(10ms);
  EXPECT_EQ(Show(), kRuns) << "the answer wakes it";
  EXPECT_EQ(Warnings(), "");
  EXPECT_EQ(events.Count("FailedCreatePodSandBox"), 0);
}

TEST_F(ApiObjects, ASecretVolumeFollowsItsSecret) {
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, secret: {secretName: login}}]")).ok());
  EXPECT_EQ(events.Text("FailedMount"),
            "MountVolume.SetUp failed for volume \"v\" : secret \"login\" not found");
  PutSecret(server, "login", "b25l");
  RunFor(10ms);
  EXPECT_EQ(Show(), kRuns);
  EXPECT_EQ(ReadFile("K", "secret"), "one");
  PutSecret(server, "login", "dHdv");
  RunFor(10ms);
  EXPECT_EQ(ReadFile("K", "secret"), "two") << "immediately";
  server.Remove(PathOf("secrets", "login"));
  RunFor(3min);
  EXPECT_EQ(ReadFile("K", "secret"), "two") << "it keeps what it had";
  for (const auto& line : sink.lines())
    for (const auto& field : line.fields) EXPECT_EQ(field.value.find("two"), std::string::npos);
}

/// A node's authorizer knows of a pod a little later than the node does.
TEST_F(ApiObjects, ASecretThatIsRefusedForAMomentIsNoFailedMount) {
  PutSecret(server, "login", "b25l");
  server.Inject({.prefix = "/api/v1/namespaces/default/secrets", .times = 2, .code = 403});
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, secret: {secretName: login}}]")).ok());
  EXPECT_EQ(Show(), "") << "it waits";
  RunFor(1s);
  EXPECT_EQ(Show(), kRuns);
  EXPECT_EQ(events.Count("FailedMount"), 0);
}

TEST_F(ApiObjects, ASecretThatStaysRefusedIsToldWithinASecond) {
  PutSecret(server, "login", "b25l");
  server.Inject({.prefix = "/api/v1/namespaces/default/secrets", .code = 403});
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, secret: {secretName: login}}]")).ok());
  RunFor(700ms);
  EXPECT_EQ(events.Count("FailedMount"), 0);
  RunFor(300ms);
  EXPECT_EQ(events.Count("FailedMount"), 1);
  EXPECT_TRUE(events.Text("FailedMount")
                  .starts_with("MountVolume.SetUp failed for volume \"v\" : failed to sync secret "
                               "cache: list /api/v1/namespaces/default/secrets: "))
      << events.Text("FailedMount");
  server.ClearFaults();
  RunFor(1min);
  EXPECT_EQ(Show(), kRuns);
}

TEST_F(ApiObjects, OnlyPodsThatNameAnObjectAreLookedAt) {
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, configMap: {name: a, optional: true}}]")).ok());
  ASSERT_TRUE(
      RunApiPod(PodOfApi("[{name: v, configMap: {name: b, optional: true}}]", "other")).ok());
  const auto inode = [this](const std::string& uid) {
    return files.ReadSymlink("/kubelet/pods/" + uid + "/volumes/kubernetes.io~configmap/v/..data")
        .value_or("none");
  };
  const std::string before = inode("uid-other");
  PutConfigMap(server, "a", "one");
  RunFor(10ms);
  EXPECT_EQ(ReadFile("K", "configmap"), "one");
  EXPECT_EQ(inode("uid-other"), before);
}

TEST_F(ApiObjects, ATokenIsRenewedInTimeWithoutARestart) {
  ASSERT_TRUE(RunApiPod(PodOfApi(kToken)).ok());
  EXPECT_EQ(Show(), kRuns);
  const std::string first = ReadFile("token");
  EXPECT_FALSE(first.empty());
  RunFor(469s);
  EXPECT_EQ(ReadFile("token"), first);
  RunFor(105s);  // by the next resync
  EXPECT_NE(ReadFile("token"), first);
  EXPECT_EQ(Show(), kRuns);
  EXPECT_EQ(events.Count("FailedMount"), 0);
}

TEST_F(ApiObjects, ATokenIsRenewedInTimeUnderALongInitContainer) {
  auto pod = PodOfApi(kToken);
  auto& init = *pod.mutable_spec()->add_init_containers() = pod.spec().containers(0);
  init.set_name("wait");
  ASSERT_TRUE(RunApiPod(pod).ok());
  const std::string first = ReadFile("token");
  EXPECT_FALSE(first.empty());
  RunFor(469s);
  EXPECT_EQ(ReadFile("token"), first);
  RunFor(105s);  // by the next resync
  EXPECT_NE(ReadFile("token"), first);
  EXPECT_EQ(Show(), "sandbox/0=ready wait/0=running");
}

TEST_F(ApiObjects, WithoutANewTokenTheOneBeforeStays) {
  ASSERT_TRUE(RunApiPod(PodOfApi(kToken)).ok());
  const std::string first = ReadFile("token");
  server.SetAway(true);
  RunFor(590s);
  EXPECT_EQ(events.Count("FailedMount"), 0) << "it is good still";
  RunFor(2min);
  EXPECT_TRUE(events.Text("FailedMount")
                  .starts_with("MountVolume.SetUp failed for volume \"v\" : token "
                               "\"app\"/\"default\"/600/[] expired and refresh failed: "))
      << events.Text("FailedMount");
  EXPECT_EQ(ReadFile("token"), first);
  Exit("app", 1);
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  server.SetAway(false);
  RunFor(3min);
  EXPECT_NE(ReadFile("token"), first);
}

TEST_F(ApiObjects, ATokenThatCannotBeHadHoldsThePodBack) {
  server.Remove(PathOf("serviceaccounts", "app"));
  ASSERT_TRUE(RunApiPod(PodOfApi(kToken)).ok());
  EXPECT_EQ(Show(), "");
  EXPECT_TRUE(events.Text("FailedMount")
                  .starts_with("MountVolume.SetUp failed for volume \"v\" : failed to fetch "
                               "token: "))
      << events.Text("FailedMount");
  PutAccount(server, "app");
  RunFor(30s);
  EXPECT_EQ(Show(), kRuns);
}

TEST_F(ApiObjects, ATokenBelongsToThePodsUser) {
  auto pod = PodOfApi(kToken);
  pod.mutable_spec()->mutable_security_context()->set_run_as_user(1000);
  ASSERT_TRUE(RunApiPod(pod).ok());
  EXPECT_EQ(ownership.UserOf("/kubelet/pods/uid-web/volumes/kubernetes.io~projected/v/token"),
            1000u);
}

TEST_F(ApiObjects, AContainerStartsAgainWithoutTheServer) {
  PutConfigMap(server, "ca", "one");
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, projected: {sources: [{configMap: {name: ca}}, "
                                 "{serviceAccountToken: {path: token}}]}}]"))
                  .ok());
  EXPECT_EQ(Show(), kRuns);
  server.SetAway(true);
  Exit("app", 1);
  RunFor(15s);
  EXPECT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  EXPECT_FALSE(ReadFile("token").empty());
}

/// It knows nothing of what the pod names, then.
TEST_F(ApiObjects, WhatIsMountedIsEnoughAfterAStartWithoutTheServer) {
  PutConfigMap(server, "ca", "one");
  auto pod = PodOfApi(
      "[{name: v, projected: {sources: [{configMap: {name: ca}}, "
      "{serviceAccountToken: {path: token}}]}}]");
  ASSERT_TRUE(RunApiPod(pod).ok());
  const std::string token = ReadFile("token");
  server.SetAway(true);
  Restart();
  RunFor(3min);
  EXPECT_EQ(ReadFile("K"), "one");
  EXPECT_EQ(ReadFile("token"), token);
  EXPECT_EQ(Show(), kRuns);
  server.SetAway(false);
  RunFor(3min);
  EXPECT_NE(ReadFile("token"), token) << "tokens are in memory alone: another one";
}

TEST_F(ApiObjects, AClaimThatIsNotBoundHoldsThePodBack) {
  const std::string begin =
      "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to "
      "process volumes=[v]: error processing PVC default/data: ";
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, persistentVolumeClaim: {claimName: data}}]")).ok());
  EXPECT_TRUE(events.Text("FailedMount").starts_with(begin + "failed to fetch PVC from API server"))
      << events.Text("FailedMount");
  events.events.clear();
  Claim claim;
  claim.mutable_status()->set_phase("Pending");
  server.Put(PathOf("persistentvolumeclaims", "data"), claim);
  RunFor(15s);
  EXPECT_EQ(events.events.back().message, begin + "PVC is not bound");
  claim.mutable_spec()->set_volume_name("disk");
  claim.mutable_status()->set_phase("Bound");
  server.Put(PathOf("persistentvolumeclaims", "data"), claim);
  ASSERT_TRUE(server.Get(PathOf("persistentvolumeclaims", "data"), claim));
  PersistentVolume volume;
  volume.mutable_spec()->mutable_claim_ref()->set_uid(claim.metadata().uid());
  volume.mutable_spec()->mutable_persistent_volume_source()->mutable_host_path()->set_path("/srv");
  volume.mutable_spec()->add_access_modes("ReadWriteOncePod");
  server.Put("/api/v1/persistentvolumes/disk", volume);
  RunFor(30s);
  EXPECT_EQ(Show(), kRuns);

  const auto second = PodOfApi("[{name: v, persistentVolumeClaim: {claimName: data}}]", "second");
  events.events.clear();
  ASSERT_TRUE(RunApiPod(second).ok());
  EXPECT_EQ(
      events.Text("FailedMount"),
      "MountVolume.SetUp failed for volume \"disk\" : volume uses the ReadWriteOncePod access "
      "mode and is already in use by another pod");
  Remove(PodOfApi("[{name: v, persistentVolumeClaim: {claimName: data}}]"));
  RunFor(1min);
  EXPECT_EQ(Show("uid-second"), kRuns);
}

TEST_F(ApiObjects, AStaticPodHasTheNodesOwnAndDoesNotWait) {
  Kill();
  server.SetAway(true);
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), kRuns);
}

TEST_F(ApiObjects, NothingIsHeldForAPodThatIsOver) {
  const auto pod = PodOfApi("[{name: v, secret: {secretName: login}}]");
  PutSecret(server, "login", "b25l");
  ASSERT_TRUE(RunApiPod(pod).ok());
  Remove(pod);
  RunFor(1min);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  server.TakeSeen();
  RunFor(30min);
  EXPECT_EQ(TakeCount(server, "GET", "/api/v1/namespaces/default/secrets"), 0);
}

TEST_F(ApiObjects, VolumesOfAPodDeletedByForceStayWhileAContainerRuns) {
  const auto pod = PodOfApi("[{name: v, emptyDir: {medium: Memory}}]");
  ASSERT_TRUE(RunApiPod(pod).ok());
  ASSERT_EQ(mounts.mounted().size(), 1u);
  process->calls.hold = true;  // it ignores every signal
  Remove(pod);
  RunFor(1min);
  EXPECT_EQ(mounts.mounted().size(), 1u);
  EXPECT_NE(Record()->state(), v1::FINISHED);
  process->calls.hold = false;
  for (const auto& stopped : process->calls.stops) stopped(Unavailable("no answer"));
  RunFor(1min);
  EXPECT_TRUE(mounts.mounted().empty());
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(ApiObjects, WhatThisVersionDoesNotProjectIsSaid) {
  ASSERT_TRUE(RunApiPod(PodOfApi("[{name: v, projected: {sources: [{clusterTrustBundle: {name: b, "
                                 "path: p}}]}}]"))
                  .ok());
  EXPECT_EQ(events.Text("FailedMount"),
            "MountVolume.SetUp failed for volume \"v\" : ClusterTrustBundle projection is not "
            "supported in this version");
}

TEST_F(ApiObjects, AnImageThatCameWithAServiceAccountsTokenIsForItsPodsAlone) {
  constexpr const char* kPrivate = "reg.io/team/app:1";
  runtime.SetPull(kPrivate, {.login = "app:hunter2"});
  config.credential_providers = {
      {.name = "helper",
       .argv = {"/bin/helper"},
       .match_images = {"reg.io"},
       .api_version = "credentialprovider.kubelet.k8s.io/v1",
       .token = TokenAttributes{.audience = "reg.io", .require_account = true}}};
  std::vector<std::string> asked;
  run_program = [&asked](const process::Program& program) -> StatusOr<std::string> {
    asked.push_back(program.input);
    const bool is_app = program.input.find("\"team\":\"app\"") != std::string::npos;
    return fmt::format(R"({{"kind": "CredentialProviderResponse", "cacheKeyType": "Image",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "auth": {{"reg.io": {{"username": "{}", "password": "hunter2"}}}}}})",
                       is_app ? "app" : "other");
  };
  config.credential_providers[0].token->required_annotations = {"team"};
  for (const char* name : {"app", "other"})
    server.PutJson(PathOf("serviceaccounts", name),
                   fmt::format(R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":)"
                               R"({{"name":"{0}","namespace":"default","uid":"uid-of-{0}",)"
                               R"("annotations":{{"team":"{0}"}}}}}})",
                               name));
  Restart();
  const auto pod_of = [&](const std::string& name, const std::string& account,
                          const std::string& policy) {
    auto pod = PodOfApi("[]", name);
    pod.mutable_spec()->set_service_account_name(account);
    pod.mutable_spec()->mutable_containers(0)->set_image(kPrivate);
    pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy(policy);
    return pod;
  };
  ASSERT_TRUE(RunApiPod(pod_of("a", "app", "IfNotPresent")).ok());
  EXPECT_EQ(Show("uid-a"), kRuns);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_NE(asked[0].find("\"serviceAccountToken\":\""), std::string::npos);
  EXPECT_EQ(TakeCount(server, "POST", PathOf("serviceaccounts", "app/token")), 1);
  for (const char* policy : {"IfNotPresent", "Never"}) {
    const std::string name = std::string("b-") + (policy[0] == 'N' ? "never" : "present");
    ASSERT_TRUE(RunApiPod(pod_of(name, "app", policy)).ok());
    EXPECT_EQ(Show("uid-" + name), kRuns) << "of the same account";
  }
  EXPECT_EQ(runtime.Calls("PullImage"), 1u);
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(TakeCount(server, "POST", PathOf("serviceaccounts", "app/token")), 0)
      << "no pull, no token";
  ASSERT_TRUE(RunApiPod(pod_of("c", "other", "IfNotPresent")).ok());
  EXPECT_EQ(NoteOf("app", "uid-c").reason(), "ErrImagePull");
  EXPECT_EQ(asked.size(), 2u);
  for (const auto& line : sink.lines())
    for (const auto& field : line.fields)
      EXPECT_EQ(field.value.find("hunter2"), std::string::npos) << field.value;
}

}  // namespace
}  // namespace splitlet::pod_worker
