#include "services/node-api/metrics/process_metrics.h"

#include <grpcpp/grpcpp.h>

#include <charconv>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/processes.h"
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
                             return done(Unavailable("want status 200, got {}", outcome.code));
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
    return CheckedAddress(process, info->metrics_address(), deps_.fixed_ports);
  }

  ProcessMetricsDeps deps_;
};

/// The number after the last colon; 0: none.
uint16_t PortIn(const std::string& address) {
  const size_t colon = address.rfind(':');
  uint16_t port = 0;
  if (colon == std::string::npos) return port;
  const char* const last = address.data() + address.size();
  const auto [end, wrong] = std::from_chars(address.data() + colon + 1, last, port);
  return wrong == std::errc{} && end == last ? port : uint16_t{0};
}

}  // namespace

StatusOr<std::string> CheckedAddress(const std::string& process, const std::string& address,
                                     bool fixed_ports) {
  if (address.empty()) return Unavailable("its port is not open");
  const uint16_t port = PortIn(address);
  const std::string host = address.substr(0, address.rfind(':'));
  const bool six = host == "[::1]" || host == "[::]";
  if (port == 0 || (!six && host != "0.0.0.0" && !host.starts_with("127.")))
    return PermissionDenied("{} is not a loopback port of this machine", address);
  const ProcessRow* const row = FindProcess(process);
  if (fixed_ports && row != nullptr && port != row->port)
    return PermissionDenied("{} is not the process's port, {}", address, row->port);
  return fmt::format("{}:{}", six ? "[::1]" : "127.0.0.1", port);
}

std::unique_ptr<MetricsSource> MakeProcessMetrics(ProcessMetricsDeps deps) {
  return std::make_unique<ProcessMetrics>(std::move(deps));
}

}  // namespace splitlet::node_api
