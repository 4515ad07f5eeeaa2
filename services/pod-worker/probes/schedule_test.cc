#include "services/pod-worker/probes/schedule.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace splitlet::pod_worker {
namespace {

Clock::Time At(Duration since_boot) { return {1, since_boot}; }

/// Runs in order, '+' or '-'; the result after each: '+', '-' or 'o'. '!' follows when on hold.
std::string ResultsOf(ProbeKind kind, const ProbeTiming& timing, const std::string& runs) {
  ProbeState state;
  std::string results;
  for (const char run : runs) {
    state = Count(kind, timing, state, run == '+');
    results += !state.result ? 'o' : *state.result ? '+' : '-';
    if (state.on_hold) results += '!';
  }
  return results;
}

TEST(ProbeCount, ThresholdsInARow) {
  using enum ProbeKind;
  const struct {
    const char* name;
    ProbeKind kind;
    int success, failure;
    const char *runs, *want;
  } kCases[] = {
      {"ready until the third failure in a row", kReadiness, 1, 3, "+---", "+++-"},
      {"ready after the second success in a row", kReadiness, 2, 3, "+-++", "ooo+"},
      {"without a result until a threshold is met", kReadiness, 1, 3, "--+", "oo+"},
      {"readiness goes on after a failure", kReadiness, 1, 1, "-+-", "-+-"},
      {"a success between failures begins again", kLiveness, 1, 3, "+--+--", "++++++"},
      {"three failures of liveness put it on hold", kLiveness, 1, 3, "+---", "+++-!"},
      {"liveness that fails at once", kLiveness, 1, 1, "-", "-!"},
      {"startup ends with its first success", kStartup, 1, 3, "--+", "oo+!"},
      {"startup ends with its last failure", kStartup, 1, 3, "---", "oo-!"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const ProbeTiming timing{.success_threshold = c.success, .failure_threshold = c.failure};
    EXPECT_EQ(ResultsOf(c.kind, timing, c.runs), c.want);
  }
}

TEST(ProbeCount, HasHadItsRuns) {
  constexpr int kMost = std::numeric_limits<int32_t>::max();
  const struct {
    const char* name;
    Duration initial_delay, period;
    int failures;
    Duration age;
    bool want;
  } kCases[] = {
      {"just begun", 0s, 10s, 3, 0s, false},
      {"before its delay", 60s, 10s, 3, 30s, false},
      {"at its last run", 5s, 10s, 3, 35s, false},
      {"after its last run", 5s, 10s, 3, 35s + 1ns, true},
      {"long after", 5s, 10s, 3, 1h, true},
      {"as many runs as there can be", 0s, 5s, kMost, 1h, false},
      {"as long and many as there can be", 0s, std::chrono::seconds{kMost}, kMost, 1h, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const ProbeTiming timing{
        .initial_delay = c.initial_delay, .period = c.period, .failure_threshold = c.failures};
    EXPECT_EQ(HasHadItsRuns(timing, c.age), c.want);
  }
}

TEST(ProbeCount, ASteadyProbeChangesNothing) {
  const ProbeTiming timing;
  ProbeState state = Count(ProbeKind::kReadiness, timing, {}, true);
  const ProbeState before = state;
  for (int i = 0; i < 5; ++i) state = Count(ProbeKind::kReadiness, timing, state, true);
  EXPECT_EQ(state, before) << "there is nothing to be saved";
  for (int i = 0; i < 3; ++i) state = Count(ProbeKind::kReadiness, timing, state, false);
  const ProbeState failed = state;
  for (int i = 0; i < 5; ++i) state = Count(ProbeKind::kReadiness, timing, state, false);
  EXPECT_EQ(state, failed);
}

TEST(ProbeCount, OnHoldTheRowBeginsAnew) {
  const ProbeTiming timing{.failure_threshold = 3};
  ProbeState state;
  for (int i = 0; i < 3; ++i) state = Count(ProbeKind::kLiveness, timing, state, false);
  EXPECT_TRUE(state.on_hold);
  EXPECT_EQ(state.row, 0) << "a first failure of the next container is the first";
}

TEST(ProbeDue, First) {
  const struct {
    const char* name;
    Duration initial_delay, age_of_container, process_age;
    double random;
    Duration want;  // from now
  } kCases[] = {
      {"at once", 0s, 1s, 1h, 0.5, 0s},
      {"not before the delay", 10s, 9900ms, 1h, 0.5, 100ms},
      {"at the delay", 10s, 10s, 1h, 0.5, 0s},
      {"spread over a period by a young process", 0s, 1h, 3s, 0.25, 2500ms},
      {"as old as the period is not young", 0s, 1h, 10s, 0.25, 0s},
      {"the later of jitter and delay", 30s, 10s, 3s, 0.25, 20s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Clock::Time now = At(1000s);
    const ProbeTiming timing{.initial_delay = c.initial_delay, .period = 10s};
    EXPECT_EQ(FirstDue(timing, {.now = now,
                                .container_started = now - c.age_of_container,
                                .process_age = c.process_age,
                                .random = c.random}) -
                  now,
              c.want);
  }
}

TEST(ProbeDue, TicksKeepTheirStepAndDoNotPileUp) {
  const struct {
    const char* name;
    Duration now, next, resumed;
  } kCases[] = {
      {"in time", 101s, 110s, 110s},
      {"a run as long as the period", 110s, 110s, 110s},
      {"late: the next run is at once", 115s, 110s, 120s},
      {"very late: one run makes up for all", 1234s, 1230s, 1240s},
      {"on a tick", 1230s, 1230s, 1230s},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(NextDue(At(100s), 10s, At(c.now)), At(c.next));
    EXPECT_EQ(ResumeDue(At(100s), 10s, At(c.now)), At(c.resumed));
  }
  EXPECT_EQ(ResumeDue(At(100s), 10s, At(95s)), At(100s)) << "what is still to come stays";
}

}  // namespace
}  // namespace splitlet::pod_worker
