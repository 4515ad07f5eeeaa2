#include "libs/operate/bus_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/one_line.h"
#include "libs/base/trace.h"
#include "libs/bus/bus.h"
#include "libs/operate/text.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::operate {
namespace {

namespace core = k8s::io::api::core::v1;

/// Interval of measurements without changes: 10 s.
constexpr const char* kMeasured = "measured";

/// Parts of a line, joined by "; ".
class Parts {
 public:
  void Add(const std::string& text) {
    if (text.empty()) return;
    if (!text_.empty()) text_ += "; ";
    text_ += text;
  }
  std::string Text(std::string_view otherwise) const {
    return text_.empty() ? std::string(otherwise) : text_;
  }

 private:
  std::string text_;
};

template <class R>
R Parse(const std::string& bytes) {
  R record;
  record.ParseFromString(bytes);
  return record;
}

std::string WithReason(const std::string& what, const std::string& reason,
                       const std::string& message) {
  std::string text = what;
  if (!reason.empty()) text += ": " + reason;
  if (!message.empty()) text += ": " + message;
  return text;
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  });
  return text;
}

std::string DescribeDesired(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::DesiredRecord>(old_bytes), after = Parse<v1::DesiredRecord>(bytes);
  Parts parts;
  if (before.state() != after.state() || before.incarnation() != after.incarnation())
    parts.Add(fmt::format("{} by {}", Lower(v1::DesiredRecord::State_Name(after.state())),
                          after.source()));
  else if (before.generation() != after.generation())
    parts.Add("spec changed");
  if (before.problem() != after.problem())
    parts.Add(after.problem().empty() ? "the source is valid again"
                                      : "keeping the last good version: " + after.problem());
  return parts.Text("updated");
}

std::string DescribeAdmission(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::AdmissionRecord>(old_bytes),
             after = Parse<v1::AdmissionRecord>(bytes);
  if (before.decision() == after.decision() && before.incarnation() == after.incarnation())
    return "decided again, same result";
  return WithReason(Lower(v1::AdmissionRecord::Decision_Name(after.decision())), after.reason(),
                    after.message());
}

void AddNotes(const v1::WorkerRecord& before, const v1::WorkerRecord& after, Parts& parts) {
  for (const v1::WaitingReason& note : after.containers()) {
    const bool known =
        std::ranges::any_of(before.containers(), [&note](const v1::WaitingReason& other) {
          return other.name() == note.name() && other.reason() == note.reason() &&
                 other.message() == note.message();
        });
    if (!known && !note.reason().empty())
      parts.Add(WithReason(note.name() + " waits", note.reason(), note.message()));
  }
}

std::string DescribeWorker(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::WorkerRecord>(old_bytes), after = Parse<v1::WorkerRecord>(bytes);
  Parts parts;
  if (before.state() != after.state() || before.incarnation() != after.incarnation())
    parts.Add(
        WithReason(Lower(v1::WorkerState_Name(after.state())), after.reason(), after.message()));
  if (!before.granted() && after.granted()) parts.Add("has its grant");
  if (before.evicted() != after.evicted() && after.evicted()) parts.Add("evicted");
  if (!before.has_terminal_status() && after.has_terminal_status())
    parts.Add(WithReason("ends as " + after.terminal_status().phase(),
                         after.terminal_status().reason(), after.terminal_status().message()));
  AddNotes(before, after, parts);
  if (before.sync_error() != after.sync_error())
    parts.Add(after.sync_error().empty() ? "sync succeeded again"
                                         : "sync failed: " + after.sync_error());
  if (before.refusal() != after.refusal() && !after.refusal().empty())
    parts.Add("its grant is refused: " + after.refusal());
  if (before.admission_reason() != after.admission_reason() && !after.admission_reason().empty())
    parts.Add("waits: " + after.admission_reason());
  if (before.held() != after.held())
    parts.Add(after.held() ? "held for removal" : "no longer held");
  return parts.Text("updated");
}

std::string ContainerText(const v1::ContainerRecord& c) {
  if (c.state() == v1::ContainerRecord::EXITED)
    return fmt::format("{} exited {}{}", c.name(), c.exit_code(),
                       c.reason().empty() ? "" : " (" + c.reason() + ")");
  const std::string attempt = c.attempt() == 0 ? "" : fmt::format(" (attempt {})", c.attempt());
  return fmt::format("{} {}{}", c.name(), Lower(v1::ContainerRecord::State_Name(c.state())),
                     attempt);
}

