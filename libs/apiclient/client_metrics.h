#pragma once

/// rest_client_*: what is asked of the API server and how long that takes, under client-go's names.
/// Registered more than once in a registry they are the same series.
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
    int code = 0;  // 0: there was no answer
    Duration took{0};
    size_t sent_bytes = 0, received_bytes = 0;
  };
  void NoteCall(const Call& call);
  /// The head of a watch's answer, or what it got instead; how long it goes on is not counted.
  void NoteWatch(const std::string& host, int code);
  void NoteLimited(const std::string& method, const std::string& host, Duration waited);
  /// It is sent again, after an answer of this code; 0: after none.
  void NoteRetry(const std::string& method, const std::string& host, int code);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Counter>& retries_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Family<prometheus::Histogram>& limited_seconds_;
  prometheus::Family<prometheus::Histogram>& sent_bytes_;
  prometheus::Family<prometheus::Histogram>& received_bytes_;
};

/// rest_client_exec_plugin_*, of a client whose kubeconfig may name a credential plugin.
class PluginMetrics {
 public:
  explicit PluginMetrics(prometheus::Registry& registry);

  /// How a run of the plugin ended, under client-go's names.
  enum class Result { kDone, kFailed, kNotFound, kNoAnswer };
  void NoteRun(Result result, int exit_code);
  /// Of the certificate that it has given; none: it has not given one.
  void SetTtl(std::optional<Duration> left);
  /// How old the certificate was that another one has replaced.
  void NoteRotation(Duration age);

 private:
  prometheus::Family<prometheus::Counter>& runs_;
  prometheus::Gauge& ttl_;
  prometheus::Histogram& rotation_age_;
};

}  // namespace splitlet::apiclient
