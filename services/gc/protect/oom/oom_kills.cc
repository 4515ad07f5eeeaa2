#include "services/gc/protect/oom/oom_kills.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace splitlet::gc {
namespace {

constexpr std::string_view kBegins = " invoked oom-killer:";
constexpr std::string_view kConstraint = "oom-kill:constraint=";
constexpr std::string_view kMemcg = ",oom_memcg=";
constexpr std::string_view kTaskMemcg = ",task_memcg=";
constexpr std::string_view kKilled = "Killed process ";

/// "/kubepods/pod1" of "...,oom_memcg=/kubepods/pod1,task_memcg=...": names may hold commas.
std::optional<std::string> MemcgOf(std::string_view line) {
  const auto at = line.find(kMemcg);
  if (at == std::string_view::npos) return std::nullopt;
  const auto begin = at + kMemcg.size();
  const auto end = line.find(kTaskMemcg, begin);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(begin, end - begin));
}

/// "Killed process 123 (name) total-vm:...", or of old kernels "Killed process 123 (name), UID".
bool ReadVictim(std::string_view line, OomKill& kill) {
  const auto at = line.find(kKilled);
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at + kKilled.size());
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), kill.pid);
  if (error != std::errc()) return false;
  line.remove_prefix(static_cast<size_t>(rest - line.data()));
  // A process name may hold brackets; the kernel's text after it does not.
  const auto end = line.rfind(')');
  if (!line.starts_with(" (") || end == std::string_view::npos || end < 2) return false;
  kill.process = line.substr(2, end - 2);
  return true;
}

}  // namespace

std::optional<OomKill> OomKills::Add(std::string_view line) {
  if (line.find(kBegins) != std::string_view::npos) {
    open_ = OomKill{};
    return std::nullopt;
  }
  if (!open_) return std::nullopt;
  if (line.starts_with(kConstraint)) {
    if (auto memcg = MemcgOf(line)) open_->memcg = *std::move(memcg);
    return std::nullopt;
  }
  if (!ReadVictim(line, *open_)) return std::nullopt;
  return std::exchange(open_, std::nullopt);
}

std::string_view TextOf(std::string_view record) {
  const auto header = record.find(';');
  if (header == std::string_view::npos) return {};
  record.remove_prefix(header + 1);
  return record.substr(0, record.find('\n'));
}

std::string SystemOomMessage(const OomKill& kill) {
  if (kill.process.empty() || kill.pid == 0) return "System OOM encountered";
  return fmt::format("System OOM encountered, victim process: {}, pid: {}", kill.process, kill.pid);
}

}  // namespace splitlet::gc
