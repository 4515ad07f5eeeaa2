#include "services/node-api/stats/stats_cache.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/rpc/unary.h"
#include "services/node-api/stats/pod_stats.h"
#include "splitlet/v1/stats.grpc.pb.h"

namespace splitlet::node_api {
namespace {

class RpcStatsSource final : public StatsSource {
 public:
  RpcStatsSource(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : clock_(clock), stub_(v1::NodeStats::NewStub(channel)) {}

  StatusOr<v1::NodeStatsReply> Get(bool details, const Deadline& deadline) override {
    rpc::ClientCall call(clock_, deadline);
    v1::NodeStatsRequest request;
    request.set_details(details);
    return rpc::Unary(call, *stub_, &v1::NodeStats::Stub::GetNodeStats, request);
  }

 private:
  const Clock& clock_;
  const std::unique_ptr<v1::NodeStats::Stub> stub_;
};

std::map<std::string, uint64_t> UsageOf(const v1::NodeStatsReply& reply) {
  std::map<std::string, uint64_t> usage;
  if (reply.node().has_cpu_usage_core_ns()) usage[""] = reply.node().cpu_usage_core_ns();
  for (const auto& container : reply.containers())
    usage[container.id()] = container.has_usage() ? container.usage().cpu_usage_core_ns()
                                                  : container.cpu_usage_core_ns();
  for (const auto& pod : reply.pods())
    if (pod.usage().has_cpu_usage_core_ns())
      usage[PodKey(pod.uid())] = pod.usage().cpu_usage_core_ns();
  for (const auto& system : reply.system_containers())
    if (system.usage().has_cpu_usage_core_ns())
      usage[SystemKey(system.name())] = system.usage().cpu_usage_core_ns();
  return usage;
}

/// A counter that went down belongs to another container now, so it has no rate.
std::map<std::string, uint64_t> Rates(const v1::NodeStatsReply& before,
                                      const v1::NodeStatsReply& after) {
  std::map<std::string, uint64_t> rates;
  const int64_t elapsed = after.at_wall_ns() - before.at_wall_ns();
  if (elapsed <= 0) return rates;
  const auto old = UsageOf(before);
  for (const auto& [id, usage] : UsageOf(after)) {
    const auto found = old.find(id);
    if (found == old.end() || usage < found->second) continue;
    const double used = static_cast<double>(usage - found->second);
    rates[id] = static_cast<uint64_t>(used / static_cast<double>(elapsed) * 1e9);
  }
  return rates;
}

StatusOr<v1::NodeStatsReply> ReadStats(StatsSource& source, bool details,
                                       const Deadline& deadline) {
  FAIL_POINT("node-api.stats.before");
  return source.Get(details, deadline);
}

}  // namespace

std::unique_ptr<StatsSource> MakeStatsSource(const Clock& clock,
                                             std::shared_ptr<grpc::Channel> channel) {
  return std::make_unique<RpcStatsSource>(clock, channel);
}

void StatsCache::Start() {
  if (last_ != nullptr) return;
  Get([this](const auto& stats) {
    asked_at_ = {};  // a base for rates only, so a request fetches newer stats
    if (!stats.ok()) asker_.RunAfter(kFresh, [this] { Start(); });
  });
}

void StatsCache::Get(Done done) {
  if (last_ != nullptr && asked_at_ && deps_.clock.Now() - asked_at_ < kFresh) return done(last_);
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  asker_.Ask(
      deps_.details ? "stats-details" : "stats",
      [source = deps_.source, details = deps_.details, deadline = After(deps_.clock, kLimit)] {
        return ReadStats(*source, details, deadline);
      },
      [this](StatusOr<v1::NodeStatsReply> reply) { OnReply(std::move(reply)); });
}

void StatsCache::OnReply(StatusOr<v1::NodeStatsReply> reply) {
  const auto waiting = std::exchange(waiting_, {});
  if (!reply.ok()) {
    for (const auto& done : waiting) done(reply.status());
    return;
  }
  auto stats = std::make_shared<StatsSnapshot>();
  if (last_ != nullptr) stats->nano_cores = Rates(last_->reply, *reply);
  stats->reply = *std::move(reply);
  asked_at_ = deps_.clock.Now();
  last_ = std::move(stats);
  for (const auto& done : waiting) done(last_);
}

}  // namespace splitlet::node_api
