#include "libs/node/cpu_topology.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "libs/base/trim.h"

namespace splitlet::node {
namespace {

constexpr uint64_t kMaxNumberFile = 64;

std::optional<int64_t> ReadNumber(fs::FileSystem& files, int64_t cpu, const char* name) {
  const auto read = files.Read(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", cpu, name),
                               kMaxNumberFile);
  if (!read.ok()) return std::nullopt;
  const std::string_view text = Trimmed(*read);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

CpuTopology ReadCpuTopology(fs::FileSystem& files, const std::set<int64_t>& online) {
  std::set<int64_t> sockets;
  std::set<std::pair<int64_t, int64_t>> cores;  // core numbers count within a socket
  for (const int64_t cpu : online) {
    const auto socket = ReadNumber(files, cpu, "physical_package_id");
    const auto core = ReadNumber(files, cpu, "core_id");
    if (!socket || !core) return {};
    sockets.insert(*socket);
    cores.emplace(*socket, *core);
  }
  return {.cores = static_cast<int64_t>(cores.size()),
          .sockets = static_cast<int64_t>(sockets.size())};
}

}  // namespace splitlet::node
