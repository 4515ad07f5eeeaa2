#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/holds/hold.h"
#include "services/pod-worker/images/policy.h"
#include "services/pod-worker/images/pull_queue.h"
#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/runtime_config/names.h"
#include "services/pod-worker/sync/crash_backoff.h"
#include "services/pod-worker/worker/unsupported_fields.h"
#include "services/pod-worker/worker/worker_state.h"

namespace splitlet::pod_worker {
namespace {

TEST(Names, HashIsTheKubelets) {
  kube::Container container;
  container.set_name("test_container");
  container.set_image("foo/image:v1");
  EXPECT_EQ(ContainerHash(container), "8e45cbd0");
}

TEST(Names, LabelsAndAnnotationsAreTheKubelets) {
  kube::Pod pod = TestPod{}.Make();
  (*pod.mutable_metadata()->mutable_labels())["app"] = "web";
  (*pod.mutable_metadata()->mutable_labels())["io.kubernetes.pod.uid"] = "forged";
  auto& port = *pod.mutable_spec()->mutable_containers(0)->add_ports();
  port.set_name("http");
  port.set_container_port(80);
  port.set_protocol("TCP");
  EXPECT_EQ(SandboxLabels(pod), (cri::StringMap{{"app", "web"},
                                                {"io.kubernetes.pod.name", "web"},
                                                {"io.kubernetes.pod.namespace", "default"},
                                                {"io.kubernetes.pod.uid", "uid-web"}}));
  EXPECT_EQ(ContainerLabels(pod, "app").at("io.kubernetes.container.name"), "app");
  pod.mutable_spec()
      ->mutable_containers(0)
      ->mutable_lifecycle()
      ->mutable_pre_stop()
      ->mutable_sleep()
      ->set_seconds(5);
  const auto annotations = ContainerAnnotations(pod, pod.spec().containers(0), 7, 0);
  EXPECT_EQ(
      annotations,
      (cri::StringMap{{"io.kubernetes.container.hash", ContainerHash(pod.spec().containers(0))},
                      {"io.kubernetes.container.restartCount", "7"},
                      {"io.kubernetes.container.terminationMessagePath", "/dev/termination-log"},
                      {"io.kubernetes.container.terminationMessagePolicy", "File"},
                      {"io.kubernetes.container.ports",
                       R"([{"name":"http","containerPort":80,"protocol":"TCP"}])"},
                      {"io.kubernetes.container.preStopHandler", R"({"sleep":{"seconds":5}})"},
                      {"io.kubernetes.pod.terminationGracePeriod", "30"}}));
  EXPECT_EQ(PodLogDirectory("/var/log/pods", pod), "/var/log/pods/default_web_uid-web");
  EXPECT_EQ(ContainerLogPath("app", 3), "app/3.log");
  EXPECT_EQ(LogLinkName(pod, "app", "0123"), "web_default_app-0123.log");
  EXPECT_EQ(LogLinkName(pod, std::string(300, 'c'), "0").size(), 255u);
}

TEST(Names, RestartCountFollowsTheHighestLog) {
  EXPECT_EQ(RestartCountFromLogs({}), 0u);
  EXPECT_EQ(RestartCountFromLogs({"3.log", "2.log.gz", "x.log", "9.txt"}), 4u);
  EXPECT_EQ(RestartCountFromLogs({"4.log.20260101-000000"}), 5u);
}

TEST(CrashBackoff, DoublesAndStopsAtFiveMinutes) {
  FakeClock clock;
  CrashBackoff backoff(300s);
  int exit = 0;
  for (const Duration want : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    const CrashBackoff::Exit dead{std::to_string(++exit), 0s};
    EXPECT_EQ(backoff.WaitAfter("key", dead, clock.Now()).left, want);
    clock.Advance(want);
    EXPECT_EQ(backoff.WaitAfter("key", {dead.id, want}, clock.Now()).left, 0s);
    EXPECT_TRUE(backoff.Advance("key", {dead.id, want}, clock.Now()));
  }
}

TEST(CrashBackoff, TenGoodMinutesAreForgiven) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 0s}, clock.Now());
  backoff.Advance("key", {"2", 0s}, clock.Now());
  clock.Advance(660s);
  EXPECT_EQ(backoff.WaitAfter("key", {"3", 0s}, clock.Now()).left, 0s);
  backoff.Advance("key", {"3", 0s}, clock.Now());
  EXPECT_EQ(backoff.entries().at("key").delay, 10s);
}

