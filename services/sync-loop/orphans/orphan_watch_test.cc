#include "services/sync-loop/orphans/orphan_watch.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace splitlet::sync_loop {
namespace {

using Worker = WorkerDigest::State;
using Keys = std::vector<std::string>;

const OrphanOptions kOptions{.node_annotation = "state-1/n1"};
const OrphanOptions kKillAll{.node_annotation = "state-1/n1", .kill_unmanaged = true};

RuntimeDigest Running(const std::string& annotation) {
  RuntimeDigest pod;
  pod.sandboxes = {{"s2", annotation}, {"s1", annotation}, {"other", "state-2/n1"}};
  pod.running = true;
  return pod;
}

TEST(OrphanWatch, APodIsASuspectWhenItRunsAndNoRecordExplainsIt) {
  const RuntimeDigest ours = Running("state-1/n1"), unmanaged = Running("");
  RuntimeDigest stopped = ours, uninspected = ours;
  stopped.running = false;
  uninspected.inspected = false;
  const WorkerDigest syncing{.state = Worker::kSyncing, .incarnation = 3},
      ending{.state = Worker::kTerminating, .incarnation = 3},
      finished{.state = Worker::kFinished, .incarnation = 3},
      unknown{.state = Worker::kUnknown, .incarnation = 3};
  const Suspect without_worker{.key = "a", .incarnation = 0, .sandboxes = {"s1", "s2"}};
  const Suspect of_worker{.key = "a", .incarnation = 3, .sandboxes = {}};
  const struct {
    const char* name;
    OrphanInput input;
    std::optional<Suspect> want;
  } kCases[] = {
      {"it runs without a record", {.runtime = &ours}, without_worker},
      {"a source wants it", {.desired = true, .runtime = &ours}, std::nullopt},
      {"its admission cannot be read", {.unreadable = true, .runtime = &ours}, std::nullopt},
      {"pleg does not vouch for it", {.vouched = false, .runtime = &ours}, std::nullopt},
      {"its inspection failed", {.runtime = &uninspected}, std::nullopt},
      {"nothing of it runs", {.runtime = &stopped}, std::nullopt},
      {"another program made it", {.runtime = &unmanaged}, std::nullopt},
      {"the runtime does not show it", {}, std::nullopt},
      {"its worker syncs, and no source wants it", {.worker = &syncing}, of_worker},
      {"its worker syncs, whatever the runtime shows",
       {.unreadable = true, .vouched = false, .worker = &syncing, .runtime = &stopped},
       of_worker},
      {"a source wants the pod of the worker",
       {.desired = true, .worker = &syncing, .runtime = &ours},
       std::nullopt},
      {"its worker ends it already", {.worker = &ending, .runtime = &ours}, std::nullopt},
      {"its worker has ended it", {.worker = &finished, .runtime = &ours}, std::nullopt},
      {"the record of its worker cannot be parsed",
       {.worker = &unknown, .runtime = &ours},
       std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ComputeSuspect("a", c.input, kOptions), c.want);
  }
}

TEST(OrphanWatch, KillUnmanagedTakesEverySandbox) {
  const RuntimeDigest unmanaged = Running("");
  const auto suspect = ComputeSuspect("a", {.runtime = &unmanaged}, kKillAll);
  ASSERT_TRUE(suspect.has_value());
  EXPECT_EQ(suspect->sandboxes, (Keys{"other", "s1", "s2"}));
}

TEST(OrphanWatch, APodIsUnmanagedWhenNoSandboxOfItIsOurs) {
  const RuntimeDigest ours = Running("state-1/n1"), unmanaged = Running("");
  RuntimeDigest empty = unmanaged, stopped = unmanaged;
  empty.sandboxes.clear();
  stopped.running = false;
  const WorkerDigest worker{.state = Worker::kFinished};
  const struct {
    const char* name;
    OrphanInput input;
    OrphanOptions options;
    bool want;
  } kCases[] = {
      {"another program made it", {.runtime = &unmanaged}, kOptions, true},
      {"another program made it, and it has stopped", {.runtime = &stopped}, kOptions, true},
      {"one of its sandboxes is ours", {.runtime = &ours}, kOptions, false},
      {"it has no sandbox", {.runtime = &empty}, kOptions, false},
      {"the runtime does not show it", {}, kOptions, false},
      {"a source wants it", {.desired = true, .runtime = &unmanaged}, kOptions, false},
      {"it has a worker", {.worker = &worker, .runtime = &unmanaged}, kOptions, false},
      {"it may be killed", {.runtime = &unmanaged}, kKillAll, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(IsUnmanaged(c.input, c.options), c.want);
  }
}

/// Passes of a watch; the keys that each one makes certain.
class Passes {
 public:
  Keys Pass(Duration after, const std::vector<Suspect>& suspects) {
    clock_.Advance(after);
    Keys keys;
    for (const auto& certain : watch_.Pass(suspects, clock_.Now())) keys.push_back(certain.key);
    return keys;
  }
  OrphanWatch& watch() { return watch_; }

 private:
  FakeClock clock_;
  OrphanWatch watch_;
};

TEST(OrphanWatch, ASuspectIsCertainInTheSecondPassAndNotBefore) {
  const Suspect a{.key = "a", .incarnation = 0, .sandboxes = {"s1"}}, b{.key = "b"};
  Passes passes;
  EXPECT_EQ(passes.Pass(0s, {a}), Keys{});
  EXPECT_EQ(passes.Pass(kBetweenPasses - 1ms, {a}), Keys{}) << "too early";
  EXPECT_EQ(passes.Pass(1ms, {a, b}), Keys{"a"});
  EXPECT_EQ(passes.Pass(kBetweenPasses, {a, b}), (Keys{"a", "b"})) << "until it is killed";
}

TEST(OrphanWatch, ASuspectThatChangesStartsAgain) {
  const Suspect first{.key = "a", .incarnation = 0, .sandboxes = {"s1"}};
  Suspect other_sandbox = first, of_worker = first;
  other_sandbox.sandboxes = {"s2"};
  of_worker.incarnation = 1;
  for (const Suspect& changed : {other_sandbox, of_worker}) {
    Passes passes;
    EXPECT_EQ(passes.Pass(0s, {first}), Keys{});
    EXPECT_EQ(passes.Pass(kBetweenPasses, {changed}), Keys{});
    EXPECT_EQ(passes.Pass(kBetweenPasses, {changed}), Keys{"a"});
  }
}

TEST(OrphanWatch, APassWithoutTheSuspectAResetOrAKillStartsItAgain) {
  const Suspect a{.key = "a"}, b{.key = "b"};
  Passes missing, reset, killed;
  for (Passes* passes : {&missing, &reset, &killed}) EXPECT_EQ(passes->Pass(0s, {a, b}), Keys{});
  EXPECT_EQ(missing.Pass(kBetweenPasses, {b}), Keys{"b"});
  EXPECT_EQ(missing.Pass(kBetweenPasses, {a, b}), Keys{"b"});
  reset.watch().Reset();
  EXPECT_EQ(reset.Pass(kBetweenPasses, {a, b}), Keys{});
  killed.watch().Restart("a");
  EXPECT_EQ(killed.Pass(kBetweenPasses, {a, b}), Keys{"b"});
}

}  // namespace
}  // namespace splitlet::sync_loop
