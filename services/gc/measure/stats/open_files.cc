#include "services/gc/measure/stats/open_files.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>

#include "services/gc/measure/kernel_files.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr size_t kMaxSlots = 32'768;  // of one process

/// The number after `name`, at the start of a line.
std::optional<uint64_t> LineOf(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    if (uint64_t value = 0; words >> value) return value;
  }
  return std::nullopt;
}

struct Open {
  uint64_t files = 0, sockets = 0;
};

/// Nothing: too many, or not readable. A process that has ended has none.
std::optional<Open> OpenOf(fs::FileSystem& files, int64_t pid, OpenFilesBudget& left) {
  if (pid <= 0 || left.processes == 0) return std::nullopt;  // 0: of a namespace that is not ours
  --left.processes;
  const std::string process = fmt::format("/proc/{}/", pid);
  const auto slots = LineOf(ReadOrEmpty(files, process + "status"), "FDSize:");
  if (!slots) return Open();
  if (*slots > kMaxSlots || *slots > left.slots) return std::nullopt;
  left.slots -= *slots;
  const auto open = files.List(process + "fd");
  if (!open.ok())
    return open.status().code() == StatusCode::kNotFound ? std::optional(Open()) : std::nullopt;
  Open sum{.files = open->size()};
  for (const auto& each : *open) {
    const auto what = files.ReadSymlink(process + "fd/" + each.name);
    if (what.ok() && what->starts_with("socket:")) ++sum.sockets;
  }
  return sum;
}

}  // namespace

std::optional<int64_t> MaxOpenFiles(const std::string& limits) {
  constexpr std::string_view kName = "Max open files";
  if (const auto most = LineOf(limits, kName)) return static_cast<int64_t>(*most);
  const auto at = limits.find(kName);
  std::istringstream words(at == std::string::npos ? "" : limits.substr(at + kName.size()));
  std::string soft;
  if (words >> soft && soft == "unlimited") return -1;
  return std::nullopt;
}

void ReadOpenFiles(fs::FileSystem& files, const std::vector<int64_t>& pids, OpenFilesBudget& left,
                   v1::UsageStats& usage) {
  if (pids.empty()) return;
  if (pids.front() > 0)
    if (const auto most =
            MaxOpenFiles(ReadOrEmpty(files, fmt::format("/proc/{}/limits", pids.front()))))
      usage.set_max_open_files(*most);
  Open sum;
  for (const int64_t pid : pids) {
    const auto open = OpenOf(files, pid, left);
    if (!open) return;
    sum.files += open->files;
    sum.sockets += open->sockets;
  }
  usage.set_open_files(sum.files);
  usage.set_sockets(sum.sockets);
}

}  // namespace splitlet::gc
