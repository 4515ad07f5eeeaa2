#include "services/pod-worker/control/requests.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

using enum WorkerState;

PodView NoWorker() { return {}; }
PodView Found(int64_t incarnation) { return {.worker = {}, .found = incarnation}; }
PodView With(PodView::OfWorker worker) { return {.worker = worker, .found = {}}; }

using enum GrantAction;

const struct {
  const char* name;
  PodView view;
  GrantNumber grant;
  GrantAction want;
} kGrants[] = {
    {"the first grant of an unknown pod", NoWorker(), {5, 1}, kBegin},
    {"of the incarnation whose containers are found", Found(5), {5, 1}, kBegin},
    {"of one before the incarnation that is found", Found(5), {4, 9}, kRefuseBelowFound},
    {"of one after the incarnation that is found", Found(5), {6, 1}, kEndFound},
    {"of an earlier incarnation", With({.incarnation = 5}), {4, 9}, kRefuseOver},
    {"of an incarnation that is finished",
     With({.incarnation = 5, .state = kFinished}),
     {5, 9},
     kRefuseOver},
    {"of the incarnation before the orphans that are ended",
     With({.incarnation = 5, .state = kTerminating, .orphan = true}),
     {5, 9},
     kRefuseOver},
    {"of the same generation", With({.incarnation = 5, .granted = 3}), {5, 3}, kAnswer},
    {"of a lower generation", With({.incarnation = 5, .granted = 3}), {5, 2}, kAnswer},
    {"of the same generation, of a pod that ends",
     With({.incarnation = 5, .state = kTerminating, .granted = 3}),
     {5, 3},
     kAnswer},
    {"of a higher generation", With({.incarnation = 5, .granted = 3}), {5, 4}, kUpdate},
    {"of a pod whose grant was refused", With({.incarnation = 5}), {5, 1}, kBegin},
    {"of a higher generation, of a pod that ends",
     With({.incarnation = 5, .state = kTerminating, .granted = 3}),
     {5, 4},
     kShorten},
    {"of a higher generation, of a pod that has ended",
     With({.incarnation = 5, .state = kTerminated, .granted = 3}),
     {5, 4},
     kShorten},
    {"of a later incarnation, of a pod that runs",
     With({.incarnation = 5, .granted = 3}),
     {6, 1},
     kWait},
    {"of a later incarnation after one that is finished",
     With({.incarnation = 5, .state = kFinished}),
     {6, 1},
     kBegin},
    {"of a later incarnation after one that is finished, and not on disk",
     With({.incarnation = 5, .state = kFinished, .saving = true}),
     {6, 1},
     kWait},
    {"of any incarnation after orphans without one",
     With({.state = kTerminating, .orphan = true}),
     {6, 1},
     kWait},
    {"as new as the one that waits",
     With({.incarnation = 5, .state = kTerminating, .next = GrantNumber{6, 2}}),
     {6, 2},
     kAnswerWaiting},
    {"older than the one that waits",
     With({.incarnation = 5, .state = kTerminating, .next = GrantNumber{7, 1}}),
     {6, 9},
     kAnswerWaiting},
    {"newer than the one that waits",
     With({.incarnation = 5, .state = kTerminating, .next = GrantNumber{6, 2}}),
     {6, 3},
     kWait},
};
TEST(DecideGrant, EveryAction) {
  for (const auto& c : kGrants) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DecideGrant(c.view, c.grant), c.want);
  }
}

TEST(DecideKill, EveryAction) {
  using enum KillAction;
  const struct {
    const char* name;
    PodView view;
    KillQuestion question;
    KillAction want;
  } kCases[] = {
      {"of an unknown pod", NoWorker(), {.incarnation = 5}, kRefuseUnknown},
      {"of another incarnation than the desired one",
       NoWorker(),
       {.incarnation = 5, .desired = 6},
       kRefuseUnknown},
      {"of a pod that is desired and never granted",
       NoWorker(),
       {.incarnation = 5, .desired = 5},
       kEndUngranted},
      {"of an earlier incarnation", With({.incarnation = 5}), {.incarnation = 4}, kAnswerOver},
      {"of a later incarnation",
       With({.incarnation = 5, .state = kFinished}),
       {.incarnation = 6, .desired = 6},
       kRefuseNotYet},
      {"of a pod that runs", With({.incarnation = 5}), {.incarnation = 5}, kEnd},
      {"of a pod that ends already: it may get less time",
       With({.incarnation = 5, .state = kTerminating}),
       {.incarnation = 5},
       kEnd},
      {"asked again",
       With({.incarnation = 5, .state = kTerminating}),
       {.incarnation = 5, .answered = true},
       kAnswerAgain},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DecideKill(c.view, c.question), c.want);
  }
}

TEST(DecideOrphanKill, EveryAction) {
  using enum OrphanAction;
  const struct {
    const char* name;
    PodView view;
    bool desired;
    OrphanAction want;
  } kCases[] = {
      {"of an unknown pod", NoWorker(), false, kEnd},
      {"of a pod that a source knows", NoWorker(), true, kRefuseDesired},
      {"of a pod that runs", With({.incarnation = 5}), false, kRefuseWorker},
      {"after an incarnation that is finished", With({.incarnation = 5, .state = kFinished}), false,
       kEnd},
      {"after an incarnation that is finished, and not on disk",
       With({.incarnation = 5, .state = kFinished, .saving = true}), false, kRefuseSaving},
      {"of orphans that are ended already", With({.state = kTerminating, .orphan = true}), false,
       kEndSooner},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DecideOrphanKill(c.view, c.desired), c.want);
  }
}

TEST(DecideDesired, EveryAction) {
  using enum DesiredAction;
  const struct {
    const char* name;
    PodView view;
    DesiredQuestion question;
    DesiredAction want;
  } kCases[] = {
      {"a pod that is wanted starts nothing by itself", NoWorker(), {5, false}, kNone},
      {"a pod that is over and was never granted", NoWorker(), {5, true}, kEndUngranted},
      {"a pod that is wanted and runs", With({.incarnation = 5}), {5, false}, kNone},
      {"a pod that is over and runs", With({.incarnation = 5}), {5, true}, kEnd},
      {"a pod that is over and finished",
       With({.incarnation = 5, .state = kFinished}),
       {5, true},
       kEnd},
      {"a pod that is wanted and finished",
       With({.incarnation = 5, .state = kFinished}),
       {5, false},
       kPublish},
      {"a record of an earlier incarnation", With({.incarnation = 5}), {4, false}, kPublishLater},
      {"a record of an earlier incarnation that is over",
       With({.incarnation = 5}),
       {4, true},
       kPublishLater},
      {"a record of a later incarnation", With({.incarnation = 5}), {6, false}, kEndForLater},
      {"a record of a later incarnation that is over already",
       With({.incarnation = 5, .state = kTerminating}),
       {6, true},
       kEndForLater},
      {"a later incarnation after a finished one waits for its grant",
       With({.incarnation = 5, .state = kFinished}),
       {6, false},
       kNone},
      {"a later incarnation that is over, after a finished one",
       With({.incarnation = 5, .state = kFinished}),
       {6, true},
       kEndUngranted},
      {"the same while something is done for the finished one",
       With({.incarnation = 5, .state = kFinished, .busy = true}),
       {6, true},
       kTryLater},
      {"the same while the finished one is not on disk",
       With({.incarnation = 5, .state = kFinished, .saving = true}),
       {6, true},
       kTryLater},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(DecideDesired(c.view, c.question), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
