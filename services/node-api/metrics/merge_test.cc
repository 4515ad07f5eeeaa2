#include "services/node-api/metrics/merge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace splitlet::node_api {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Merged(MetricsMerger& merger, const std::vector<Scraped>& scraped) {
  return merger.Merge(scraped, [](std::string_view) { return true; });
}

/// The metrics that one process publishes in one round.
struct Said {
  double started = 1;
  double calls = 0;
};

std::vector<Scraped> Round(const std::map<std::string, Said>& all) {
  std::vector<Scraped> scraped;
  for (const auto& [process, said] : all)
    scraped.push_back(
        {process, fmt::format("# TYPE process_start_time_seconds gauge\n"
                              "process_start_time_seconds {}\n# TYPE calls_total counter\n"
                              "calls_total{{host=\"a\"}} {}\n",
                              said.started, said.calls)});
  return scraped;
}

TEST(MergedSums, NeverGoDown) {
  const struct {
    const char* name;
    std::vector<std::map<std::string, Said>> rounds;
    std::vector<int> want;
  } kCases[] = {
      {"no process is missing",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}}, {{"gc", {1, 11}}, {"pleg", {1, 52}}}},
       {60, 63}},
      {"one is missing once",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}},
        {{"gc", {1, 11}}},
        {{"gc", {1, 12}}, {"pleg", {1, 51}}}},
       {60, 61, 63}},
      {"all are missing, and one comes back",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}}, {}, {{"gc", {1, 10}}}},
       {60, 60, 60}},
      {"a process restarts",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}},
        {{"gc", {1, 10}}, {"pleg", {2, 3}}},
        {{"gc", {1, 10}}, {"pleg", {2, 4}}}},
       {60, 63, 64}},
      {"it has counted more after its restart than before",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}}, {{"gc", {1, 10}}, {"pleg", {2, 70}}}},
       {60, 130}},
      {"it restarts while it is missing",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}},
        {{"gc", {1, 10}}},
        {{"gc", {1, 10}}, {"pleg", {2, 3}}}},
       {60, 60, 63}},
      {"twice",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}},
        {{"gc", {1, 10}}, {"pleg", {2, 3}}},
        {{"gc", {1, 10}}, {"pleg", {3, 2}}}},
       {60, 63, 65}},
      {"it counts less and has not restarted: its counter has",
       {{{"gc", {1, 10}}, {"pleg", {1, 50}}}, {{"gc", {1, 10}}, {"pleg", {1, 3}}}},
       {60, 63}},
      {"one shows the counter for the first time while the other is missing",
       {{{"pleg", {1, 50}}}, {{"gc", {1, 10}}}, {{"gc", {1, 10}}, {"pleg", {1, 50}}}},
       {50, 60, 60}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    MetricsMerger merger;
    for (size_t i = 0; i < c.rounds.size(); ++i)
      EXPECT_THAT(Merged(merger, Round(c.rounds[i])),
                  HasSubstr(fmt::format("calls_total{{host=\"a\"}} {}\n", c.want[i])))
          << "round " << i;
  }
}

TEST(MergedSums, WhatOneProcessAloneCountsIsAsItSaysIt) {
  MetricsMerger merger;
  const std::string probes = "# TYPE prober_probe_total counter\nprober_probe_total{pod=\"a\"} ";
  EXPECT_THAT(Merged(merger, {{"pod-worker", probes + "9\n"}, {"gc", ""}}), HasSubstr(" 9\n"));
  EXPECT_EQ(Merged(merger, {{"gc", ""}}), "") << "its counters are gone with it";
  EXPECT_THAT(Merged(merger, {{"pod-worker", probes + "2\n"}}), HasSubstr(" 2\n"));
  EXPECT_EQ(Merged(merger, {{"pod-worker", ""}}), "") << "a pod that is gone";
}

