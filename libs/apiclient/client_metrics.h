#pragma once

/// rest_client_*: what is asked of the API server and how long that takes, under client-go's names.
/// Threads: any; nothing fails.
/// Source:  docs/metrics.md; client-go metrics.

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstddef>
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

}  // namespace splitlet::apiclient
