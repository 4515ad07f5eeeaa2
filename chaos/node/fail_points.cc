#include "chaos/node/fail_points.h"

#include <algorithm>

namespace splitlet::chaos {
namespace {

constexpr const char* kOff = "off";
/// Value in `has` for a term whose call may or may not have arrived.
constexpr const char* kUnknown = "";

bool ComesLater(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadlineExceeded || status.code() == StatusCode::kCancelled;
}

}  // namespace

Status FailPoints::Want(const std::string& name, const std::string& fault,
                        const std::vector<Action::Point>& points) {
  Process& process = processes_[name];
  std::erase_if(process.wishes, [&fault](const Wish& wish) { return wish.fault == fault; });
  for (const auto& point : points) {
    process.wishes.push_back({.fault = fault, .point = point});
    process.has[point.name] = kUnknown;  // setting the term again restarts its count
  }
  return Bring(name, process);
}

Status FailPoints::Drop(const std::string& name, const std::string& fault) {
  Process& process = processes_[name];
  const bool was_set = std::ranges::any_of(
      process.wishes, [&fault](const Wish& wish) { return wish.fault == fault && wish.was_set; });
  const size_t dropped =
      std::erase_if(process.wishes, [&fault](const Wish& wish) { return wish.fault == fault; });
  const Status off = Bring(name, process);
  if (!off.ok() || was_set || dropped == 0) return off;
  return Cancelled("{} did not answer during the fault", name);
}

void FailPoints::Retry() {
  for (auto& [name, process] : processes_) {
    // Want already reported the refusal.
    if (!Due(process).empty()) static_cast<void>(Bring(name, process));
  }
}

std::vector<Action::Point> FailPoints::Due(const Process& process) {
  std::map<std::string, std::string> wanted;
  for (const auto& [name, term] : process.has) wanted[name] = kOff;
  for (const auto& wish : process.wishes) wanted[wish.point.name] = wish.point.term;
  std::vector<Action::Point> due;
  for (auto& [name, term] : wanted)
    if (const auto has = process.has.find(name); has == process.has.end() || has->second != term)
      due.push_back({name, std::move(term)});
  return due;
}

Status FailPoints::Bring(const std::string& name, Process& process) {
  const pid_t pid = access_.pid_of(name);
  if (pid == 0 || access_.is_stopped(pid)) return OkStatus();
  if (pid != std::exchange(process.pid, pid)) {
    // Engine decides which terms a restarted process gets again.
    std::erase_if(process.wishes, [](const Wish& wish) { return wish.was_set; });
    std::erase_if(process.has, [](const auto& entry) { return entry.second != kUnknown; });
  }
  for (const auto& point : Due(process)) {
    const Status set = access_.set(name, point);
    if (!set.ok()) process.has[point.name] = kUnknown;
    if (!set.ok()) return ComesLater(set) ? OkStatus() : set;
    const bool same = access_.pid_of(name) == pid;
    OnAnswer(process, point, same);
    if (!same) return OkStatus();
  }
  return OkStatus();
}

void FailPoints::OnAnswer(Process& process, const Action::Point& point, bool same_process) {
  for (auto& wish : process.wishes)
    if (wish.point.name == point.name) wish.was_set = wish.was_set || wish.point.term == point.term;
  if (!same_process)
    process.has[point.name] = kUnknown;
  else if (point.term == kOff)
    process.has.erase(point.name);
  else
    process.has[point.name] = point.term;
}

}  // namespace splitlet::chaos
