#include "libs/daemon/starts.h"

#include <sstream>

namespace splitlet::daemon {

StatusOr<uint64_t> CountStart(fs::FileSystem& files, const Clock& clock, const std::string& path) {
  const uint64_t boot_now = clock.Now().boot;
  uint64_t before = 0;
  const auto content = files.Read(path, 256);
  if (content.ok()) {
    std::istringstream in(*content);
    uint64_t boot = 0, starts = 0;
    if (in >> boot >> starts && boot == boot_now) before = starts;
  }
  RETURN_IF_ERROR(files.Replace(path, fmt::format("{} {}\n", boot_now, before + 1), {.mode = 0640}),
                  "count the start in {}", path);
  return before;
}

}  // namespace splitlet::daemon
