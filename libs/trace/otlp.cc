#include "libs/trace/otlp.h"

#include <charconv>

#include "libs/trace/grpc_sender.h"
#include "libs/trace/http_sender.h"
#include "opentelemetry/trace_service.pb.h"

namespace splitlet::trace {
namespace {

std::string BytesOfHex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned char byte = 0;
    const auto parsed = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (parsed.ec != std::errc()) return "";
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

otlp::Span::Kind KindOf(SpanKind kind) {
  switch (kind) {
    case SpanKind::kInternal: return otlp::Span::KIND_INTERNAL;
    case SpanKind::kServer: return otlp::Span::KIND_SERVER;
    case SpanKind::kClient: return otlp::Span::KIND_CLIENT;
    case SpanKind::kProducer: return otlp::Span::KIND_PRODUCER;
    case SpanKind::kConsumer: return otlp::Span::KIND_CONSUMER;
  }
  UNREACHABLE();
}

template <class Message>
void AddAttribute(Message& to, std::string_view key, const std::string& value) {
  auto& attribute = *to.add_attributes();
  attribute.set_key(std::string(key));
  attribute.mutable_value()->set_string_value(value);
}

void Fill(otlp::Span& to, const SpanRecord& span) {
  to.set_trace_id(BytesOfHex(span.trace_id));
  to.set_span_id(BytesOfHex(span.span_id));
  to.set_parent_span_id(BytesOfHex(span.parent_id));
  to.set_name(span.name);
  to.set_kind(KindOf(span.kind));
  to.set_start_time_unix_nano(static_cast<uint64_t>(ToNanos(span.begin)));
  to.set_end_time_unix_nano(static_cast<uint64_t>(ToNanos(span.end)));
  for (const auto& [key, value] : span.attributes) AddAttribute(to, key, value);
  if (span.status.ok()) return;
  to.mutable_status()->set_code(otlp::SpanStatus::CODE_ERROR);
  to.mutable_status()->set_message(ToString(span.status));
}

}  // namespace

otlp::ExportTraceServiceRequest MakeRequest(const Origin& origin,
                                            const std::vector<SpanRecord>& spans) {
  otlp::ExportTraceServiceRequest request;
  auto& of_process = *request.add_resource_spans();
  AddAttribute(*of_process.mutable_resource(), "service.name", "splitlet-" + origin.process);
  AddAttribute(*of_process.mutable_resource(), "service.version", origin.version);
  AddAttribute(*of_process.mutable_resource(), "host.name", origin.node_name);
  auto& of_scope = *of_process.add_scope_spans();
  of_scope.mutable_scope()->set_name("splitlet");
  of_scope.mutable_scope()->set_version(origin.version);
  for (const SpanRecord& span : spans) Fill(*of_scope.add_spans(), span);
  return request;
}

std::string BytesOf(const otlp::ExportTraceServiceRequest& request) {
  return request.SerializeAsString();
}

Status CheckAnswer(const otlp::ExportTraceServiceResponse& answer) {
  const auto& partial = answer.partial_success();
  if (partial.rejected_spans() == 0) return OkStatus();
  return InvalidArgument("{} spans were refused: {}", partial.rejected_spans(),
                         partial.error_message());
}

Status CheckAnswer(const std::string& bytes) {
  otlp::ExportTraceServiceResponse answer;
  return answer.ParseFromString(bytes) ? CheckAnswer(answer) : OkStatus();
}

std::unique_ptr<SpanSender> MakeSender(const Collector& collector, const Clock& clock) {
  if (collector.protocol == Collector::Protocol::kGrpc)
    return MakeGrpcSender(collector.endpoint, clock);
  return std::make_unique<HttpSender>(collector, clock);
}

}  // namespace splitlet::trace