TEST(CrashBackoff, AnExitAnsweredBeforeACrashIsNotWaitedForAgain) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 0s}, clock.Now());
  EXPECT_EQ(backoff.WaitAfter("key", {"1", 0s}, clock.Now()).left, 0s);
  EXPECT_FALSE(backoff.Advance("key", {"1", 0s}, clock.Now()));
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 10s);
}

TEST(CrashBackoff, AWallClockThatStaysBehindCannotLengthenAWait) {
  FakeClock clock;
  CrashBackoff backoff(5s);
  backoff.Advance("key", {"1", 0s}, clock.Now());
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 5s);
  clock.Advance(3s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 2s);
  clock.Advance(2s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 0s}, clock.Now()).left, 0s);
}

TEST(CrashBackoff, AWallClockThatRunsAheadCannotShortenAWait) {
  FakeClock clock;
  CrashBackoff backoff;
  backoff.Advance("key", {"1", 1h}, clock.Now());
  clock.Advance(2s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 1h}, clock.Now()).left, 8s)
      << "it cannot have ended before it was started";
  clock.Advance(8s);
  EXPECT_EQ(backoff.WaitAfter("key", {"2", 1h}, clock.Now()).left, 0s);
}

TEST(CrashBackoff, AnotherImageOrOtherResourcesAreAnotherKey) {
  kube::Pod pod = TestPod{}.Make();
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  const std::string before = BackoffKey(pod, container);
  (*container.mutable_resources()->mutable_limits())["cpu"].set_string("1");
  const std::string limited = BackoffKey(pod, container);
  container.set_image("other");
  EXPECT_NE(before, limited);
  EXPECT_NE(limited, BackoffKey(pod, container));
}

TEST(CrashBackoff, PrintsAsPeopleKnowIt) {
  EXPECT_EQ(FormatSeconds(10s), "10s");
  EXPECT_EQ(FormatSeconds(80s), "1m20s");
  EXPECT_EQ(FormatSeconds(300s), "5m0s");
  EXPECT_EQ(FormatMillis(850ms), "850ms");
  EXPECT_EQ(FormatMillis(1234ms), "1.234s");
  EXPECT_EQ(FormatMillis(123004ms), "2m3.004s");
  EXPECT_EQ(FormatMillis(2000ms), "2s");
}

