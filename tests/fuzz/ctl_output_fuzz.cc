// A fuzz target over splitletctl's output: for any input from processes, pods and the bus, the text
// has no control characters, and the JSON is valid.

#include <google/protobuf/stubs/logging.h>
#include <rapidjson/document.h>

#include "ctl/commands/doctor.h"
#include "ctl/show/describe.h"
#include "ctl/show/events.h"
#include "ctl/show/node.h"
#include "ctl/show/objects.h"
#include "ctl/show/pods.h"
#include "ctl/show/processes.h"
#include "ctl/show/trace.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/text.h"
#include "libs/operate/bus_text.h"
#include "libs/operate/pod_view.h"
#include "libs/operate/process_view.h"
#include "splitlet/v1/services.pb.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;       // NOLINT(google-build-using-namespace): one target
using namespace splitlet::ctl;  // NOLINT(google-build-using-namespace): one target

const WallTime kNow = WallFromNanos(1'790'000'000'000'000'000);

void CheckText(const std::string& text) {
  CHECK(FindInvalidUtf8(text) == std::string::npos, "{}", text);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    CHECK(c == '\n' || (byte >= 0x20 && byte != 0x7F), "{}", text);
  }
  // C1 controls, and marks that change the direction of text.
  for (const char* obeyed : {"\u009b", "\u0085", "\u200f", "\u202e", "\u2066"})
    CHECK(text.find(obeyed) == std::string::npos, "{}", text);
}

void CheckJson(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  CHECK(!document.HasParseError(), "{}", text);
}

/// Two halves of the input stand for all strings that a pod or another program may choose.
struct Halves {
  std::string first, second;
};

operate::PodView ViewOf(const Halves& in) {
  operate::PodView view;
  view.uid = view.name = view.name_space = view.source = in.first;
  view.pod = std::make_shared<kube::Pod>();
  view.has_status = true;
  auto& meta = *view.pod->mutable_metadata();
  (*meta.mutable_labels())[in.first] = in.second;
  (*meta.mutable_annotations())[in.second] = in.first;
  auto& container = *view.pod->mutable_spec()->add_containers();
  container.set_name(in.first);
  container.set_image(in.second);
  container.add_command(in.first);
  (*container.mutable_resources()->mutable_limits())[in.first].set_string(in.second);
  view.pod->mutable_spec()->add_volumes()->set_name(in.second);
  auto& status = *view.pod->mutable_status();
  status.set_phase(in.second);
  status.set_reason(in.first);
  status.set_message(in.second);
  status.add_conditions()->set_type(in.first);
  auto& state = *status.add_container_statuses();
  state.set_name(in.first);
  state.mutable_state()->mutable_terminated()->set_message(in.second);
  state.mutable_last_state()->mutable_waiting()->set_reason(in.first);
  view.worker = std::make_shared<v1::WorkerRecord>();
  view.worker->set_sync_error(in.second);
  view.runtime = std::make_shared<v1::RuntimeRecord>();
  view.runtime->set_inspect_error(in.first);
  auto& seen = *view.runtime->mutable_pod()->add_containers();
  seen.set_name(in.second);
  seen.set_started_at_ns(1);
  return view;
}

void CheckPods(const Halves& in) {
  const operate::PodView view = ViewOf(in);
  auto event = std::make_shared<v1::EventRecord>();
  event->set_reason(in.first);
  event->set_message(in.second);
  event->set_first_wall_ns(1);
  CheckText(DescribePod(view, {event}, kNow));
  CheckText(PodTable({view, view}, kNow, {.wide = true, .namespaces = true}));
  CheckText(TraceText(LinesOf(view)));
  CheckText(TraceText(LinesOf({event})));
  if (!IsText(in.first) || !IsText(in.second)) return;  // a record cannot contain it
  CheckJson(PodJson(view));
  CheckJson(PodListJson({view}));
}