std::string SandboxText(const v1::SandboxRecord& s) {
  std::string text = fmt::format("sandbox {} {}", s.id().substr(0, 12),
                                 Lower(v1::SandboxRecord::State_Name(s.state())));
  if (s.ips_size() > 0) text += " " + s.ips(0);
  return text;
}

/// New and changed entries, then removed ones; the oldest first.
template <class List>
void AddObserved(const List& before, const List& after, Parts& parts,
                 const std::function<std::string(const typename List::value_type&)>& text) {
  std::map<std::string, std::string> known;
  for (const auto& item : before) known[item.id()] = text(item);
  for (int i = after.size() - 1; i >= 0; --i) {
    const std::string now = text(after[i]);
    const auto found = known.find(after[i].id());
    if (found == known.end() || found->second != now) parts.Add(now);
    if (found != known.end()) known.erase(found);
  }
  for (const auto& [id, last] : known) parts.Add("gone: " + last);
}

std::string DescribeRuntime(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::RuntimeRecord>(old_bytes), after = Parse<v1::RuntimeRecord>(bytes);
  Parts parts;
  AddObserved(before.pod().sandboxes(), after.pod().sandboxes(), parts, SandboxText);
  AddObserved(before.pod().containers(), after.pod().containers(), parts, ContainerText);
  if (before.inspect_error() != after.inspect_error())
    parts.Add(after.inspect_error().empty() ? "inspected again"
                                            : "inspection failed: " + after.inspect_error());
  return parts.Text("inspected");
}

std::string DescribeNode(const v1::NodeRecord& before, const v1::NodeRecord& after) {
  Parts parts;
  for (const v1::NodeCondition& condition : after.conditions()) {
    const bool known =
        std::ranges::any_of(before.conditions(), [&condition](const v1::NodeCondition& other) {
          return other.type() == condition.type() && other.status() == condition.status() &&
                 other.message() == condition.message();
        });
    if (!known)
      parts.Add(fmt::format("{}={} {}", condition.type(), condition.status(), condition.message()));
  }
  return parts.Text("updated");
}

std::string DescribePodStatus(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::PodStatusRecord>(old_bytes),
             after = Parse<v1::PodStatusRecord>(bytes);
  if (after.has_node()) return DescribeNode(before.node(), after.node());
  const auto old_status = Parse<core::PodStatus>(before.status()),
             status = Parse<core::PodStatus>(after.status());
  Parts parts;
  if (old_status.phase() != status.phase())
    parts.Add(WithReason(status.phase(), status.reason(), status.message()));
  for (const auto& condition : status.conditions()) {
    const bool known =
        std::ranges::any_of(old_status.conditions(), [&condition](const core::PodCondition& other) {
          return other.type() == condition.type() && other.status() == condition.status();
        });
    if (!known) parts.Add(fmt::format("{}={}", condition.type(), condition.status()));
  }
  if (!before.deletable() && after.deletable()) parts.Add("may be deleted");
  return parts.Text("updated");
}

std::string DescribePressure(const std::string& old_bytes, const std::string& bytes) {
  const auto before = Parse<v1::PressureRecord>(old_bytes),
             after = Parse<v1::PressureRecord>(bytes);
  Parts parts;
  const std::set<std::string> old_set(before.conditions().begin(), before.conditions().end());
  const std::set<std::string> set(after.conditions().begin(), after.conditions().end());
  for (const auto& condition : set)
    if (!old_set.contains(condition)) parts.Add(condition);
  for (const auto& condition : old_set)
    if (!set.contains(condition)) parts.Add("no more " + condition);
  if (before.shutting_down() != after.shutting_down())
    parts.Add(after.shutting_down() ? "shuts down" : "shutdown cancelled");
  if (before.reclaimed() != after.reclaimed()) parts.Add(after.reclaimed());
  return parts.Text(kMeasured);
}

/// {namespace, name} of a record, if it has them.
std::pair<std::string, std::string> NameIn(std::string_view table, const std::string& bytes) {
  const auto of = [](const auto& record) { return std::pair(record.namespace_(), record.name()); };
  if (table == "desired") return of(Parse<v1::DesiredRecord>(bytes));
  if (table == "admission") return of(Parse<v1::AdmissionRecord>(bytes));
  if (table == "workers") return of(Parse<v1::WorkerRecord>(bytes));
  if (table == "runtime") return of(Parse<v1::RuntimeRecord>(bytes).pod());
  if (table == "podstatus") return of(Parse<v1::PodStatusRecord>(bytes));
  return {};
}

