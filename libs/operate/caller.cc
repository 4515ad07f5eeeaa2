#include "libs/operate/caller.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <vector>

namespace splitlet::operate {
namespace {

constexpr size_t kEntryBytes = 16 << 10;
constexpr size_t kMaxGroups = 32;  // limit of the groups shown

std::string UserText(uid_t uid) {
  std::array<char, kEntryBytes> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return fmt::format("{}", uid);
  return fmt::format("{} ({})", uid, found->pw_name);
}

std::string GroupText(gid_t gid) {
  std::array<char, kEntryBytes> buffer;
  group entry{};
  group* found = nullptr;
  if (getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return fmt::format("{}", gid);
  return fmt::format("{} ({})", gid, found->gr_name);
}

/// Without duplicates; the effective group comes first.
std::vector<gid_t> Groups() {
  std::vector<gid_t> others(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(others.size()), others.data());
  others.resize(static_cast<size_t>(std::max(count, 0)));
  std::vector<gid_t> groups = {getegid()};
  for (const gid_t group : others)
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  return groups;
}

/// Also true for a missing path.
bool May(const std::string& path, int how) {
  return faccessat(AT_FDCWD, path.c_str(), how, AT_EACCESS) == 0 || errno != EACCES;
}

struct Access {
  int how;            // mode for faccessat
  mode_t group_bits;  // permission bits that allow a group to do it
};
Access AccessOf(Use use) {
  switch (use) {
    case Use::kRead: return {R_OK, S_IRGRP};
    case Use::kWrite: return {W_OK, S_IWGRP};
    case Use::kConnect: return {R_OK | W_OK, S_IRGRP | S_IWGRP};
  }
  UNREACHABLE();
}

std::string OwnersOf(const std::string& path, mode_t group_bits) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return path;
  if ((info.st_mode & group_bits) != group_bits)
    return fmt::format("{} is for user {}", path, UserText(info.st_uid));
  return fmt::format("{} is for user {} and group {}", path, UserText(info.st_uid),
                     GroupText(info.st_gid));
}

}  // namespace

std::string CallerText() {
  const std::vector<gid_t> groups = Groups();
  std::string text = fmt::format("user {}, groups", UserText(geteuid()));
  for (size_t i = 0; i < std::min(groups.size(), kMaxGroups); ++i)
    text += " " + GroupText(groups[i]);
  return groups.size() > kMaxGroups ? text + " ..." : text;
}

std::string WhoMay(Use use, const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  std::filesystem::path at;
  for (const auto& part : whole) {
    at /= part;
    if (at != whole && !May(at.string(), X_OK)) return OwnersOf(at.string(), S_IXGRP);
  }
  const Access access = AccessOf(use);
  return May(whole.string(), access.how) ? whole.string()
                                         : OwnersOf(whole.string(), access.group_bits);
}

Status RefusedBy(const std::string& who, const std::string& reason) {
  return PermissionDenied("{} refuses {}: {}", who, CallerText(), reason);
}

Status CheckMay(Use use, const std::string& path, const std::string& who) {
  return May(path, AccessOf(use).how) ? OkStatus() : RefusedBy(who, WhoMay(use, path));
}

}  // namespace splitlet::operate
