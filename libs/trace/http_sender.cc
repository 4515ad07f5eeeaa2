#include "libs/trace/http_sender.h"

#include "libs/trace/otlp.h"

namespace splitlet::trace {
namespace {

constexpr uint64_t kMaxAnswerBytes = 64 << 10;

}  // namespace

HttpSender::HttpSender(const Collector& collector, const Clock& clock)
    : url_(collector.endpoint), headers_{"Content-Type: application/x-protobuf"}, client_(clock) {
  for (const auto& [name, value] : collector.headers) headers_.push_back(name + ": " + value);
}

Status HttpSender::Send(const otlp::ExportTraceServiceRequest& request, const Deadline& deadline) {
  const std::string body = BytesOf(request);
  ASSIGN_OR_RETURN(
      const auto answer,
      client_.Call({.url = url_, .headers = headers_, .body = body, .max_bytes = kMaxAnswerBytes},
                   deadline),
      "export");
  const int code = answer.code;
  if (code >= 200 && code < 300) return CheckAnswer(answer.body);
  if (code == 429 || code == 502 || code == 503 || code == 504)
    return Unavailable("HTTP status {}", code);
  return InvalidArgument("HTTP status {}", code);
}

}  // namespace splitlet::trace
