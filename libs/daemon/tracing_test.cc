#include "libs/daemon/tracing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "libs/config/kubelet_config.h"
#include "libs/config/test_head.h"

namespace splitlet::daemon {
namespace {

using config::kHead;
using config::KubeletConfig;
using config::Reading;

std::string PlanText(const std::string& file, const std::map<std::string, std::string>& variables) {
  KubeletConfig config;
  if (!file.empty()) {
    const auto loaded = KubeletConfig::Load("c.yaml", kHead + file, Reading::kStrict);
    if (!loaded.ok()) return ToString(loaded.status());
    config = *loaded;
  }
  const auto plan = PlanTracing(config, [&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  });
  if (!plan.ok()) return Message(plan.status());
  if (!*plan) return "none";
  const auto& collector = (*plan)->collector;
  std::string text = collector.protocol == trace::Collector::Protocol::kGrpc ? "grpc " : "http ";
  text += fmt::format("{} {}", collector.endpoint, (*plan)->sample_per_million);
  for (const auto& [name, value] : collector.headers) text += fmt::format(" {}={}", name, value);
  return text;
}

TEST(Tracing, FileAndEnvironmentSayWhereTracesGo) {
  const std::string base = "OTEL_EXPORTER_OTLP_ENDPOINT", protocol = "OTEL_EXPORTER_OTLP_PROTOCOL";
  const struct {
    const char* name;
    std::string file;
    std::map<std::string, std::string> variables;
    std::string want;
  } kCases[] = {
      {"nothing is said", "", {}, "none"},
      {"the file, with its defaults", "tracing: {}\n", {}, "grpc localhost:4317 0"},
      {"the file",
       "tracing:\n  endpoint: 10.0.0.1:4317\n  samplingRatePerMillion: 1000\n",
       {},
       "grpc 10.0.0.1:4317 1000"},
      {"the environment", "", {{base, "http://c:4318/"}}, "http http://c:4318/v1/traces 1000000"},
      {"the environment wins, the rate is the file's",
       "tracing:\n  samplingRatePerMillion: 5\n",
       {{base, "https://c"}},
       "http https://c/v1/traces 5"},
      {"an address for traces is taken whole",
       "",
       {{base, "http://c"}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/x"}},
       "http http://d/x 1000000"},
      {"a part of the traces",
       "",
       {{base, "http://c"}, {"OTEL_TRACES_SAMPLER_ARG", "0.25"}},
       "http http://c/v1/traces 250000"},
      {"headers",
       "",
       {{base, "http://c"}, {"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c=d=e"}},
       "http http://c/v1/traces 1000000 a=b c=d=e"},
      {"gRPC", "", {{base, "http://c:4317/"}, {protocol, "grpc"}}, "grpc c:4317 1000000"},
      {"gRPC with TLS",
       "",
       {{base, "https://c:4317"}, {protocol, "grpc"}},
       "environment: OTEL_EXPORTER_OTLP_ENDPOINT: gRPC goes in plain text here; want http://, or "
       "http/protobuf in OTEL_EXPORTER_OTLP_PROTOCOL"},
      {"no URL",
       "",
       {{base, "c:4318"}},
       "environment: OTEL_EXPORTER_OTLP_ENDPOINT: \"c:4318\" does not begin with http:// or "
       "https://"},
      {"JSON",
       "",
       {{base, "http://c"}, {protocol, "http/json"}},
       "environment: OTEL_EXPORTER_OTLP_PROTOCOL: \"http/json\" is neither http/protobuf nor grpc"},
      {"a rate above all",
       "",
       {{base, "http://c"}, {"OTEL_TRACES_SAMPLER_ARG", "2"}},
       "environment: OTEL_TRACES_SAMPLER_ARG: \"2\" is not in 0..1"},
      {"a header without a value, which may be a key and is not shown",
       "",
       {{base, "http://c"}, {"OTEL_EXPORTER_OTLP_HEADERS", "secret"}},
       "environment: headers: OTEL_EXPORTER_OTLP_HEADERS: want name=value,name=value"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(PlanText(c.file, c.variables), c.want);
  }
}

}  // namespace
}  // namespace splitlet::daemon