TEST(MergedSums, GaugesAreNotKept) {
  MetricsMerger merger;
  const std::string gauge = "# TYPE g gauge\ng 5\n";
  EXPECT_THAT(Merged(merger, {{"gc", gauge}, {"pleg", gauge}}), HasSubstr("g 5\n"));
  EXPECT_EQ(Merged(merger, {}), "");
}

TEST(MergedSums, ASeriesThatANewLifeHasNotYetIsKept) {
  MetricsMerger merger;
  const auto text = [](int started, const std::string& more) {
    return fmt::format("process_start_time_seconds {}\n# TYPE c counter\nc{{code=\"200\"}} 5\n{}",
                       started, more);
  };
  Merged(merger, {{"gc", text(1, "")}, {"pleg", text(1, "c{code=\"404\"} 7\n")}});
  EXPECT_THAT(Merged(merger, {{"gc", text(1, "")}, {"pleg", text(2, "")}}),
              AllOf(HasSubstr("c{code=\"200\"} 15\n"), HasSubstr("c{code=\"404\"} 7\n")));
  EXPECT_THAT(Merged(merger, {{"gc", text(1, "")}, {"pleg", text(2, "c{code=\"404\"} 8\n")}}),
              HasSubstr("c{code=\"404\"} 15\n"));
}

// Bucket by bucket, a restarted process with higher counts would not be noticed.
TEST(MergedSums, AHistogramStaysOne) {
  const auto text = [](int started, int low, int all) {
    return fmt::format(
        "process_start_time_seconds {}\n# TYPE h histogram\nh_bucket{{le=\"1\"}} {}\n"
        "h_bucket{{le=\"+Inf\"}} {}\nh_sum {}\nh_count {}\n",
        started, low, all, all, all);
  };
  MetricsMerger merger;
  Merged(merger, {{"gc", text(1, 0, 0)}, {"pleg", text(1, 10, 10)}});
  EXPECT_THAT(Merged(merger, {{"gc", text(1, 0, 0)}, {"pleg", text(2, 9, 12)}}),
              HasSubstr("h_bucket{le=\"1\"} 19\nh_bucket{le=\"+Inf\"} 22\nh_sum 22\nh_count 22\n"));
  EXPECT_THAT(Merged(merger, {{"gc", text(1, 0, 0)}}),
              HasSubstr("# TYPE h histogram\nh_bucket{le=\"1\"} 19\nh_bucket{le=\"+Inf\"} 22\n"));
}

TEST(MergedSums, OfASummaryWhatIsCounted) {
  const std::string text = "# TYPE s summary\ns{quantile=\"0.5\"} 3\ns_sum 4\ns_count 2\n";
  MetricsMerger merger;
  EXPECT_EQ(Merged(merger, {{"gc", text}, {"pleg", text}}),
            "# TYPE s summary\ns{quantile=\"0.5\"} 3\ns_sum 8\ns_count 4\n");
  EXPECT_EQ(Merged(merger, {{"gc", text}}),
            "# TYPE s summary\ns{quantile=\"0.5\"} 3\ns_sum 8\ns_count 4\n");
}

TEST(MergedSums, AreOfABoundedNumberOfSeries) {
  Shares shares;
  const auto take = [&shares](size_t first, size_t count) {
    Shares::Answer answer;
    for (size_t i = first; i < first + count; ++i)
      answer.samples.push_back(
          {.series = fmt::format("c{{x=\"{}\"}}", i), .family = "c", .value = 1});
    shares.Take({{"gc", answer}, {"pleg", answer}});
  };
  for (size_t round = 0; round < 5; ++round) take(round * 6000, 6000);
  std::map<std::string, size_t> count;
  shares.ForEach(
      [&count](const std::string& family, const std::string&, double) { ++count[family]; });
  EXPECT_EQ(count["c"], 2 * (Shares::kMaxAbsent + 6000));
}

}  // namespace
}  // namespace splitlet::node_api