std::string HeartbeatText(const v1::Heartbeat& heartbeat, uint64_t sequence) {
  std::string complete;
  for (const auto& scope : heartbeat.complete()) complete += (complete.empty() ? "" : ", ") + scope;
  std::string text = fmt::format("heartbeat, sequence {}, complete: {}", sequence,
                                 complete.empty() ? "nothing" : complete);
  if (heartbeat.not_vouched_size() > 0)
    text += fmt::format(", stale: {} pods", heartbeat.not_vouched_size());
  return text;
}

}  // namespace

std::string DescribeChange(std::string_view table, const std::string& before,
                           const std::string& after) {
  if (table == "desired") return DescribeDesired(before, after);
  if (table == "admission") return DescribeAdmission(before, after);
  if (table == "workers") return DescribeWorker(before, after);
  if (table == "runtime") return DescribeRuntime(before, after);
  if (table == "podstatus") return DescribePodStatus(before, after);
  if (table == "pressure") return DescribePressure(before, after);
  return "updated";
}

BusEvent BusReader::Read(const BusMessage& message) {
  // Subject: splitlet.<node>.<table> or splitlet.<node>.<process>.<signal>
  const auto node = message.subject.find('.');
  const auto rest = node == std::string::npos ? node : message.subject.find('.', node + 1);
  if (rest == std::string::npos)
    return {.at = message.at, .topic = message.subject, .text = "not a subject of splitlet"};
  const std::string name = message.subject.substr(rest + 1);
  const auto dot = name.find('.');
  if (dot == std::string::npos) return ReadTable(message, name);
  BusEvent event{.at = message.at,
                 .process = name.substr(0, dot),
                 .topic = name.substr(dot + 1),
                 .text = "signal"};
  if (const auto found = names_.find(message.bytes); found != names_.end()) {
    event.key = found->first;
    event.pod = found->second;
  } else if (!message.bytes.empty() &&
             std::ranges::all_of(message.bytes, [](char c) { return c > 0x1f && c < 0x7f; })) {
    event.key = message.bytes;
  }
  return event;
}

BusEvent BusReader::ReadTable(const BusMessage& message, const std::string& table) {
  v1::Envelope envelope;
  BusEvent event{.at = message.at, .process = bus::OwnerOf(table), .topic = table};
  if (!envelope.ParseFromString(message.bytes)) {
    event.text = "cannot be decoded";
    return event;
  }
  if (!envelope.producer().empty()) event.process = envelope.producer();
  if (!envelope.has_change()) {
    event.heartbeat = true;
    event.text = HeartbeatText(envelope.heartbeat(), envelope.sequence());
    return event;
  }
  const v1::Change& change = envelope.change();
  event.key = change.key();
  event.trace_id = TraceIdOf(envelope.traceparent());
  std::string& last = last_[table + "/" + change.key()];
  if (change.removal()) {
    event.text = "record removed";
    last.clear();
  } else if (change.too_large()) {
    event.text = "a record too large for the bus";
  } else {
    LearnName(table, change.key(), change.record());
    event.text = DescribeChange(table, last, change.record());
    event.heartbeat = table == "pressure" && event.text == kMeasured;
    last = change.record();
  }
  const auto found = names_.find(change.key());
  if (found != names_.end()) event.pod = found->second;
  return event;
}

void BusReader::LearnName(const std::string& table, const std::string& key,
                          const std::string& record) {
  const auto [name_space, name] = NameIn(table, record);
  if (!name.empty()) names_[key] = name_space + "/" + name;
}

std::map<std::string, std::string> BusReader::PodsNamed(std::string_view name) const {
  std::map<std::string, std::string> pods;
  const std::string ending = "/" + std::string(name);
  for (const auto& [uid, full] : names_)
    if (full == name || full.ends_with(ending) || uid == name) pods[uid] = full;
  return pods;
}

std::string EventLine(const BusEvent& event) {
  const std::string whom = event.pod.empty() ? event.key : event.pod;
  return OneLine(fmt::format("{}  {:13}  {:11}  {}{}{}", ClockTime(event.at), event.process,
                             event.topic, whom, whom.empty() ? "" : "  ", event.text)) +
         "\n";
}

}  // namespace splitlet::operate
