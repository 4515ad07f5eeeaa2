#include "services/sync-loop/admission/load.h"

#include <gtest/gtest.h>

namespace splitlet::sync_loop {
namespace {

using Pod = PodDigest::State;
using Worker = WorkerDigest::State;

PodDigest PodAs(Pod state, int64_t incarnation = 5) {
  PodDigest pod;
  pod.state = state;
  pod.incarnation = incarnation;
  return pod;
}

PodDigest Ending(PodDigest pod) {
  pod.ending = true;
  return pod;
}

PodDigest Terminal(PodDigest pod) {
  pod.terminal = true;
  return pod;
}

WorkerDigest WorkerAs(Worker state, bool granted = true, int64_t incarnation = 5) {
  WorkerDigest worker;
  worker.state = state;
  worker.granted = granted;
  worker.incarnation = incarnation;
  return worker;
}

PodDigest Of(int64_t generation, PodDigest pod) {
  pod.generation = generation;
  return pod;
}

WorkerDigest Refusing(int64_t generation, WorkerDigest worker) {
  worker.refused_generation = generation;
  return worker;
}

constexpr Standing kNothing{};
constexpr Standing kCounts{.counts = true};
constexpr Standing kEnds{.counts = true, .ends = true};

const auto kWanted = PodAs(Pod::kWanted);
const auto kRemoved = PodAs(Pod::kRemoved);

const struct {
  const char* name;
  std::optional<PodDigest> pod;
  std::optional<WorkerDigest> worker;
  int64_t admitted = 0;
  Standing want;
  bool called = false;
  bool running = false;
} kStandings[] = {
    {"granted and running", kWanted, WorkerAs(Worker::kSyncing), 5, kCounts},
    {"granted, and its file is gone", kWanted, WorkerAs(Worker::kSyncing), 0, kCounts},
    {"granted, and no source wants the pod", std::nullopt, WorkerAs(Worker::kSyncing), 0, kCounts},
    {"removed, and its worker does not know yet", kRemoved, WorkerAs(Worker::kSyncing), 5, kEnds},
    {"deleted in the API", Ending(kWanted), WorkerAs(Worker::kSyncing), 5, kEnds},
    {"over in the API", Terminal(kWanted), WorkerAs(Worker::kSyncing), 5, kEnds},
    {"a later incarnation is wanted", PodAs(Pod::kWanted, 6), WorkerAs(Worker::kSyncing), 5, kEnds},
    {"an earlier incarnation is shown", PodAs(Pod::kRemoved, 4), WorkerAs(Worker::kSyncing), 5,
     kCounts},
    {"terminating", kWanted, WorkerAs(Worker::kTerminating), 5, kEnds},
    {"terminating, and no source wants it", std::nullopt, WorkerAs(Worker::kTerminating), 5, kEnds},
    {"terminated", kRemoved, WorkerAs(Worker::kTerminated), 5, kNothing},
    {"finished", kRemoved, WorkerAs(Worker::kFinished), 5, kNothing},
    {"finished by itself, and wanted still", kWanted, WorkerAs(Worker::kFinished), 5, kNothing},
    {"its worker is not understood", kWanted, WorkerAs(Worker::kUnknown), 5, kCounts},
    {"admitted, no worker yet", kWanted, std::nullopt, 5, kCounts},
    {"admitted, and found running without a grant", kWanted, WorkerAs(Worker::kSyncing, false), 5,
     kCounts},
    {"found running without a grant", kWanted, WorkerAs(Worker::kSyncing, false), 0, kNothing},
    {"admitted after an earlier incarnation", kWanted, WorkerAs(Worker::kFinished, true, 4), 5,
     kCounts},
    {"admitted in an earlier incarnation only", kWanted, std::nullopt, 4, kNothing},
    {"admitted, and removed before its grant", kRemoved, std::nullopt, 5, kNothing},
    {"the same, and a grant may be on its way", kRemoved, std::nullopt, 5, kEnds, true},
    {"admitted, deleted before its grant", Ending(kWanted), std::nullopt, 5, kNothing},
    {"its admission is left over", std::nullopt, std::nullopt, 5, kNothing},
    {"admitted, and its record is not understood", PodAs(Pod::kUnknown, 0), std::nullopt, 5,
     kCounts},
    {"not admitted", kWanted, std::nullopt, 0, kNothing},
    {"admitted, and its grant is refused whenever it comes", Of(7, kWanted),
     Refusing(7, WorkerAs(Worker::kSyncing, false)), 5, kNothing},
    {"the same, and it runs", Of(7, kWanted), Refusing(7, WorkerAs(Worker::kSyncing, false)), 5,
     kCounts, false, true},
    {"the same, and it has changed since", Of(8, kWanted),
     Refusing(7, WorkerAs(Worker::kSyncing, false)), 5, kCounts},
    {"granted, and its change is refused", Of(8, kWanted), Refusing(8, WorkerAs(Worker::kSyncing)),
     5, kCounts},
    {"admitted after an earlier incarnation that was refused", Of(7, kWanted),
     Refusing(7, WorkerAs(Worker::kFinished, false, 4)), 5, kCounts},
    {"the worker knows a later incarnation", kRemoved, WorkerAs(Worker::kFinished, true, 6), 5,
     kNothing},
};

TEST(Load, IsWhatIsGrantedAndNotTerminatedAndWhatIsAdmittedAndNotGranted) {
  for (const auto& c : kStandings) {
    SCOPED_TRACE(c.name);
    const Standing got = ComputeStanding({.pod = c.pod ? &*c.pod : nullptr,
                                          .worker = c.worker ? &*c.worker : nullptr,
                                          .admitted_incarnation = c.admitted,
                                          .called = c.called,
                                          .running = c.running});
    EXPECT_EQ(got.counts, c.want.counts);
    EXPECT_EQ(got.ends, c.want.ends);
  }
}

TEST(Load, WhatIsAwaitedIsAddedBesideWhatAnEarlierLifeHolds) {
  Allocation allocation;
  allocation.held.Set("web", {.amounts = {{"cpu", 300}}, .ports = {}});
  allocation.reserved.emplace_back("web", PodRequests{.amounts = {{"cpu", 500}}, .ports = {}});
  const NodeLoad sum = WithReserved(allocation.held, allocation);
  EXPECT_EQ(sum.Used("cpu"), 800);
  EXPECT_EQ(sum.pods(), 2u);
  EXPECT_EQ(allocation.held.Used("cpu"), 300);
}

}  // namespace
}  // namespace splitlet::sync_loop
