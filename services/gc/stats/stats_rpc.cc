#include "services/gc/stats/stats_rpc.h"

#include <atomic>
#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/stats.grpc.pb.h"

namespace splitlet::gc {
namespace {

constexpr Duration kLimit = std::chrono::seconds{10};
constexpr int kMaxWaiting = 4;

class StatsRpc final : public v1::NodeStats::Service {
 public:
  explicit StatsRpc(StatsDeps deps) : deps_(std::move(deps)) {}

  grpc::Status GetNodeStats(grpc::ServerContext*, const v1::NodeStatsRequest*,
                            v1::NodeStatsReply* reply) override {
    if (++waiting_ > kMaxWaiting) {
      --waiting_;
      return rpc::ToGrpc(ResourceExhausted("too many ask for figures"));
    }
    auto read = rpc::OnLoopLater<v1::NodeStatsReply>(deps_.loop, kLimit, [this](auto done) {
      deps_.strands.Run("stats", [this, done = std::move(done)] {
        done(ReadNodeStats(deps_.sources, After(deps_.sources.clock, kLimit)));
      });
    });
    --waiting_;
    if (!read.ok()) return rpc::ToGrpc(read.status());
    reply->Swap(&*read);
    return grpc::Status::OK;
  }

 private:
  StatsDeps deps_;
  std::atomic<int> waiting_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStatsRpc(StatsDeps deps) {
  return std::make_unique<StatsRpc>(std::move(deps));
}

}  // namespace splitlet::gc
