#pragma once

/// Finds kills of the kernel's OOM killer in lines of the kernel's log.
/// Threads: one.
/// Errors: none; other lines are skipped.
/// Source: docs/behaviour/eviction.md, "Kills of the kernel".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace splitlet::gc {

struct OomKill {
  std::string memcg = "/";  // cgroup whose limit was hit; the root: the whole system
  std::string process;
  int64_t pid = 0;
  bool operator==(const OomKill&) const = default;
};

/// The kernel logs a kill in several lines: the call of the killer, the limit, the killed process.
class OomKills {
 public:
  /// Takes the text of a record without its header. Returns a kill with the last of its lines.
  std::optional<OomKill> Add(std::string_view line);

 private:
  std::optional<OomKill> open_;
};

/// The first line of a record of /dev/kmsg, without its header; empty: it is no record.
std::string_view TextOf(std::string_view record);

/// "System OOM encountered, victim process: stress, pid: 123"
std::string SystemOomMessage(const OomKill& kill);

}  // namespace splitlet::gc