TEST(Images, DefaultTag) {
  const std::string digest = "@sha256:" + std::string(64, 'a');
  const struct {
    const char* name;
    std::string image, want;  // empty: refused
  } kCases[] = {
      {"no tag is latest, the short name stays", "busybox", "busybox:latest"},
      {"a tag stays", "nginx:1.25", "nginx:1.25"},
      {"a digest stays", "nginx" + digest, "nginx" + digest},
      {"tag and digest stay", "nginx:1" + digest, "nginx:1" + digest},
      {"a port is no tag", "reg.example.com:5000/team/app", "reg.example.com:5000/team/app:latest"},
      {"upper case is refused", "Nginx", ""},
      {"an upper-case registry is one", "REG/team/app", "REG/team/app:latest"},
      {"an id is refused", std::string(64, 'a'), ""},
      {"an empty tag is refused", "nginx:", ""},
      {"a short digest is refused", "nginx@sha256:abc", ""},
      {"two dots are refused", "a..b", ""},
      {"nothing is refused", "", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto got = WithDefaultTag(c.image);
    EXPECT_EQ(got.ok() ? *got : "", c.want);
  }
  EXPECT_EQ(PullPolicyOf("", "busybox"), "Always");
  EXPECT_EQ(PullPolicyOf("", "busybox:latest"), "Always");
  EXPECT_EQ(PullPolicyOf("", "busybox:1"), "IfNotPresent");
  EXPECT_EQ(PullPolicyOf("", "nginx" + digest), "IfNotPresent");
  EXPECT_EQ(PullPolicyOf("Never", "busybox"), "Never");
}

TEST(Images, Decisions) {
  using Kind = ImageDecision::Kind;
  FakeClock clock;
  const StatusOr<std::optional<cri::Image>> absent = std::optional<cri::Image>();
  const StatusOr<std::optional<cri::Image>> present =
      std::optional<cri::Image>(cri::Image{.id = "sha256:1"});
  const StatusOr<std::optional<cri::Image>> broken = Unavailable("gone");
  PullMemory memory;
  const auto ask = [&](const char* policy, const StatusOr<std::optional<cri::Image>>* local) {
    return DecideImage({"img:1", policy, clock.Now()}, memory, local);
  };
  EXPECT_EQ(ask("Always", nullptr).kind, Kind::kPull);
  EXPECT_EQ(ask("IfNotPresent", &absent).kind, Kind::kPull);
  const auto use = ask("IfNotPresent", &present);
  EXPECT_EQ(use.kind, Kind::kUse);
  EXPECT_EQ(use.ref, "sha256:1");
  EXPECT_EQ(use.events.at(0).message,
            "Container image \"img:1\" already present on machine and can be accessed by the pod");
  EXPECT_EQ(ask("Never", &present).kind, Kind::kUse);
  const auto never = ask("Never", &absent);
  EXPECT_EQ(never.reason, "ErrImageNeverPull");
  EXPECT_EQ(never.message, "Container image \"img:1\" is not present with pull policy of Never");
  EXPECT_EQ(ask("IfNotPresent", &broken).reason, "ImageInspectError");
  const auto bad = DecideImage({"Nginx", "", clock.Now()}, memory, nullptr);
  EXPECT_EQ(bad.reason, "InvalidImageName");
  EXPECT_NE(bad.message.find("must be lowercase"), std::string::npos);
  EXPECT_EQ(bad.events.at(0).reason, "InspectFailed");
  memory.pulled_ref = "sha256:2";
  EXPECT_EQ(ask("Always", nullptr).ref, "sha256:2");
}

TEST(Images, BackOffAfterFailures) {
  FakeClock clock;
  Random random(1);
  PullMemory memory;
  const auto question = [&] { return ImageQuestion{"img:1", "Always", clock.Now()}; };
  const auto failed = PullFailed(question(), NotFound("no such image"), random, memory);
  EXPECT_EQ(failed.reason, "ErrImagePull");
  EXPECT_EQ(failed.message, "rpc error: code = NotFound desc = no such image");
  EXPECT_EQ(failed.events.at(1).message, "Error: ErrImagePull");
  const auto waiting = DecideImage(question(), memory, nullptr);
  EXPECT_EQ(waiting.reason, "ImagePullBackOff");
  EXPECT_EQ(waiting.message, "Back-off pulling image \"img:1\": ErrImagePull: " + failed.message);
  EXPECT_EQ(waiting.retry_at, clock.Now() + memory.wait);
  for (const Duration want : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    EXPECT_EQ(memory.delay, want);
    EXPECT_GE(memory.wait, want);
    EXPECT_LE(memory.wait, want * 12 / 10);
    clock.Advance(memory.wait);
    EXPECT_EQ(DecideImage(question(), memory, nullptr).kind, ImageDecision::Kind::kPull);
    PullFailed(question(), NotFound("no such image"), random, memory);
  }
  const auto special =
      PullFailed(question(), Unknown("RegistryUnavailable: timeout"), random, memory);
  EXPECT_EQ(special.reason, "RegistryUnavailable");
  EXPECT_EQ(special.message,
            "image pull failed for img:1 because the registry is unavailable: timeout");
}

TEST(Images, PodsThatFailedTogetherComeBackApart) {
  FakeClock clock;
  Random random(1);
  std::set<Duration> waits;
  for (int i = 0; i < 10; ++i) {
    PullMemory memory;
    PullFailed({"img:1", "Always", clock.Now()}, NotFound("no such image"), random, memory);
    waits.insert(memory.wait);
  }
  EXPECT_EQ(waits.size(), 10u);
}

std::string Take(PullQueue& queue, const std::string& unwanted = {}) {
  const auto pull = queue.TakeNext([&](const PullRequest& p) { return p.uid != unwanted; });
  return pull ? pull->uid : "";
}

TEST(PullQueue, TokensAreTakenAsPullsBegin) {
  FakeClock clock;
  PullQueue queue(clock, {.per_second = 5, .burst = 2});
  for (const char* uid : {"a", "b", "c", "d"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "a");
  EXPECT_EQ(Take(queue), "b");
  EXPECT_EQ(Take(queue), "");
  EXPECT_EQ(queue.NextIn(), 200ms);
  clock.Advance(200ms);
  EXPECT_EQ(Take(queue, "c"), "d") << "what nobody wants any more takes no token";
  EXPECT_FALSE(queue.NextIn());
  clock.Advance(10s);
  for (const char* uid : {"e", "f", "g"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "e");
  EXPECT_EQ(Take(queue), "f");
  EXPECT_EQ(Take(queue), "") << "time that passed gives no more than a burst";
}

TEST(PullQueue, NoMoreAtOnceThanAllowed) {
  FakeClock clock;
  PullQueue queue(clock, {.at_once = 2});
  for (const char* uid : {"a", "b", "c"}) queue.Add({.uid = uid});
  EXPECT_EQ(Take(queue), "a");
  EXPECT_EQ(Take(queue), "b");
  EXPECT_EQ(Take(queue), "");
  EXPECT_FALSE(queue.NextIn()) << "no time helps, only one that ends";
  queue.Done();
  EXPECT_EQ(Take(queue), "c");
}

TEST(WorkerState, OnlyForward) {
  using enum WorkerState;
  using enum WorkerEvent;
  EXPECT_EQ(Next(kSyncing, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kSyncing, kCompleted), kTerminating);
  EXPECT_EQ(Next(kSyncing, kAllStopped), kSyncing);
  EXPECT_EQ(Next(kTerminating, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kTerminating, kAllStopped), kTerminated);
  EXPECT_EQ(Next(kTerminated, kCleanedUp), kFinished);
  for (const auto event : {kEndRequested, kCompleted, kAllStopped, kCleanedUp})
    EXPECT_EQ(Next(kFinished, event), kFinished);
}

TEST(Grace, OnlyEverShortened) {
  const struct {
    const char* name;
    GraceQuestion question;
    int64_t want;
  } kCases[] = {
      {"the spec's without anything else", {.spec_seconds = 30}, 30},
      {"the deletion's before the spec's", {.deletion_seconds = 10, .spec_seconds = 30}, 10},
      {"deletion 0 is 1", {.deletion_seconds = 0, .spec_seconds = 30}, 1},
      {"a kill may ask for less", {.left_seconds = 20, .asked_seconds = 5, .spec_seconds = 30}, 5},
      {"a kill may not ask for more",
       {.left_seconds = 5, .asked_seconds = 20, .spec_seconds = 30},
       5},
      {"the smaller of both", {.deletion_seconds = 10, .asked_seconds = 4}, 4},
      {"an explicit wish above the spec counts", {.asked_seconds = 60, .spec_seconds = 30}, 60},
      {"nothing known", {}, 2},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(EffectiveGrace(c.question), c.want);
  }
  FakeClock clock;
  EXPECT_EQ(StopSeconds(clock.Now() + 10s, clock.Now(), false), 10);
  EXPECT_EQ(StopSeconds(clock.Now() + 9500ms, clock.Now(), false), 10);
  EXPECT_EQ(StopSeconds(clock.Now() - 10s, clock.Now(), false), 2);
  EXPECT_EQ(StopSeconds(clock.Now() + 9500ms, clock.Now(), true), 10);
  EXPECT_EQ(StopSeconds(clock.Now() + 500ms, clock.Now(), true), 1);
  EXPECT_EQ(StopSeconds(clock.Now() - 10s, clock.Now(), true), 0);
  EXPECT_EQ(RestartGrace(TestPod{.grace = 7}.Make()), 7);
}

TEST(StopOrder, SidecarsLastInReverse) {
  const kube::Pod pod =
      TestPod{.containers = {"a", "b"}, .inits = {"s1", "s2"}, .sidecars = {"s1", "s2"}}.Make();
  const auto seen = Observed({{.name = "a"},
                              {.name = "b", .state = Record::EXITED},
                              {.name = "s1"},
                              {.name = "s2", .state = Record::UNKNOWN}});
  std::vector<std::vector<std::string>> names;
  for (const auto& step : StopOrder(&pod, seen)) {
    names.emplace_back();
    for (const auto& stop : step) names.back().push_back(stop.name);
  }
  EXPECT_EQ(names, (std::vector<std::vector<std::string>>{{"a"}, {"s2"}, {"s1"}}));
  EXPECT_EQ(StopOrder(nullptr, seen).size(), 1u);
  EXPECT_TRUE(StopOrder(&pod, Observed({})).empty());
}

cri::Container Dead(const std::string& id, const std::string& uid, const std::string& name,
                    cri::ContainerState state = cri::ContainerState::kExited) {
  cri::Container container{.id = cri::ContainerId(id), .name = name, .state = state};
  container.labels["io.kubernetes.pod.uid"] = uid;
  return container;
}

TEST(Hold, NothingThatAPodStillNeeds) {
  const std::vector<cri::Container> containers{
      Dead("live-2", "live", "app"),
      Dead("live-1", "live", "app"),
      Dead("made", "live", "new", cri::ContainerState::kCreated),
      Dead("gone-1", "gone", "app"),
      Dead("gone-made", "gone", "new", cri::ContainerState::kCreated),
      Dead("busy-1", "busy", "app"),
      Dead("busy-0", "busy", "app"),
      Dead("done-1", "done", "app"),
      Dead("done-0", "done", "app")};
  const std::vector<cri::Sandbox> sandboxes{
      {.id = cri::SandboxId("live-new"), .pod_uid = "live"},
      {.id = cri::SandboxId("live-old"), .pod_uid = "live"},
      {.id = cri::SandboxId("gone-new"), .pod_uid = "gone"},
      {.id = cri::SandboxId("gone-ready"), .pod_uid = "gone", .state = cri::SandboxState::kReady}};
  const auto need = [](const std::string& uid) {
    if (uid == "live") return PodNeed::kNewest;
    if (uid == "busy") return PodNeed::kEverything;
    return uid == "done" ? PodNeed::kRemains : PodNeed::kNothing;
  };
  const HoldAnswer answer =
      ComputeHold({.uids = {"live", "gone", "done", "busy"},
                   .container_ids = {"live-2", "live-1", "made", "gone-1", "gone-made", "busy-0",
                                     "done-1", "done-0", "unknown"},
                   .sandbox_ids = {"live-new", "live-old", "gone-new", "gone-ready"}},
                  sandboxes, containers, need);
  EXPECT_EQ(answer.removable.uids, std::vector<std::string>{"gone"});
  EXPECT_EQ(answer.removable.container_ids,
            (std::vector<std::string>{"live-1", "gone-1", "gone-made", "done-0"}));
  EXPECT_EQ(answer.removable.sandbox_ids, (std::vector<std::string>{"live-old", "gone-new"}));
  EXPECT_EQ(answer.held_uids, (std::set<std::string>{"live", "gone", "done"}));
}

TEST(NotCarriedOut, NamesContainerAndField) {
  using Edit = void (*)(kube::PodSpec&);
  const struct {
    const char* name;
    Edit edit;
    const char* want;
  } kCases[] = {
      {"a pod that asks for nothing special", [](auto&) {}, ""},
      {"an empty lifecycle asks for nothing",
       [](auto& spec) { spec.mutable_containers(0)->mutable_lifecycle(); }, ""},
      {"one probe", [](auto& spec) { spec.mutable_containers(0)->mutable_readiness_probe(); },
       "container app: readinessProbe is not carried out by this version"},
      {"all of a container in one line",
       [](auto& spec) {
         auto& app = *spec.mutable_containers(0);
         app.mutable_liveness_probe();
         app.mutable_startup_probe();
         app.mutable_lifecycle()->mutable_post_start();
         app.mutable_lifecycle()->mutable_pre_stop();
         app.mutable_lifecycle()->set_stop_signal("SIGUSR1");
       },
       "container app: livenessProbe, startupProbe, lifecycle.postStart, lifecycle.preStop, "
       "lifecycle.stopSignal are not carried out by this version"},
      {"an init container and the pod itself",
       [](auto& spec) {
         spec.mutable_init_containers(0)->mutable_liveness_probe();
         spec.add_image_pull_secrets();
         spec.add_ephemeral_containers();
       },
       "init container side: livenessProbe; pod: imagePullSecrets, ephemeralContainers "
       "are not carried out by this version"},
      {"a rule that would restart the pod whole",
       [](auto& spec) {
         auto& app = *spec.mutable_containers(0);
         app.add_restart_policy_rules()->set_action("Restart");
         app.add_restart_policy_rules()->set_action("RestartAllContainers");
       },
       "container app: restartPolicyRules.action RestartAllContainers is not carried out by this "
       "version"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto pod = TestPod{.inits = {"side"}, .sidecars = {"side"}}.Make();
    c.edit(*pod.mutable_spec());
    EXPECT_EQ(NotCarriedOut(pod), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
