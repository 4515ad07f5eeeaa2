#include "libs/cri/incarnation.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::cri {
namespace {

constexpr const char* kLostMessage =
    "The container could not be located when the pod was terminated";

const v1::ContainerRecord* Newest(const v1::ObservedPod& seen, const std::string& name) {
  for (const auto& record : seen.containers())
    if (record.name() == name) return &record;
  return nullptr;
}

bool HasBegun(const StartedAttempts& begun, const v1::ObservedPod& seen, const std::string& name) {
  return begun.contains(name) || Newest(seen, name) != nullptr;
}

/// Init containers that were followed by a later started init container.
std::vector<std::string> Passed(const kube::Pod& pod, const StartedAttempts& begun,
                                const v1::ObservedPod& seen) {
  const auto& spec = pod.spec();
  bool later = std::any_of(spec.containers().begin(), spec.containers().end(),
                           [&](const auto& c) { return HasBegun(begun, seen, c.name()); });
  std::vector<std::string> passed;
  for (int i = spec.init_containers_size() - 1; i >= 0; --i) {
    const std::string& name = spec.init_containers(i).name();
    if (later) passed.push_back(name);
    later = later || HasBegun(begun, seen, name);
  }
  return passed;
}

v1::ContainerRecord LostRecord(const std::string& name, const StartedAttempt& begun) {
  v1::ContainerRecord record;
  record.set_name(name);
  record.set_attempt(begun.attempt);
  record.set_restart_count(begun.restart_count);
  record.set_state(v1::ContainerRecord::EXITED);
  record.set_created_at_ns(begun.begun_at_ns);
  record.set_exit_code(kLostExitCode);
  record.set_reason(std::string(kStatusUnknown));
  record.set_message(kLostMessage);
  return record;
}

}  // namespace

int64_t IncarnationOf(const StringMap& annotations) {
  const auto found = annotations.find(std::string(kIncarnationAnnotation));
  if (found == annotations.end()) return 0;
  const std::string& text = found->second;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::max<int64_t>(value, 0) : 0;
}

bool IsEarlier(int64_t record_incarnation, int64_t incarnation) {
  return record_incarnation != 0 && record_incarnation < incarnation;
}

v1::ObservedPod PresentIncarnation(const v1::ObservedPod& seen, int64_t incarnation) {
  v1::ObservedPod present = seen;
  present.clear_sandboxes();
  present.clear_containers();
  for (const auto& sandbox : seen.sandboxes())
    if (!IsEarlier(sandbox.incarnation(), incarnation)) *present.add_sandboxes() = sandbox;
  for (const auto& record : seen.containers())
    if (!IsEarlier(record.incarnation(), incarnation)) *present.add_containers() = record;
  return present;
}

StartedAttempts FromProto(const BegunList& list) {
  StartedAttempts begun;
  for (const auto& item : list)
    begun[item.name()] = {item.attempt(), item.restart_count(), item.started_at_wall_ns()};
  return begun;
}

void ToProto(const StartedAttempts& begun, BegunList& list) {
  for (const auto& [name, attempt] : begun) {
    auto& item = *list.Add();
    item.set_name(name);
    item.set_attempt(attempt.attempt);
    item.set_restart_count(attempt.restart_count);
    item.set_started_at_wall_ns(attempt.begun_at_ns);
  }
}

void AddLost(const kube::Pod& pod, const StartedAttempts& begun, v1::ObservedPod& seen) {
  const std::vector<std::string> passed = Passed(pod, begun, seen);
  v1::ObservedPod found;
  for (const auto& [name, attempt] : begun) {
    const auto* newest = Newest(seen, name);
    const bool there = newest != nullptr && newest->attempt() >= attempt.attempt;
    if (there || std::find(passed.begin(), passed.end(), name) != passed.end()) continue;
    *found.add_containers() = LostRecord(name, attempt);
  }
  if (found.containers_size() == 0) return;
  for (auto& record : *seen.mutable_containers()) found.add_containers()->Swap(&record);
  seen.mutable_containers()->Swap(found.mutable_containers());
}

bool IsLost(const v1::ContainerRecord& record) {
  return record.id().empty() && record.state() == v1::ContainerRecord::EXITED;
}

}  // namespace splitlet::cri
