#include "services/pod-worker/probes/network_call.h"

#include <fmt/format.h>

#include <charconv>

#include "grpc/health/v1/health.pb.h"
#include "libs/base/text.h"
#include "services/pod-worker/pod/http_target.h"

namespace splitlet::pod_worker {

namespace {

using Kind = ProbeAnswer::Kind;
using http::Outcome;

/// A gRPC message is preceded by a byte that tells whether it is compressed, and by its length.
constexpr size_t kFrameHead = 5;
constexpr int kUnimplemented = 12, kDeadlineExceeded = 4;

std::string Framed(const std::string& message) {
  std::string frame(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>((message.size() >> shift) & 0xff);
  return frame + message;
}

http::Exchange ExchangeFor(const GrpcProbe& probe, Duration timeout) {
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(probe.service);
  return {.protocol = http::Exchange::Protocol::kHttp2,
          .url = fmt::format("http://{}/grpc.health.v1.Health/Check",
                             HostAndPort(probe.host, probe.port)),
          .headers = {"Content-Type: application/grpc", "TE: trailers",
                      "Accept:", fmt::format("User-Agent: {}", kProbeAgent),
                      fmt::format("grpc-timeout: {}m", timeout / 1ms)},
          .body = Framed(request.SerializeAsString()),
          .max_bytes = kMaxProbeOutput};
}

ProbeAnswer Failure(std::string_view text) {
  return {.kind = Kind::kFailure, .text = ToText(text, kMaxProbeOutput)};
}

/// No request reached the server, so the answer says nothing about it.
bool IsNoAnswer(const Status& status) {
  const StatusCode code = status.code();
  return code == StatusCode::kAborted || code == StatusCode::kCancelled ||
         code == StatusCode::kFailedPrecondition || code == StatusCode::kInvalidArgument;
}

ProbeAnswer HttpAnswer(const Outcome& outcome) {
  if (!outcome.status.ok()) {
    // As with a kubelet, an answer that breaks off counts neither as success nor as failure.
    if (outcome.stage == Outcome::Stage::kReadingBody)
      return {.kind = Kind::kError,
              .text = ToText(Message(outcome.status), kMaxProbeOutput),
              .failed = true};
    return Failure(fmt::format("Get \"{}\": {}", outcome.url, Message(outcome.status)));
  }
  const std::string body = ToText(outcome.body, kMaxProbeOutput);
  if (outcome.code >= 200 && outcome.code < 300) return {.kind = Kind::kSuccess, .text = body};
  if (outcome.code >= 300 && outcome.code < 400)
    return {.kind = Kind::kWarning,
            .text = ToText(fmt::format("Probe terminated redirects, Response body: {}", body),
                           kMaxProbeOutput)};
  return Failure(fmt::format("HTTP probe failed with statuscode: {}", outcome.code));
}

std::string_view CodeName(int code) {
  static constexpr std::string_view kNames[] = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "Unknown";
}

/// Percent-encoded, as in the trailer grpc-message.
std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const begin = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(begin, begin + 2, byte, 16).ptr == begin + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct RpcStatus {
  int code = 0;
  std::string message;
};

/// The gRPC code for an HTTP status without grpc-status.
int CodeOfHttp(int code) {
  switch (code) {
    case 400: return 13;
    case 401: return 16;
    case 403: return 7;
    case 404: return kUnimplemented;
    case 429:
    case 502:
    case 503:
    case 504: return 14;
    default: return 2;
  }
}

RpcStatus RpcStatusOf(const Outcome& outcome) {
  if (outcome.code != 200)
    return {CodeOfHttp(outcome.code),
            fmt::format("unexpected HTTP status code received from server: {}", outcome.code)};
  const auto text = http::FindHeader(outcome.head, "grpc-status");
  if (!text) return {13, "server closed the stream without sending trailers"};
  RpcStatus status;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), status.code);
  if (error != std::errc{} || end != text->data() + text->size())
    return {13, "transport: malformed grpc-status"};
  status.message = Decoded(http::FindHeader(outcome.head, "grpc-message").value_or(""));
  return status;
}

std::optional<grpc::health::v1::HealthCheckResponse> ResponseIn(const std::string& body) {
  if (body.size() < kFrameHead || body[0] != '\0') return std::nullopt;
  size_t length = 0;
  for (size_t i = 1; i < kFrameHead; ++i)
    length = length << 8 | static_cast<unsigned char>(body[i]);
  grpc::health::v1::HealthCheckResponse response;
  if (body.size() - kFrameHead != length || !response.ParseFromString(body.substr(kFrameHead)))
    return std::nullopt;
  return response;
}

ProbeAnswer GrpcAnswer(const GrpcProbe& probe, Duration timeout, const Outcome& outcome) {
  const auto seconds = timeout / 1s;
  const bool late = outcome.status.code() == StatusCode::kDeadlineExceeded;
  if (!outcome.status.ok() && outcome.stage == Outcome::Stage::kConnecting) {
    const std::string server = HostAndPort(probe.host, probe.port);
    if (late)
      return Failure(fmt::format(
          "timeout: failed to connect service \"{}\" within {}s: context deadline exceeded", server,
          seconds));
    return Failure(fmt::format("error: failed to connect service at \"{}\": {}", server,
                               Message(outcome.status)));
  }
  const RpcStatus status = outcome.status.ok() ? RpcStatusOf(outcome)
                                               : RpcStatus{late ? kDeadlineExceeded : 14,
                                                           std::string(Message(outcome.status))};
  if (status.code == kDeadlineExceeded)
    return Failure(fmt::format("timeout: health rpc did not complete within {}s", seconds));
  const std::string described =
      fmt::format("rpc error: code = {} desc = {}", CodeName(status.code), status.message);
  if (status.code == kUnimplemented)
    return Failure(
        fmt::format("error: this server does not implement the grpc health protocol "
                    "(grpc.health.v1.Health): {}",
                    status.message));
  if (status.code != 0)
    return Failure(fmt::format("error: health rpc probe failed: {}", described));
  const auto response = ResponseIn(outcome.body);
  if (!response)
    return Failure(
        "error: health rpc probe failed: rpc error: code = Internal desc = malformed message");
  using Response = grpc::health::v1::HealthCheckResponse;
  if (response->status() == Response::SERVING)
    return {.kind = Kind::kSuccess, .text = "service healthy"};
  const std::string name = Response::ServingStatus_Name(response->status());
  return Failure(fmt::format("service unhealthy (responded with \"{}\")",
                             name.empty() ? std::to_string(response->status()) : name));
}

const std::string& HostOf(const ProbeAction& action) {
  static const std::string kNone;
  if (const auto* get = std::get_if<HttpProbe>(&action)) return get->host;
  if (const auto* tcp = std::get_if<TcpProbe>(&action)) return tcp->host;
  if (const auto* rpc = std::get_if<GrpcProbe>(&action)) return rpc->host;
  return kNone;
}

}  // namespace

