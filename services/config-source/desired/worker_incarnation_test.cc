#include "services/config-source/desired/worker_incarnation.h"

#include <gtest/gtest.h>

#include "splitlet/v1/records.pb.h"

namespace splitlet::config_source {
namespace {

constexpr uint64_t kBoot = 7;

v1::WorkerRecord Worker(v1::WorkerState state) {
  v1::WorkerRecord record;
  record.set_uid("u");
  record.set_incarnation(5);
  record.set_generation(6);
  record.set_state(state);
  record.set_source("file");
  return record;
}

v1::WorkerRecord Succeeded() {
  auto record = Worker(v1::FINISHED);
  record.mutable_terminal_status()->set_phase("Succeeded");
  return record;
}

v1::WorkerRecord Evicted(v1::WorkerState state, uint64_t shutdown_boot) {
  auto record = Worker(state);
  record.set_evicted(true);
  record.set_shutdown_boot(shutdown_boot);
  return record;
}

v1::WorkerRecord FromApi(v1::WorkerState state) {
  auto record = Worker(state);
  record.set_source("api");
  return record;
}

TEST(WorkerIncarnation, OfARecord) {
  using enum WorkerEnd;
  const struct {
    const char* name;
    v1::WorkerRecord record;
    std::optional<int64_t> withdrawn;
    bool finished;
    WorkerEnd end;
  } cases[] = {
      {"a working pod goes on", Worker(v1::SYNCING), {}, false, kNone},
      {"a pod that only the runtime has goes on",
       Worker(v1::WORKER_STATE_UNSPECIFIED),
       {},
       false,
       kNone},
      {"a working pod was not ended by its removal", Worker(v1::SYNCING), 5, false, kNone},
      {"a pod that is being ended was removed", Worker(v1::TERMINATING), {}, false, kRemoved},
      {"a finished pod was removed", Worker(v1::FINISHED), {}, true, kRemoved},
      {"a pod that succeeded ended by itself", Succeeded(), {}, true, kNone},
      {"a pod that succeeded and was removed has ended", Succeeded(), 5, true, kRemoved},
      {"a later incarnation than the removed one is not removed", Succeeded(), 4, true, kNone},
      {"an earlier incarnation than the removed one is removed", Succeeded(), 6, true, kRemoved},
      {"an evicted pod ended by itself", Evicted(v1::FINISHED, 0), {}, true, kNone},
      {"an API pod never begins again", FromApi(v1::FINISHED), {}, true, kNone},
      {"a removed API pod has ended", FromApi(v1::FINISHED), 5, true, kRemoved},
      {"a shutdown of an earlier boot resumes",
       Evicted(v1::FINISHED, kBoot - 1),
       {},
       true,
       kShutdown},
      {"a shutdown of this boot goes on", Evicted(v1::FINISHED, kBoot), {}, true, kNone},
      {"a pod that works again does not resume", Evicted(v1::SYNCING, kBoot - 1), {}, false, kNone},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto worker = WorkerIncarnationOf(&c.record, "u", c.withdrawn, kBoot);
    ASSERT_TRUE(worker);
    EXPECT_EQ(worker->incarnation, 5);
    EXPECT_EQ(worker->generation, 6);
    EXPECT_EQ(worker->finished, c.finished);
    EXPECT_EQ(worker->end, c.end);
  }
}

TEST(WorkerIncarnation, IsUnknown) {
  const auto known = Worker(v1::SYNCING);
  auto unreadable = known;
  unreadable.set_incarnation(0);
  EXPECT_TRUE(WorkerIncarnationOf(&known, "u", {}, kBoot));
  EXPECT_FALSE(WorkerIncarnationOf(nullptr, "u", {}, kBoot));
  EXPECT_FALSE(WorkerIncarnationOf(&known, "other", {}, kBoot));
  EXPECT_FALSE(WorkerIncarnationOf(&unreadable, "u", {}, kBoot));
}

}  // namespace
}  // namespace splitlet::config_source
