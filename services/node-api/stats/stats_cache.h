#pragma once

/// Usage of the node and its containers, fetched from gc at most once in 5 s.
/// In:    requests for stats.
/// Owns:  the last answer; CPU rates from the last two.
/// Out:   calls to gc, one at a time, on a strand.
/// Killed at any line: the next start asks gc again, once immediately, so that the first request
///        already gets rates.
/// Threads: loop thread; the source on a strand.
/// Errors: those of the call.
/// Source: docs/behaviour/node-api.md, "Figures".

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/exec/ask.h"
#include "libs/exec/exec.h"
#include "splitlet/v1/stats.pb.h"

namespace grpc {
class Channel;
}

namespace splitlet::node_api {

class StatsSource {
 public:
  virtual ~StatsSource() = default;
  /// Called on a strand. `details`: see NodeStatsRequest.
  virtual StatusOr<v1::NodeStatsReply> Get(bool details, const Deadline& deadline) = 0;
};
std::unique_ptr<StatsSource> MakeStatsSource(const Clock& clock,
                                             std::shared_ptr<grpc::Channel> channel);

struct StatsSnapshot {
  v1::NodeStatsReply reply;
  /// Known rates, by container id, PodKey or SystemKey; "" is the node.
  std::map<std::string, uint64_t> nano_cores;
};

class StatsCache {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<StatsSource> source;
    bool details = false;
  };
  static constexpr Duration kFresh = std::chrono::seconds{5}, kLimit = std::chrono::seconds{9};

  explicit StatsCache(Deps deps) : deps_(std::move(deps)), asker_(deps_.loop, deps_.strands) {}
  StatsCache(const StatsCache&) = delete;
  StatsCache& operator=(const StatsCache&) = delete;

  using Done = std::function<void(const StatusOr<std::shared_ptr<const StatsSnapshot>>& stats)>;
  /// Fetches stats once as the base of rates; repeated every 5 s while gc does not answer.
  void Start();
  void Get(Done done);

 private:
  void OnReply(StatusOr<v1::NodeStatsReply> reply);

  Deps deps_;
  std::shared_ptr<const StatsSnapshot> last_;
  Clock::Time asked_at_;  // unset: last_ is only a base for rates
  std::vector<Done> waiting_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::node_api
