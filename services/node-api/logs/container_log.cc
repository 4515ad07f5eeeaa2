#include "services/node-api/logs/container_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "libs/fs/path.h"
#include "services/node-api/logs/hold_below.h"

namespace splitlet::node_api {
namespace {

/// The target of the held link; empty: not a link.
StatusOr<std::string> TargetOf(const HeldPath& held) {
  struct stat info {};
  if (::fstat(held.held->get(), &info) != 0) return ErrnoStatus(errno);
  if (!S_ISLNK(info.st_mode)) return std::string();
  std::array<char, 4096> buffer;
  const ssize_t size = ::readlinkat(held.held->get(), "", buffer.data(), buffer.size());
  if (size <= 0) return ErrnoStatus(size < 0 ? errno : ENOENT);
  return std::string(buffer.data(), static_cast<size_t>(size));
}

bool IsOfDocker(const std::string& target, const std::string& container_id) {
  return target.starts_with('/') && !container_id.empty() &&
         target.ends_with(fmt::format("/{0}/{0}-json.log", container_id));
}

StatusOr<fs::Fd> OpenConfined(const std::string& root, const std::string& container_id,
                              const std::string& path) {
  if (!fs::IsBelow(path, root)) return PermissionDenied("it is not below {}", root);
  auto held = HoldWithoutLinks(root, path.substr(root.size()));
  if (!held.ok()) return held.status();
  auto target = TargetOf(*held);
  if (!target.ok()) return target.status();
  if (target->empty()) return logs::OpenLog(held->path);
  if (!IsOfDocker(*target, container_id)) return PermissionDenied("it is a link to {}", *target);
  held = HoldWithoutLinks("/", *target);
  if (!held.ok()) return Annotate(held.status(), *target);
  target = TargetOf(*held);
  if (!target.ok()) return target.status();
  if (!target->empty()) return PermissionDenied("it is a link to a link to {}", *target);
  return logs::OpenLog(held->path);
}

}  // namespace

logs::LogOpener OpenerOfContainer(const std::string& root, const std::string& container_id) {
  return [root, container_id](const std::string& path) {
    return OpenConfined(root, container_id, path);
  };
}

}  // namespace splitlet::node_api