void CheckProcesses(const Halves& in) {
  operate::ProcessView process{.name = "pleg", .info = std::make_shared<v1::ProcessInfo>()};
  process.info->set_version(in.first);
  process.info->set_reason(in.second);
  process.info->set_last_error(in.first);
  process.info->add_notes(in.second);
  process.info->add_views()->set_table(in.first);
  const operate::ProcessView away{.name = "gc", .problem = in.first};
  v1::Sources sources;
  auto& source = *sources.add_sources();
  source.set_name(in.first);
  source.set_reason(in.second);
  source.add_problems()->set_reason(in.first);
  CheckText(ProcessTable({process, away}, kNow));
  CheckText(SourceTable(sources, kNow));
  CheckText(DoctorText(NotesOf(process)));
  CheckText(DoctorText({JudgeProcess(process), JudgeProcess(away)}));
  if (!IsText(in.first) || !IsText(in.second)) return;
  CheckJson(ProcessJson({process, away}, kNow));
  CheckJson(SourceJson(sources));
}

void CheckNode(const Halves& in) {
  v1::NodeRecord record;
  record.set_name(in.first);
  (*record.mutable_labels())[in.first] = in.second;
  (*record.mutable_capacity())[in.second] = in.first;
  (*record.mutable_allocatable())["cpu"] = in.second;
  record.add_addresses(in.second);
  record.add_taints()->set_key(in.first);
  auto& condition = *record.add_conditions();
  condition.set_type("Ready");
  condition.set_message(in.second);
  const auto node =
      MakeNode(record, {.system = {.os_image = in.first}, .runtime_version = in.second});
  auto event = std::make_shared<v1::EventRecord>();
  event->set_kind(in.first);
  event->set_name(in.second);
  event->set_reason(in.first);
  event->set_message(in.second);
  event->set_field_path(in.first);
  CheckText(NodeTable(*node, kNow, {.wide = true}));
  CheckText(DescribeNode(*node, {ViewOf(in)}, {event}, kNow));
  CheckText(EventTable({event, event}, kNow, {.wide = true, .namespaces = true}));
  if (!IsText(in.first) || !IsText(in.second)) return;
  CheckJson(ObjectJson({"Node", *node}));
  CheckJson(EventListJson({event}));
}

void CheckBusText(const std::string& bytes, const Halves& in) {
  operate::BusReader reader;
  for (const char* table :
       {"desired", "admission", "workers", "runtime", "podstatus", "pressure"}) {
    const operate::BusEvent event =
        reader.Read({.at = kNow, .subject = std::string("splitlet.n.") + table, .bytes = bytes});
    CheckText(operate::EventLine(event));
    CheckText(TraceText({LineOf(event)}));
    CheckText(operate::EventLine(
        {.at = kNow, .text = operate::DescribeChange(table, in.first, in.second)}));
  }
  CheckText(operate::EventLine(reader.Read({.at = kNow, .subject = in.first, .bytes = in.second})));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Halves in{bytes.substr(0, size / 2), bytes.substr(size / 2)};
  CheckPods(in);
  CheckProcesses(in);
  CheckNode(in);
  CheckBusText(bytes, in);
  return 0;
}

FuzzCorpus MakeFuzzCorpus() {
  google::protobuf::SetLogHandler(nullptr);  // otherwise it logs each input
  FuzzCorpus corpus;
  v1::RuntimeRecord record;
  record.mutable_pod()->set_name("web");
  auto& container = *record.mutable_pod()->add_containers();
  container.set_name("app");
  container.set_message("bye");
  v1::Envelope envelope;
  envelope.set_producer("pleg");
  envelope.set_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  envelope.mutable_change()->set_key("uid-1");
  envelope.mutable_change()->set_record(record.SerializeAsString());
  corpus.inputs = {"Running",
                   "a\nb\tc",
                   "\x1B[31mred\x1B[0m",
                   record.SerializeAsString(),
                   envelope.SerializeAsString(),
                   "Completed=\u20ac"};
  corpus.tokens = {
      "\x1B]0;title\x07", "\x1B[2J", "\u009b", "\x9B",    "\u202e", "\r",    "\n", "\x7F",
      "\xE2\x80",         "\b",      "\"",     "\\u001b", "\xC2",   "\u2066"};
  return corpus;
}
