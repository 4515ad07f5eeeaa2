#include "services/node-api/pages/log_levels.h"

#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/log_level.h"
#include "libs/rpc/unary.h"
#include "services/node-api/http/replies.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::node_api {
namespace {

constexpr Duration kLevelLimit = std::chrono::seconds{5};

class RpcLevelTarget final : public LevelTarget {
 public:
  using FindPeer = std::function<std::shared_ptr<grpc::Channel>(const std::string& process)>;
  RpcLevelTarget(const Clock& clock, FindPeer peer) : clock_(clock), peer_(std::move(peer)) {}

  Status Set(const std::string& process, LogLevel level, const CallOptions& options) override {
    const auto stub = v1::Admin::NewStub(peer_(process));
    v1::SetLogLevelRequest request;
    request.set_level(std::string(NameOf(level)));
    rpc::ClientCall call(clock_, options.deadline, options.traceparent);
    return rpc::Unary(call, *stub, &v1::Admin::Stub::SetLogLevel, request).status();
  }

 private:
  const Clock& clock_;
  const FindPeer peer_;
};

Status SetLevel(LevelTarget& target, const std::string& process, LogLevel level,
                const CallOptions& options) {
  FAIL_POINT("node-api.log-level.before");
  Status set = target.Set(process, level, options);
  FAIL_POINT("node-api.log-level.after");
  return set;
}

/// A 32-bit number, as Go parses it.
std::optional<int32_t> ReadVerbosity(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int32_t verbosity = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), verbosity);
  if (wrong != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return verbosity;
}

}  // namespace

std::unique_ptr<LevelTarget> MakeLevelTarget(
    const Clock& clock,
    std::function<std::shared_ptr<grpc::Channel>(const std::string& process)> peer) {
  return std::make_unique<RpcLevelTarget>(clock, std::move(peer));
}

void LogLevels::Serve(const https::Request& request, std::shared_ptr<https::Responder> responder) {
  if (request.method != "PUT") return responder->Send(TextReply(406, "unsupported http method"));
  const auto verbosity = ReadVerbosity(request.body);
  if (!verbosity)
    return responder->Send(
        TextReply(400, "failed set klog.logging.verbosity: the body is not a 32-bit number"));
  if (waiting_ >= kMaxWaiting)
    return responder->Send(TextReply(429, "too many requests to set the log level"));
  ++waiting_;
  const auto asked = std::make_shared<Asked>(Asked{.verbosity = request.body,
                                                   .left = deps_.processes.size(),
                                                   .failed = {},
                                                   .responder = std::move(responder)});
  const LogLevel level = LevelOf(*verbosity);
  const CallOptions options = OptionsFor(request, After(deps_.clock, kLevelLimit));
  for (const std::string& process : deps_.processes)
    asker_.Ask(
        "log-level/" + process,
        [target = deps_.target, process, level, options] {
          return SetLevel(*target, process, level, options);
        },
        [this, asked, process](const Status& set) { OnSet(asked, process, set); });
}

void LogLevels::OnSet(const std::shared_ptr<Asked>& asked, const std::string& process,
                      const Status& set) {
  if (!set.ok()) asked->failed.push_back(fmt::format("{} ({})", process, Message(set)));
  if (--asked->left > 0) return;
  --waiting_;
  if (asked->failed.empty())
    return asked->responder->Send(TextReply(
        200, fmt::format("successfully set klog.logging.verbosity to {}", asked->verbosity)));
  std::ranges::sort(asked->failed);
  asked->responder->Send(
      TextReply(500, fmt::format("klog.logging.verbosity is {} in all processes but {}",
                                 asked->verbosity, fmt::join(asked->failed, ", "))));
}

}  // namespace splitlet::node_api
