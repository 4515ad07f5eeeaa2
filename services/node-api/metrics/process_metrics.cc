#include "services/node-api/metrics/process_metrics.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/rpc/unary.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::node_api {
namespace {

constexpr size_t kMaxText = 16 << 20;

class ProcessMetrics final : public MetricsSource {
 public:
  explicit ProcessMetrics(ProcessMetricsDeps deps) : deps_(std::move(deps)) {}

  void Ask(const std::string& process, const Deadline& deadline, Done done) override {
    deps_.strands.Run("scrape/" + process, [this, process, deadline, done = std::move(done)] {
      auto address = AddressOf(process, deadline);
      if (!address.ok()) return done(address.status());
      deps_.caller.Begin({.url = "http://" + *address + "/metrics", .max_bytes = kMaxText},
                         deadline, [done](http::Outcome outcome) {
                           if (!outcome.status.ok()) return done(outcome.status);
                           if (outcome.code != 200)
                             return done(Unavailable("it answers {}", outcome.code));
                           done(std::move(outcome.body));
                         });
    });
  }

 private:
  StatusOr<std::string> AddressOf(const std::string& process, const Deadline& deadline) {
    FAIL_POINT("node-api.scrape.before");
    const auto stub = v1::Admin::NewStub(deps_.peer(process));
    rpc::ClientCall call(deps_.clock, deadline);
    const auto info =
        rpc::Unary(call, *stub, &v1::Admin::Stub::GetProcess, v1::GetProcessRequest());
    if (!info.ok()) return info.status();
    if (info->metrics_address().empty()) return Unavailable("its port is not open");
    return info->metrics_address();
  }

  ProcessMetricsDeps deps_;
};

}  // namespace

std::unique_ptr<MetricsSource> MakeProcessMetrics(ProcessMetricsDeps deps) {
  return std::make_unique<ProcessMetrics>(std::move(deps));
}

}  // namespace splitlet::node_api
