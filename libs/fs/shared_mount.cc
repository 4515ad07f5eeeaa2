#include "libs/fs/shared_mount.h"

#include <sys/mount.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "libs/fs/mount_table.h"

namespace splitlet::fs {
namespace {

bool Holds(const std::string& point, const std::string& directory) {
  return point == "/" || point == directory || directory.starts_with(point + "/");
}

/// A line has the form: 36 35 98:0 /root /mount/point options [optional fields] - type source
/// options
bool IsShared(const std::string& line) {
  std::istringstream fields(line);
  std::string field;
  for (int i = 0; fields >> field && field != "-"; ++i)
    if (i > 5 && field.starts_with("shared:")) return true;
  return false;
}

StatusOr<std::string> Resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr) return Annotate(ErrnoStatus(errno), path);
  return std::string(real.get());
}

}  // namespace

Sharing SharingOf(std::string_view mountinfo, const std::string& directory) {
  std::string holder;
  bool shared = false;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    for (const auto& point : ParseMountPoints(line)) {
      // The last mount listed at a path is the topmost.
      if (!Holds(point, directory) || point.size() < holder.size()) continue;
      holder = point;
      shared = IsShared(line);
    }
  }
  if (shared) return Sharing::kShared;
  if (holder == directory) return Sharing::kOwnMount;
  return MountPointsBelow(mountinfo, directory).empty() ? Sharing::kPlain : Sharing::kOccupied;
}

Status MakeShared(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string path, Resolved(directory), "shared mount");
  std::ifstream table(kMountTable);
  std::ostringstream text;
  text << table.rdbuf();
  if (!table) return Unavailable("{} cannot be read", kMountTable);
  switch (SharingOf(text.str(), path)) {
    case Sharing::kShared: return OkStatus();
    case Sharing::kOccupied:
      return FailedPrecondition("{} is on a private mount, and other mounts are below it", path);
    case Sharing::kPlain:
      if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0)
        return Annotate(ErrnoStatus(errno), fmt::format("bind {} to itself", path));
      break;
    case Sharing::kOwnMount: break;
  }
  if (::mount(nullptr, path.c_str(), nullptr, MS_SHARED | MS_REC, nullptr) != 0)
    return Annotate(ErrnoStatus(errno), fmt::format("share {}", path));
  return OkStatus();
}

}  // namespace splitlet::fs
