#pragma once

/// OTLP over HTTP, as protobuf, by libcurl, with one connection that is kept. Threads, errors: as
/// sender.h.

#include <memory>

#include "libs/trace/sender.h"

namespace splitlet::trace {

class HttpSender final : public SpanSender {
 public:
  HttpSender(const Collector& collector, const Clock& clock);
  ~HttpSender() override;
  Status Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) override;

 private:
  struct Handle;
  const Clock& clock_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace splitlet::trace
