#include "libs/peers/worker_standing.h"

#include <gtest/gtest.h>

#include "splitlet/v1/records.pb.h"

namespace splitlet::peers {
namespace {

using enum WorkerStanding;

TEST(WorkerStanding, FollowsFromStateAndIncarnation) {
  const struct {
    const char* name;
    int64_t incarnation;
    int state;
    WorkerStanding want;
    bool no_worker;
  } kCases[] = {
      {"an incarnation without a state was only found", 7, v1::WORKER_STATE_UNSPECIFIED, kFound,
       true},
      {"a record with neither stands for files that cannot be read", 0,
       v1::WORKER_STATE_UNSPECIFIED, kUnreadable, false},
      {"a state of a later version is not known", 7, 99, kUnknown, false},
      {"a worker that syncs", 7, v1::SYNCING, kSyncing, false},
      {"a worker that ends its pod", 7, v1::TERMINATING, kTerminating, false},
      {"a worker that ends containers without a record has no incarnation", 0, v1::TERMINATING,
       kTerminating, false},
      {"a worker whose containers are stopped", 7, v1::TERMINATED, kTerminated, false},
      {"a worker at its end", 7, v1::FINISHED, kFinished, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    v1::WorkerRecord record;
    record.set_incarnation(c.incarnation);
    record.set_state(static_cast<v1::WorkerState>(c.state));
    EXPECT_EQ(ComputeWorkerStanding(record), c.want);
    EXPECT_EQ(ComputeWorkerStanding(true, &record), c.want);
    EXPECT_EQ(IsNoWorker(c.want), c.no_worker);
  }
}

TEST(WorkerStanding, WithoutAReadableRecord) {
  EXPECT_EQ(ComputeWorkerStanding(false, nullptr), kAbsent);
  EXPECT_TRUE(IsNoWorker(kAbsent));
  EXPECT_EQ(ComputeWorkerStanding(true, nullptr), kUnknown);
  EXPECT_FALSE(IsNoWorker(kUnknown));
}

}  // namespace
}  // namespace splitlet::peers
