#pragma once

/// Each process's share of summed counters, so that a sum never goes down. A process that does not
/// answer keeps its share, and a restarted process adds to its share.
/// Owns:    the last value of each series of each process that ever answered. Series
///          missing from the last answer are kept only for summed families, up to a limit.
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
    std::optional<double> started_at;  // Unix time; a new value means a restart of the process
    std::vector<Sample> samples;       // series that only grow
  };
  /// Limit of kept series that are missing from a process's answer; the latest are dropped first.
  static constexpr size_t kMaxAbsent = 10'000;

  /// Takes the answers of a round, by process; a missing process has not answered.
  void Take(const std::map<std::string, Answer>& answers);

  using Visit =
      std::function<void(const std::string& family, const std::string& series, double value)>;
  /// Last value for each series and process.
  void ForEach(const Visit& visit) const;

 private:
  struct Share {
    std::string series, family;
    double before = 0;  // sum over earlier starts of the process
    double last = 0;
    bool shown = true;  // true: in the last answer
    double value() const { return before + last; }
  };
  struct Process {
    bool answered = false;
    std::optional<double> started_at;
    std::list<Share> shares;                                           // in the order of arrival
    std::map<std::string_view, std::list<Share>::iterator> by_series;  // views into the list
  };
  bool IsSummed(const std::string& family) const;
  void TakeAnswer(Process& process, const Answer& answer);
  void TakeSample(Process& process, const Sample& sample);
  void ForgetAbsent(Process& process);

  std::map<std::string, Process> processes_;
  std::map<std::string, std::set<std::string>> showing_;  // family -> processes that ever had it
};

}  // namespace splitlet::node_api
