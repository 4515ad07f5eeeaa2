#include "services/pleg/events/unseen_events.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include "libs/cri/fake_runtime.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::pleg {
namespace {

using Kind = cri::ContainerEvent::Kind;

/// Inspections end immediately and change nothing.
class FakePods final : public InspectedPods {
 public:
  bool Contains(const std::string& uid) const override { return states.contains(uid); }
  void Add(const std::string& uid) override { states.try_emplace(uid); }
  const States* FindStates(const std::string& uid) const override {
    const auto at = states.find(uid);
    return at == states.end() ? nullptr : &at->second;
  }
  bool IsCurrent(const std::string& uid) const override { return states.contains(uid); }
  bool IsInspecting(const std::string&) const override { return false; }
  bool HasSandbox(const std::string&, const std::string& id) const override {
    return id == "sandbox";
  }
  void Inspect(const std::string& uid) override {
    ++inspections;
    on_inspected(uid);
  }

  std::map<std::string, States> states;
  std::function<void(const std::string& uid)> on_inspected;
  int inspections = 0;
};

struct EventsBench {
  EventsBench() {
    pods.states["web"] = {{"runs", ObjectState::kRunning}, {"sandbox", ObjectState::kRunning}};
    pods.on_inspected = [this](const std::string& uid) { events.Continue(uid); };
    events.OnStates("web", {}, pods.states["web"]);
  }
  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  cri::FakeRuntime runtime{clock, {}};
  prometheus::Registry registry;
  PlegMetrics metrics{registry};
  FakeLogSink sink;
  Log log{sink};
  PlegConfig config;
  FakePods pods;
  Lister lister{
      {.env = {.clock = clock, .loop = loop, .strands = strands, .log = log, .metrics = registry},
       .reader = runtime,
       .metrics = metrics,
       .config = config,
       .streaming = [] { return true; },
       .on_listed = [](Listing&, bool) {},
       .on_failed = [] {},
       .on_end = [] {}}};
  UnseenEvents events{{.loop = loop, .lister = lister, .pods = pods, .config = config}};
};

TEST(UnseenEvents, AnEventLeadsToInspectionsUnlessItIsShown) {
  const struct {
    const char* name;
    cri::ContainerEvent event;
    int at_once, in_all;
  } kCases[] = {
      {"a creation", {Kind::kCreated, "new", "web"}, 0, 0},
      {"a start that is shown", {Kind::kStarted, "runs", "web"}, 0, 0},
      {"a start that is not shown", {Kind::kStarted, "new", "web"}, 1, 10},
      {"an exit whose pod is known by the id", {Kind::kStopped, "runs", ""}, 1, 10},
      {"the end of a sandbox, which shows late", {Kind::kStopped, "sandbox", ""}, 0, 4},
      {"the same with its pod", {Kind::kStopped, "sandbox", "web"}, 1, 10},
      {"an announced exit", {Kind::kStopping, "runs", "web"}, 0, 4},
      {"a removal that is shown", {Kind::kDeleted, "old", "web"}, 0, 0},
      {"a removal in a pod that is not known", {Kind::kDeleted, "old", "db"}, 0, 0},
      {"a start in a pod that is not known", {Kind::kStarted, "new", "db"}, 1, 10},
      {"an exit of an id that no pod has", {Kind::kStopped, "unknown", ""}, 0, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EventsBench test;
    test.events.OnContainerEvent(c.event);
    EXPECT_EQ(test.pods.inspections, c.at_once);
    test.loop.Advance(3s);
    EXPECT_EQ(test.pods.inspections, c.in_all);
    EXPECT_FALSE(test.events.IsWaiting("web"));
    EXPECT_FALSE(test.events.IsWaiting("db"));
  }
}

TEST(UnseenEvents, TheWaitsEndWhenTheEventIsShown) {
  EventsBench test;
  test.events.OnContainerEvent({Kind::kStopped, "runs", "web"});
  test.loop.Advance(10ms);
  EXPECT_EQ(test.pods.inspections, 2);
  EXPECT_TRUE(test.events.IsWaiting("web"));
  test.pods.states["web"]["runs"] = ObjectState::kExited;
  test.loop.Advance(3s);
  EXPECT_EQ(test.pods.inspections, 3);
}

TEST(UnseenEvents, NoMoreIdsThatNoPodHasAreRememberedThanTheBound) {
  EventsBench test;
  const auto id_of = [](size_t i) { return fmt::format("id{}", i); };
  for (size_t i = 0; i <= UnseenEvents::kMaxUnknownIds; ++i)
    test.events.OnContainerEvent({Kind::kStopped, id_of(i), ""});
  const auto waits = [&test](const std::string& uid, const std::string& id) {
    test.pods.states[uid] = {{id, ObjectState::kRunning}};
    test.events.AdoptIds(uid, test.pods.states[uid]);
    test.events.Continue(uid);
    return test.events.IsWaiting(uid);
  };
  EXPECT_TRUE(waits("first", id_of(0)));
  EXPECT_TRUE(waits("last", id_of(UnseenEvents::kMaxUnknownIds - 1)));
  EXPECT_FALSE(waits("beyond", id_of(UnseenEvents::kMaxUnknownIds)));
}

}  // namespace
}  // namespace splitlet::pleg
