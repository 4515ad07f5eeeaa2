// A simulated node lacks resources, and recovers.

#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "libs/bus/names.h"
#include "libs/bus/typed.h"
#include "splitlet/v1/records.pb.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pod_sorts.h"

namespace splitlet::simulation {
namespace {

constexpr const char* kMemory = "/proc/meminfo";
constexpr const char* kEnoughMemory = "MemTotal: 8388608 kB\nActive(anon): 2000000 kB\n";
constexpr const char* kLittleMemory = "MemTotal: 8388608 kB\nActive(anon): 8300000 kB\n";
constexpr uint64_t kDisk = 100ULL << 30;

bool IsSaid(const v1::PodStatusRecord& record, const std::string& condition) {
  for (const auto& one : record.node().conditions())
    if (one.type() == condition) return one.status() == "True";
  return false;
}

}  // namespace

void SimNode::EvictUnderPressure() {
  eviction_hard_ = {{"memory.available", "100Mi"}, {"nodefs.available", "10%"}};
  SetShort({});
}

void SimNode::SetShort(std::optional<Shortage> what) {
  const bool memory = what == Shortage::kMemory, disk = what == Shortage::kDisk;
  CHECK(files_.Replace(kMemory, memory ? kLittleMemory : kEnoughMemory, {}).ok());
  files_.SetUsage("/kubelet", {.capacity_bytes = kDisk,
                               .available_bytes = disk ? kDisk / 20 : kDisk / 2,
                               .inodes = 1'000'000,
                               .inodes_free = 900'000});
}

void SimNode::RunShort(Shortage what, Duration duration, const FaultPlan& plan) {
  const char* const condition = what == Shortage::kMemory ? "MemoryPressure" : "DiskPressure";
  SetShort(what);
  pressed_ = false;
  pressure_ = condition;
  RunFor(duration, plan);
  if (!pressed_) Report(fmt::format("{} was never said", condition));
  SetShort({});
}

void SimNode::OnEvict(const std::string& uid) {
  const auto record = told_->Find(bus::KeyOf(uid));
  const bool critical = record != nullptr && SortOf(record->name()).priority >= kNodeCritical;
  const auto wrong = evictions_.OnAsked(clock_.Now(), uid, critical, RunningPods());
  if (!wrong.empty()) Report(wrong);
}

void SimNode::OnGcDied() {
  const auto victims = files_.List("/run/gc/victims");
  if (!victims.ok()) return;
  for (const auto& victim : *victims) evictions_.OnLeft(victim.name);
}

void SimNode::WatchPressure(const v1::PodStatusRecord& record) {
  if (pressure_.empty()) return;
  if (record.has_node()) {
    pressed_ = pressed_ || IsSaid(record, pressure_);
    return;
  }
  kube::PodStatus status;
  if (!status.ParseFromString(record.status())) return;
  const auto wrong = evictions_.OnShown(record.uid(), status.phase(), status.reason());
  if (!wrong.empty()) Report(wrong);
}

void SimNode::CheckPressure(std::vector<std::string>& found) {
  if (pressure_.empty()) return;
  std::set<std::string> ends;
  told_->ForEach([&](const std::string&, const auto& record) {
    if (record == nullptr) return;
    if (record->has_node() && IsSaid(*record, pressure_))
      found.push_back(pressure_ + " is still said");
    for (const auto& [name, wanted] : wanted_)
      if (record->name().starts_with(name + "-") &&
          (wanted.kind == Wanted::Kind::kJob || wanted.kind == Wanted::Kind::kOnce))
        ends.insert(record->uid());
  });
  const auto wrong = evictions_.AtRest(ends);
  if (!wrong.empty()) found.push_back(wrong);
}

bool SimNode::IsEvicted(const std::string& name) const {
  bool evicted = false;
  told_->ForEach([&](const std::string&, const auto& record) {
    if (record != nullptr && record->name().starts_with(name + "-"))
      evicted = evicted || evictions_.shown().contains(record->uid());
  });
  return evicted;
}

}  // namespace splitlet::simulation