std::optional<http::Exchange> ExchangeOf(const ProbeCall& call) {
  if (HostOf(call.action).empty()) return std::nullopt;
  if (const auto* rpc = std::get_if<GrpcProbe>(&call.action))
    return ExchangeFor(*rpc, call.timeout);
  if (const auto* tcp = std::get_if<TcpProbe>(&call.action))
    return http::Exchange{.protocol = http::Exchange::Protocol::kConnect,
                          .url = fmt::format("http://{}/", HostAndPort(tcp->host, tcp->port))};
  const auto& get = std::get<HttpProbe>(call.action);
  return http::Exchange{.url = get.url, .headers = get.headers, .max_bytes = kMaxProbeOutput};
}

ProbeAnswer AnswerWithoutAddress(const ProbeAction& action) {
  const std::string_view why = "the pod has no address";
  if (const auto* get = std::get_if<HttpProbe>(&action))
    return Failure(fmt::format("Get \"{}\": {}", get->url, why));
  return Failure(why);
}

ProbeAnswer AnswerOf(const ProbeCall& call, const Outcome& outcome) {
  if (IsNoAnswer(outcome.status))
    return {.kind = Kind::kError, .text = ToText(Message(outcome.status), kMaxProbeOutput)};
  if (const auto* rpc = std::get_if<GrpcProbe>(&call.action))
    return GrpcAnswer(*rpc, call.timeout, outcome);
  if (std::holds_alternative<HttpProbe>(call.action)) return HttpAnswer(outcome);
  return outcome.status.ok() ? ProbeAnswer{.kind = Kind::kSuccess, .text = ""}
                             : Failure(Message(outcome.status));
}

}  // namespace splitlet::pod_worker
