#include "libs/apiclient/client_metrics.h"

#include <limits>

#include "libs/base/status.h"

namespace splitlet::apiclient {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

Buckets SecondsBuckets() { return {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}; }

Buckets BytesBuckets() {
  return {64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216};
}

std::string CodeLabel(int code) { return code == 0 ? "<error>" : std::to_string(code); }

/// From ten minutes to four years.
Buckets RotationBuckets() {
  return {600, 1800, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000};
}

const char* LabelOf(PluginMetrics::Result result) {
  switch (result) {
    case PluginMetrics::Result::kDone: return "no_error";
    case PluginMetrics::Result::kFailed: return "plugin_execution_error";
    case PluginMetrics::Result::kNotFound: return "plugin_not_found_error";
    case PluginMetrics::Result::kNoAnswer: return "client_internal_error";
  }
  UNREACHABLE();
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ClientMetrics::ClientMetrics(prometheus::Registry& registry)
    : requests_(prometheus::BuildCounter()
                    .Name("rest_client_requests_total")
                    .Help("Requests to the API server, by the code of its answer")
                    .Register(registry)),
      retries_(prometheus::BuildCounter()
                   .Name("rest_client_request_retries_total")
                   .Help("Requests to the API server that were sent again")
                   .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("rest_client_request_duration_seconds")
                   .Help("Time until the API server answered")
                   .Register(registry)),
      limited_seconds_(prometheus::BuildHistogram()
                           .Name("rest_client_rate_limiter_duration_seconds")
                           .Help("Time that requests waited for the rate limit of this client")
                           .Register(registry)),
      sent_bytes_(prometheus::BuildHistogram()
                      .Name("rest_client_request_size_bytes")
                      .Help("Bodies of requests to the API server")
                      .Register(registry)),
      received_bytes_(prometheus::BuildHistogram()
                          .Name("rest_client_response_size_bytes")
                          .Help("Bodies of answers of the API server")
                          .Register(registry)) {}

void ClientMetrics::NoteCall(const Call& call) {
  requests_.Add({{"code", CodeLabel(call.code)}, {"method", call.method}, {"host", call.host}})
      .Increment();
  const prometheus::Labels by{{"verb", call.method}, {"host", call.host}};
  seconds_.Add(by, SecondsBuckets()).Observe(Seconds(call.took));
  sent_bytes_.Add(by, BytesBuckets()).Observe(static_cast<double>(call.sent_bytes));
  if (call.code != 0)
    received_bytes_.Add(by, BytesBuckets()).Observe(static_cast<double>(call.received_bytes));
}

void ClientMetrics::NoteWatch(const std::string& host, int code) {
  requests_.Add({{"code", CodeLabel(code)}, {"method", "GET"}, {"host", host}}).Increment();
}

void ClientMetrics::NoteLimited(const std::string& method, const std::string& host,
                                Duration waited) {
  limited_seconds_.Add({{"verb", method}, {"host", host}}, SecondsBuckets())
      .Observe(Seconds(waited));
}

void ClientMetrics::NoteRetry(const std::string& method, const std::string& host, int code) {
  retries_.Add({{"code", CodeLabel(code)}, {"verb", method}, {"host", host}}).Increment();
}

PluginMetrics::PluginMetrics(prometheus::Registry& registry)
    : runs_(prometheus::BuildCounter()
                .Name("rest_client_exec_plugin_call_total")
                .Help("Runs of the credential plugin, by exit code and result")
                .Register(registry)),
      ttl_(prometheus::BuildGauge()
               .Name("rest_client_exec_plugin_ttl_seconds")
               .Help("Remaining validity of the credential plugin's certificate; +Inf without "
                     "one")
               .Register(registry)
               .Add({})),
      rotation_age_(prometheus::BuildHistogram()
                        .Name("rest_client_exec_plugin_certificate_rotation_age")
                        .Help("Age in seconds of certificates of the credential plugin when the "
                              "next one came")
                        .Register(registry)
                        .Add({}, RotationBuckets())) {
  SetTtl(std::nullopt);
}

void PluginMetrics::NoteRun(Result result, int exit_code) {
  runs_.Add({{"code", std::to_string(exit_code)}, {"call_status", LabelOf(result)}}).Increment();
}

void PluginMetrics::SetTtl(std::optional<Duration> left) {
  ttl_.Set(left ? Seconds(*left) : std::numeric_limits<double>::infinity());
}

void PluginMetrics::NoteRotation(Duration age) { rotation_age_.Observe(Seconds(age)); }

}  // namespace splitlet::apiclient
