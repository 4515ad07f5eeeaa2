#pragma once

/// Kills of the kernel's OOM killer, from lines of its log.
/// Threads: one.
/// Errors: none; lines that are about something else are passed over.
/// Source: docs/behaviour/eviction.md, "Kills of the kernel".

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace splitlet::gc {

struct OomKill {
  std::string memcg = "/";  // whose limit was hit; the root: the whole system ran out
  std::string process;
  int64_t pid = 0;
  bool operator==(const OomKill&) const = default;
};

/// A kill is told in several lines: that the killer was called, by whose limit, and who died.
class OomKills {
 public:
  /// The text of a record without its header. A kill, once its last line is there.
  std::optional<OomKill> Add(std::string_view line);

 private:
  std::optional<OomKill> open_;
};

/// What comes behind the header of a record of /dev/kmsg, its first line; empty: it is none.
std::string_view TextOf(std::string_view record);

/// "System OOM encountered, victim process: stress, pid: 123"
std::string SystemOomMessage(const OomKill& kill);

}  // namespace splitlet::gc
