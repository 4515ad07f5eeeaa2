#include "libs/daemon/tracing.h"

#include <charconv>
#include <cmath>

namespace splitlet::daemon {
namespace {

constexpr const char* kEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";
constexpr const char* kTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
constexpr const char* kProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL";
constexpr const char* kHeaders = "OTEL_EXPORTER_OTLP_HEADERS";
constexpr const char* kSampler = "OTEL_TRACES_SAMPLER_ARG";
constexpr double kMillion = 1e6;

/// "a=b,c=d".
StatusOr<std::map<std::string, std::string>> ParseHeaders(std::string_view text) {
  std::map<std::string, std::string> headers;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const auto equals = part.find('=');
    // The error hides the value: mostly it is a key.
    if (equals == std::string_view::npos || equals == 0)
      return InvalidArgument("{}: want name=value,name=value", kHeaders);
    headers.emplace(part.substr(0, equals), part.substr(equals + 1));
  }
  return headers;
}

StatusOr<int64_t> ParseRatio(const std::string& text) {
  if (text.empty()) return static_cast<int64_t>(kMillion);
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc{} || end != text.data() + text.size() || !(ratio >= 0 && ratio <= 1))
    return InvalidArgument("{}: \"{}\" is not in 0..1", kSampler, text);
  return std::llround(ratio * kMillion);
}

/// "http://host:4317/" reduced to the target of a gRPC call.
std::string GrpcTarget(const std::string& url) {
  std::string target = url.substr(url.find("://") + 3);
  while (target.ends_with('/')) target.pop_back();
  return target;
}

StatusOr<trace::Collector> CollectorOf(const Environment& environment) {
  const std::string whole = environment(kTracesEndpoint);
  const char* const name = whole.empty() ? kEndpoint : kTracesEndpoint;
  std::string url = whole.empty() ? environment(kEndpoint) : whole;
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return InvalidArgument("{}: \"{}\" does not begin with http:// or https://", name, url);
  const std::string protocol = environment(kProtocol);
  if (protocol == "grpc") {
    if (url.starts_with("https://"))
      return InvalidArgument(
          "{}: gRPC goes in plain text here; want http://, or http/protobuf in {}", name,
          kProtocol);
    return trace::Collector{.protocol = trace::Collector::Protocol::kGrpc,
                            .endpoint = GrpcTarget(url)};
  }
  if (!protocol.empty() && protocol != "http/protobuf")
    return InvalidArgument("{}: \"{}\" is neither http/protobuf nor grpc", kProtocol, protocol);
  if (whole.empty()) {
    while (url.ends_with('/')) url.pop_back();
    url += "/v1/traces";
  }
  ASSIGN_OR_RETURN(auto headers, ParseHeaders(environment(kHeaders)), "headers");
  return trace::Collector{.endpoint = std::move(url), .headers = std::move(headers)};
}

}  // namespace

StatusOr<std::optional<TracingPlan>> PlanTracing(const config::KubeletConfig& config,
                                                 const Environment& environment) {
  const auto& of_file = config.tracing;
  const bool by_environment =
      !environment(kEndpoint).empty() || !environment(kTracesEndpoint).empty();
  if (!by_environment && !of_file) return std::optional<TracingPlan>();
  TracingPlan plan;
  if (by_environment) {
    ASSIGN_OR_RETURN(plan.collector, CollectorOf(environment), "environment");
  } else {
    plan.collector = {.protocol = trace::Collector::Protocol::kGrpc, .endpoint = of_file->endpoint};
  }
  if (of_file) {
    plan.sample_per_million = of_file->sampling_rate_per_million;
  } else {
    ASSIGN_OR_RETURN(plan.sample_per_million, ParseRatio(environment(kSampler)), "environment");
  }
  return std::optional<TracingPlan>(std::move(plan));
}

}  // namespace splitlet::daemon
