#pragma once

/// rest_client_*: number and duration of requests to the API server, under client-go's names.
/// Several registrations in one registry share their series.
/// Threads: any; nothing fails.
/// Source:  docs/metrics.md; client-go metrics.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
#include <optional>
#include <string>

#include "libs/base/clock.h"

namespace splitlet::apiclient {

class ClientMetrics {
 public:
  explicit ClientMetrics(prometheus::Registry& registry);

  struct Call {
    std::string method, host;
    int code = 0;  // 0: no answer
    Duration took{0};
    size_t sent_bytes = 0, received_bytes = 0;
  };
  void NoteCall(const Call& call);
  /// The head of a watch's answer, or the error in its place; the duration of a watch is not
  /// measured.
  void NoteWatch(const std::string& host, int code);
  void NoteLimited(const std::string& method, const std::string& host, Duration waited);
  /// Counts a repeated request, with the code of the answer before; 0: no answer.
  void NoteRetry(const std::string& method, const std::string& host, int code);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& retries_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Family<prometheus::Histogram>& limited_seconds_;
  prometheus::Family<prometheus::Histogram>& sent_bytes_;
  prometheus::Family<prometheus::Histogram>& received_bytes_;
};

/// rest_client_exec_plugin_*, for a kubeconfig with a credential plugin.
class PluginMetrics {
 public:
  explicit PluginMetrics(prometheus::Registry& registry);

  /// Result of a plugin's run, under client-go's names.
  enum class Result { kDone, kFailed, kNotFound, kNoAnswer };
  void NoteRun(Result result, int exit_code);
  /// Rest of the certificate's validity; nullopt: the plugin has not given one.
  void SetTtl(std::optional<Duration> left);
  /// Age of the certificate that another one replaced.
  void NoteRotation(Duration age);

 private:
  prometheus::Family<prometheus::Counter>& runs_;
  prometheus::Gauge& ttl_;
  prometheus::Histogram& rotation_age_;
};

}  // namespace splitlet::apiclient
