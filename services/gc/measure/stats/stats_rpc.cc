#include "services/gc/measure/stats/stats_rpc.h"

#include <atomic>
#include <utility>

#include "libs/rpc/rpc.h"
#include "splitlet/v1/stats.grpc.pb.h"

namespace splitlet::gc {
namespace {

constexpr int kMaxWaiting = 4;

class StatsRpc final : public v1::NodeStats::Service {
 public:
  StatsRpc(exec::EventLoop& loop, AskStats ask) : loop_(loop), ask_(std::move(ask)) {}

  grpc::Status GetNodeStats(grpc::ServerContext*, const v1::NodeStatsRequest* request,
                            v1::NodeStatsReply* reply) override {
    if (++waiting_ > kMaxWaiting) {
      --waiting_;
      return rpc::ToGrpc(ResourceExhausted("too many requests for stats are waiting"));
    }
    auto read = rpc::OnLoopLater<v1::NodeStatsReply>(
        loop_, StatsReader::kLimit,
        [this, details = request->details()](auto done) { ask_(details, std::move(done)); });
    --waiting_;
    if (!read.ok()) return rpc::ToGrpc(read.status());
    reply->Swap(&*read);
    return grpc::Status::OK;
  }

 private:
  exec::EventLoop& loop_;
  const AskStats ask_;
  std::atomic<int> waiting_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStatsRpc(exec::EventLoop& loop, AskStats ask) {
  return std::make_unique<StatsRpc>(loop, std::move(ask));
}

}  // namespace splitlet::gc
