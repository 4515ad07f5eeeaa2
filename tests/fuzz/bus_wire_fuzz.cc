// A fuzz target over bytes from the bus and from answers to List. For any bytes the result is an
// error, or a message that survives its own encoding; and no message can hide the true owner from a
// view.

#include <google/protobuf/stubs/logging.h>

#include "libs/bus/table_core.h"
#include "libs/bus/view_core.h"
#include "libs/bus/wire.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;       // NOLINT(google-build-using-namespace): one target
using namespace splitlet::bus;  // NOLINT(google-build-using-namespace): one target

constexpr uint64_t kBoot = 1;
const Clock::Time kNow{kBoot, std::chrono::seconds{100}};
const std::string kOwner = "pleg";

void CheckRoundTrip(const Envelope& envelope) {
  CHECK(!envelope.change || IsKey(envelope.change->key));
  const std::string bytes = EncodeEnvelope(envelope);
  const auto again = DecodeEnvelope(bytes);
  CHECK(again.ok(), "{}", again.status());
  CHECK(again->start == envelope.start && again->sequence == envelope.sequence);
  CHECK(again->change.has_value() == envelope.change.has_value());
}

/// A view sees a record that the owner puts after the message, after two lists at most.
void CheckView(const StatusOr<Envelope>& envelope, const StatusOr<ListAnswer>& listed) {
  ViewCore view(
      {"runtime", kOwner, kNow}, [](const RawView::Change&) {}, [] {});
  view.OnConnection(true, kNow);
  if (envelope.ok()) view.OnEnvelope(*envelope, kNow);
  if (const auto request = view.NextList(kNow)) {
    if (listed.ok()) {
      view.OnListed(request->id, *listed, kNow);
    } else {
      view.OnListFailed(request->id, kNow);
    }
  }
  const StartId restarted{kBoot, (kNow.monotonic + 2 * kStartSlack).count()};
  TableCore owner(kOwner, restarted);  // its next start must be later than any earlier one
  const auto put = owner.Put("key", "true", "");
  CHECK(put.ok());
  Clock::Time now = kNow + 3 * kStartSlack;
  Envelope heartbeat = owner.Heartbeat();
  heartbeat.sent_at = now;
  view.OnEnvelope(heartbeat, now);
  for (int lists = 0; lists < 4; ++lists, now = now + kPollPeriod) {
    const auto request = view.NextList(now);
    if (!request) continue;
    ListAnswer answer = owner.List(request->since);
    answer.sent_at = now;
    view.OnListed(request->id, answer, now);
  }
  const auto found = view.records().find("key");
  CHECK(found != view.records().end() && found->second != nullptr && *found->second == "true");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto envelope = DecodeEnvelope(bytes);
  if (envelope.ok()) CheckRoundTrip(*envelope);
  StatusOr<ListAnswer> listed = ListAnswer();
  v1::ListItem item;
  if (item.ParseFromArray(data, static_cast<int>(size))) {
    const Status taken = DecodeItem(item, item.has_head(), *listed);
    if (!taken.ok()) listed = taken;
  } else {
    listed = InvalidArgument("no item");
  }
  CheckView(envelope, listed);
  return envelope.ok() || listed.ok() ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  google::protobuf::SetLogHandler(nullptr);  // otherwise it logs each input
  FuzzCorpus corpus;
  TableCore table(kOwner, {kBoot, 90'000'000'000});
  v1::RuntimeRecord record;
  record.mutable_pod()->set_uid("key");
  record.mutable_pod()->set_name("web");
  corpus.inputs.push_back(
      EncodeEnvelope(**table.Put("key", record.SerializeAsString(), "00-trace")));
  corpus.inputs.push_back(EncodeEnvelope(*table.Remove("key", "")));
  Completeness complete;
  complete.scopes = {"all", "file"};
  complete.observed_at = kNow;
  complete.not_vouched = {"uid-1"};
  corpus.inputs.push_back(EncodeEnvelope(*table.SetComplete(complete)));
  ListAnswer answer = table.List({});
  answer.sent_at = kNow;
  v1::ListItem head, change;
  EncodeHead(answer, head);
  EncodeItem({.key = "key", .record = std::make_shared<const std::string>("x")}, change);
  corpus.inputs.push_back(head.SerializeAsString());
  corpus.inputs.push_back(change.SerializeAsString());
  corpus.tokens = {"pleg",
                   "key",
                   "../",
                   std::string(1, '\0'),
                   "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F",
                   "\x0A\x00",
                   "\x12\xFF",
                   "\xED\xB0\x80"};
  return corpus;
}
