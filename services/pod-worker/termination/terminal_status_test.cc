#include "services/pod-worker/termination/terminal_status.h"

#include <gtest/gtest.h>

#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(TerminalStatus, OfEveryEnd) {
  const kube::Pod pod = TestPod{.policy = "Never"}.Make();
  v1::TerminalStatus succeeded;
  succeeded.set_phase("Succeeded");
  const struct {
    const char* name;
    const v1::TerminalStatus* before;
    const kube::Pod* pod;
    bool evicted;
    std::string reason, phase;
  } kCases[] = {
      {"completed before it was ended", &succeeded, &pod, false, "", "Succeeded"},
      {"completed before it was evicted", &succeeded, &pod, true, "Evicted", "Succeeded"},
      {"evicted", nullptr, &pod, true, "Evicted", "Failed"},
      {"evicted without a reason", nullptr, &pod, true, "", "Failed"},
      {"past its active deadline", nullptr, &pod, false, "DeadlineExceeded", "Failed"},
      {"killed, as its containers ended", nullptr, &pod, false, "", "Succeeded"},
      {"never granted", nullptr, nullptr, false, "", ""},
  };
  const auto seen = Observed({{.name = "app", .state = Record::EXITED}}, false);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto status = TerminalStatusOf({.before = c.before,
                                          .pod = c.pod,
                                          .evicted = c.evicted,
                                          .reason = c.reason,
                                          .message = "why",
                                          .last_seen = seen,
                                          .incarnation = 0,
                                          .begun = {}});
    EXPECT_EQ(status->phase(), c.phase);
    EXPECT_EQ(status->reason(), c.phase == "Failed" ? c.reason : "");
    EXPECT_EQ(status->observation().containers_size(), 1);
  }
}

TEST(TerminalStatus, AContainerThatHasBegunAndIsGoneHasFailed) {
  const kube::Pod pod = TestPod{.policy = "Never", .containers = {"app", "lost"}}.Make();
  const auto seen = Observed({{.name = "app", .state = Record::EXITED}}, false);
  const std::string none;
  const auto phase = [&](const cri::StartedAttempts& begun) {
    return TerminalStatusOf({.pod = &pod,
                             .reason = none,
                             .message = none,
                             .last_seen = seen,
                             .incarnation = 0,
                             .begun = begun})
        ->phase();
  };
  EXPECT_EQ(phase({}), "") << "one of a static pod that never began has not ended";
  EXPECT_EQ(phase({{"lost", {.attempt = 0, .begun_at_ns = 1}}}), "Failed");
}

}  // namespace
}  // namespace splitlet::pod_worker
