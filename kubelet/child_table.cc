#include "kubelet/child_table.h"

#include <algorithm>
#include <utility>

namespace splitlet::kubelet {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds{100};
constexpr Duration kLongestPause = std::chrono::seconds{5};

bool HasLine(std::string_view message, std::string_view line) {
  while (!message.empty()) {
    const size_t end = message.find('\n');
    if (message.substr(0, end) == line) return true;
    message.remove_prefix(end == std::string_view::npos ? message.size() : end + 1);
  }
  return false;
}

}  // namespace

ChildTable::ChildTable(const Clock& clock, std::vector<Child> children, Duration watchdog)
    : clock_(clock),
      watchdog_(watchdog),
      backoff_(clock, {.initial = kFirstPause, .max = kLongestPause}) {
  for (Child& child : children)
    children_.push_back({.child = std::move(child), .due = clock.Now(), .last_message = {}});
}

ChildTable::State* ChildTable::Find(const std::string& name) {
  const auto found = std::ranges::find_if(
      children_, [&name](const State& state) { return state.child.name == name; });
  return found == children_.end() ? nullptr : &*found;
}

ChildTable::State* ChildTable::FindPid(pid_t pid) {
  const auto found =
      std::ranges::find_if(children_, [pid](const State& state) { return state.pid == pid; });
  return pid == 0 || found == children_.end() ? nullptr : &*found;
}

std::vector<std::string> ChildTable::Due() const {
  std::vector<std::string> due;
  for (const State& state : children_)
    if (state.pid == 0 && state.due <= clock_.Now()) due.push_back(state.child.name);
  return due;
}

void ChildTable::OnStarted(const std::string& name, pid_t pid) {
  State* const state = Find(name);
  CHECK(state != nullptr && state->pid == 0);
  state->pid = pid;
  state->ready = !state->child.notifies;
  state->last_message = clock_.Now();
}

void ChildTable::OnMessage(pid_t pid, std::string_view message) {
  State* const state = FindPid(pid);
  if (state == nullptr) return;
  if (HasLine(message, "READY=1")) state->ready = true;
  state->last_message = clock_.Now();
}

std::string ChildTable::OnEnded(pid_t pid, Duration* again) {
  State* const state = FindPid(pid);
  if (state == nullptr) return {};
  state->pid = 0;
  state->ready = false;
  *again = backoff_.Next(state->child.name);
  state->due = clock_.Now() + *again;
  return state->child.name;
}

void ChildTable::OnCannotStart(const std::string& name) {
  State* const state = Find(name);
  CHECK(state != nullptr && state->pid == 0);
  state->due = clock_.Now() + backoff_.Next(name);
}

bool ChildTable::AllReady() const {
  return std::ranges::all_of(children_, [](const State& state) { return state.ready; });
}

std::vector<pid_t> ChildTable::Silent() const {
  std::vector<pid_t> silent;
  for (const State& state : children_) {
    const bool watched = state.pid != 0 && state.child.notifies && state.ready;
    if (watched && clock_.Now() - state.last_message >= watchdog_) silent.push_back(state.pid);
  }
  return silent;
}

pid_t ChildTable::PidOf(const std::string& name) const {
  for (const State& state : children_)
    if (state.child.name == name) return state.pid;
  return 0;
}

std::vector<pid_t> ChildTable::Running() const {
  std::vector<pid_t> running;
  for (const State& state : children_)
    if (state.pid != 0) running.push_back(state.pid);
  return running;
}

Clock::Time ChildTable::NextDue() const {
  Clock::Time next;
  for (const State& state : children_) {
    Clock::Time due;
    if (state.pid == 0) due = state.due;
    if (state.pid != 0 && state.child.notifies && state.ready) due = state.last_message + watchdog_;
    if (due && (!next || due < next)) next = due;
  }
  return next;
}

}  // namespace splitlet::kubelet
