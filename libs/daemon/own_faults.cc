#include "libs/daemon/own_faults.h"

#include <algorithm>
#include <array>

namespace splitlet::daemon {
namespace {

constexpr auto kProcesses = std::to_array<std::string_view>(
    {"config-source", "sync-loop", "pod-worker", "pleg", "status", "gc"});
constexpr auto kUsersOfTheRuntime = std::to_array<std::string_view>({"pod-worker", "pleg", "gc"});

bool Contains(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool IsOwnFault(std::string_view process, std::string_view point) {
  const std::string_view part = point.substr(0, point.find('.'));
  if (Contains(kProcesses, part)) return part == process;
  return part != "cri" || !Contains(kProcesses, process) || Contains(kUsersOfTheRuntime, process);
}

}  // namespace splitlet::daemon
