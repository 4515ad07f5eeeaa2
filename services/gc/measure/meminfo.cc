#include "services/gc/measure/meminfo.h"

#include <algorithm>
#include <sstream>

namespace splitlet::gc {
namespace {

/// The kB of a line "Name: 123 kB", in bytes.
std::optional<uint64_t> MemoryLine(const std::string& meminfo, const std::string& name) {
  std::istringstream lines(meminfo);
  std::string key, unit;
  uint64_t value = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> key >> value && key == name + ":") return value * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryStats> MemoryOf(const std::string& meminfo) {
  const auto total = MemoryLine(meminfo, "MemTotal");
  if (!total) return std::nullopt;
  MemoryStats memory{.total = *total};
  // Pages of processes and files, as the root cgroup counts them. The kernel's own memory is not
  // included.
  for (const char* const lru : {"Active(anon)", "Inactive(anon)", "Active(file)", "Unevictable"})
    memory.working_set += MemoryLine(meminfo, lru).value_or(0);
  memory.usage = memory.working_set + MemoryLine(meminfo, "Inactive(file)").value_or(0);
  memory.available = memory.total - std::min(memory.total, memory.working_set);
  memory.rss = MemoryLine(meminfo, "AnonPages").value_or(0);
  memory.swap_total = MemoryLine(meminfo, "SwapTotal").value_or(0);
  memory.swap_used =
      memory.swap_total - std::min(memory.swap_total, MemoryLine(meminfo, "SwapFree").value_or(0));
  return memory;
}

}  // namespace splitlet::gc
