#pragma once

/// The calls of the container runtime that gc makes: it reads, stops and removes, and starts
/// nothing.
/// Threads: any; calls block up to their deadline.
/// Errors: ConnectRuntime: FAILED_PRECONDITION while another gc works on this runtime. The calls:
/// those of the runtime.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "services/gc/collect/containers/remover.h"
#include "services/gc/config.h"

namespace splitlet::cri {
class GrpcRuntime;
}

namespace splitlet::gc {

/// The container runtime.
struct RuntimeCalls {
  cri::Reader& reader;
  cri::Remover& remover;
  cri::Images& images;
  cri::Logs& logs;
  cri::Stats& stats;
  StopSandbox stop_sandbox;
  StopContainer stop_container;
  std::function<std::optional<int64_t>()> pid;  // of the runtime, on a strand; nothing: not known
};

/// The client holds the lock of the runtime, which one gc has at a time.
StatusOr<std::shared_ptr<cri::GrpcRuntime>> ConnectRuntime(daemon::ServiceContext& context,
                                                           const GcConfig& config);
/// `runtime` outlives the result.
RuntimeCalls CallsOf(const std::shared_ptr<cri::GrpcRuntime>& runtime, const std::string& endpoint);

}  // namespace splitlet::gc
