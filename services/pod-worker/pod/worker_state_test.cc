#include "services/pod-worker/pod/worker_state.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

TEST(WorkerState, OnlyForward) {
  using enum WorkerState;
  using enum WorkerEvent;
  EXPECT_EQ(Next(kSyncing, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kSyncing, kCompleted), kTerminating);
  EXPECT_EQ(Next(kSyncing, kAllStopped), kSyncing);
  EXPECT_EQ(Next(kTerminating, kEndRequested), kTerminating);
  EXPECT_EQ(Next(kTerminating, kAllStopped), kTerminated);
  EXPECT_EQ(Next(kTerminated, kTornDown), kFinished);
  for (const auto event : {kEndRequested, kCompleted, kAllStopped, kTornDown})
    EXPECT_EQ(Next(kFinished, event), kFinished);
}

}  // namespace
}  // namespace splitlet::pod_worker
