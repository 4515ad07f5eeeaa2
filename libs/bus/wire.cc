#include "libs/bus/wire.h"

#include "libs/bus/boot_time.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::bus {
namespace {

// No record of an envelope is above kMaxPublishedBytes; a heartbeat names keys.
constexpr size_t kMaxEnvelopeBytes = 8u << 20;

void EncodeHeartbeat(const Promise& promise, Clock::Time sent_at, v1::Heartbeat& out) {
  const auto& complete = promise.completeness;
  for (const auto& scope : complete.scopes) out.add_complete(scope);
  if (complete.observed_at) ToProto(complete.observed_at, *out.mutable_observed_at());
  for (const auto& key : complete.not_vouched) out.add_not_vouched(key);
  out.set_version(promise.version);
  ToProto(sent_at, *out.mutable_sent_at());
}

Promise DecodePromise(const v1::Heartbeat& heartbeat) {
  Promise promise;
  promise.version = heartbeat.version();
  promise.completeness.scopes.insert(heartbeat.complete().begin(), heartbeat.complete().end());
  promise.completeness.observed_at = FromProto(heartbeat.observed_at());
  promise.completeness.not_vouched.insert(heartbeat.not_vouched().begin(),
                                          heartbeat.not_vouched().end());
  return promise;
}

void EncodeChange(const Change& change, v1::Change& out) {
  out.set_key(change.key);
  out.set_removal(change.removal);
  out.set_too_large(change.too_large);
  if (change.record != nullptr) out.set_record(*change.record);
}

Change DecodeChange(v1::Change& change, uint32_t schema) {
  Change decoded;
  decoded.key = std::move(*change.mutable_key());
  decoded.removal = change.removal();
  decoded.too_large = change.too_large();
  decoded.schema = schema;
  decoded.traceparent = std::move(*change.mutable_traceparent());
  if (!decoded.removal && !decoded.too_large)
    decoded.record = std::make_shared<const std::string>(std::move(*change.mutable_record()));
  return decoded;
}

}  // namespace

std::string EncodeEnvelope(const Envelope& envelope) {
  v1::Envelope out;
  out.set_start_boot(envelope.start.boot);
  out.set_start_ns(envelope.start.ns);
  out.set_sequence(envelope.sequence);
  out.set_producer(envelope.producer);
  out.set_schema(kSchema);
  if (envelope.change) {
    out.set_traceparent(envelope.change->traceparent);
    EncodeChange(*envelope.change, *out.mutable_change());
  } else {
    EncodeHeartbeat(envelope.promise, envelope.sent_at, *out.mutable_heartbeat());
  }
  return out.SerializeAsString();
}

StatusOr<Envelope> DecodeEnvelope(std::string_view bytes) {
  v1::Envelope in;
  if (bytes.size() > kMaxEnvelopeBytes) return InvalidArgument("too long for an envelope");
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return InvalidArgument("not an envelope");
  Envelope envelope;
  envelope.start = {in.start_boot(), in.start_ns()};
  envelope.sequence = in.sequence();
  envelope.producer = in.producer();
  if (in.has_change()) {
    envelope.change = DecodeChange(*in.mutable_change(), in.schema());
    envelope.change->traceparent = in.traceparent();
    if (!IsKey(envelope.change->key) || envelope.sequence == 0)
      return InvalidArgument("a change without key or number");
  } else if (in.has_heartbeat()) {
    envelope.promise = DecodePromise(in.heartbeat());
    envelope.sent_at = FromProto(in.heartbeat().sent_at());
  } else {
    return InvalidArgument("neither change nor heartbeat");
  }
  return envelope;
}

void EncodeRequest(const std::string& table, const Since& since, v1::ListRequest& request) {
  request.set_table(table);
  request.set_since_boot(since.start.boot);
  request.set_since_start_ns(since.start.ns);
  request.set_since_sequence(since.sequence);
}

Since DecodeSince(const v1::ListRequest& request) {
  return {{request.since_boot(), request.since_start_ns()}, request.since_sequence()};
}

void EncodeHead(const ListAnswer& answer, v1::ListItem& item) {
  auto& head = *item.mutable_head();
  head.set_start_boot(answer.start.boot);
  head.set_start_ns(answer.start.ns);
  head.set_sequence(answer.sequence);
  head.set_full(answer.full);
  head.set_schema(kSchema);
  EncodeHeartbeat(answer.promise, answer.sent_at, *head.mutable_heartbeat());
}

void EncodeItem(const Change& change, v1::ListItem& item) {
  auto& out = *item.mutable_change();
  EncodeChange(change, out);
  out.set_traceparent(change.traceparent);
}

Status DecodeItem(v1::ListItem& item, bool first, ListAnswer& answer) {
  if (first != item.has_head() || first == item.has_change())
    return InvalidArgument("not a head, then changes");
  if (!first) {
    if (answer.changes.size() >= kMaxListed)
      return ResourceExhausted("a list of more than {} records", kMaxListed);
    answer.changes.push_back(DecodeChange(*item.mutable_change(), answer.schema));
    if (!IsKey(answer.changes.back().key)) return InvalidArgument("a change without key");
    return OkStatus();
  }
  const auto& head = item.head();
  answer.start = {head.start_boot(), head.start_ns()};
  answer.sequence = head.sequence();
  answer.full = head.full();
  answer.schema = head.schema();
  answer.promise = DecodePromise(head.heartbeat());
  answer.sent_at = FromProto(head.heartbeat().sent_at());
  if (!answer.start) return InvalidArgument("a list without a start");
  return OkStatus();
}

}  // namespace splitlet::bus
