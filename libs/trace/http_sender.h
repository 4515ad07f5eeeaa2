#pragma once

/// OTLP over HTTP, as protobuf, over one kept connection. Threads, errors: as sender.h.

#include <string>
#include <vector>

#include "libs/http/http.h"
#include "libs/trace/sender.h"

namespace splitlet::trace {

class HttpSender final : public SpanSender {
 public:
  HttpSender(const Collector& collector, const Clock& clock);
  Status Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) override;

 private:
  const std::string url_;
  std::vector<std::string> headers_;
  http::Client client_;
};

}  // namespace splitlet::trace
