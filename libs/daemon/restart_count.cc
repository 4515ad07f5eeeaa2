#include "libs/daemon/restart_count.h"

#include <sstream>

namespace splitlet::daemon {
namespace {

constexpr const char* kStopped = "stopped";

/// "<boot> <starts>", with " stopped" appended by a stop.
struct Content {
  uint64_t boot = 0, starts = 0;
  bool stopped = false;
};

Content Read(fs::FileSystem& files, const Clock& clock, const std::string& path) {
  const uint64_t boot_now = clock.Now().boot;
  Content read;
  const auto text = files.Read(path, 256);
  if (text.ok()) {
    std::istringstream in(*text);
    std::string end;
    if (in >> read.boot >> read.starts && read.boot == boot_now) {
      read.stopped = in >> end && end == kStopped;
      return read;
    }
  }
  return {.boot = boot_now};
}

Status Write(fs::FileSystem& files, const std::string& path, const Content& content) {
  return files.Replace(path,
                       fmt::format("{} {}{}\n", content.boot, content.starts,
                                   content.stopped ? std::string(" ") + kStopped : std::string()),
                       {.mode = 0640});
}

}  // namespace

StatusOr<RestartCount> CountStart(fs::FileSystem& files, const Clock& clock,
                                  const std::string& path) {
  const Content last = Read(files, clock, path);
  RETURN_IF_ERROR(Write(files, path, {.boot = last.boot, .starts = last.starts + 1}),
                  "count the start in {}", path);
  if (last.starts == 0) return RestartCount{};
  return RestartCount{.before = last.starts, .reason = last.stopped ? "stopped" : "died"};
}

Status RecordStop(fs::FileSystem& files, const Clock& clock, const std::string& path) {
  Content content = Read(files, clock, path);
  content.stopped = true;
  return Annotate(Write(files, path, content), "record the stop in " + path);
}

}  // namespace splitlet::daemon
