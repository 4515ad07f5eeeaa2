#pragma once

/// What each process has counted, remembered so that a sum over processes never goes down: one that
/// does not answer keeps its share, and one that has begun anew adds to what it had.
/// Owns:    of each process that ever answered the last value of each series; beyond its last
///          answer only those of families that several processes have, and a bounded number.
/// Threads: one at a time.
/// Errors:  none.
/// Source:  docs/metrics.md, "node-api".

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace splitlet::node_api {

class Shares {
 public:
  Shares() = default;
  Shares(const Shares&) = delete;
  Shares& operator=(const Shares&) = delete;

  struct Sample {
    std::string series, family;
    double value = 0;
  };
  struct Answer {
    std::optional<double> started_at;  // Unix time; another one: the process has begun anew
    std::vector<Sample> samples;       // of what only grows
  };
  /// Series of a process that are not in its answer: of more than these the latest are forgotten.
  static constexpr size_t kMaxAbsent = 10'000;

  /// One round: who is not in it has not answered.
  void Take(const std::map<std::string, Answer>& answers);

  using Visit =
      std::function<void(const std::string& family, const std::string& series, double value)>;
  /// The shares that count in the last round, a series once for each process that has it.
  void ForEach(const Visit& visit) const;

 private:
  struct Share {
    std::string series, family;
    double before = 0;  // of earlier lives of the process
    double last = 0;
    bool shown = true;  // in the last answer
    double value() const { return before + last; }
  };
  struct Process {
    bool answered = false;
    std::optional<double> started_at;
    std::list<Share> shares;                                           // as they came
    std::map<std::string_view, std::list<Share>::iterator> by_series;  // views into the list
  };
  bool IsSummed(const std::string& family) const;
  void TakeAnswer(Process& process, const Answer& answer);
  void TakeSample(Process& process, const Sample& sample);
  void ForgetAbsent(Process& process);

  std::map<std::string, Process> processes_;
  std::map<std::string, std::set<std::string>> showing_;  // family -> processes that have shown it
};

}  // namespace splitlet::node_api
