#include "libs/cgroup/layout.h"

#include <set>
#include <sstream>
#include <vector>

namespace splitlet::cgroup {

namespace {

constexpr std::string_view kTop = "/sys/fs/cgroup";

/// False for other mount options.
bool IsController(const std::string& option) {
  static const std::set<std::string> kControllers = {
      "cpu",     "cpuacct", "cpuset",     "memory",  "pids",     "hugetlb", "devices",
      "freezer", "blkio",   "perf_event", "net_cls", "net_prio", "rdma",    "misc"};
  return kControllers.contains(option);
}

struct Mount {
  std::string root, path, type, options;
};

/// "36 35 98:0 / /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu"
bool ParseLine(const std::string& line, Mount& mount) {
  std::istringstream in(line);
  std::string skip;
  if (!(in >> skip >> skip >> skip >> mount.root >> mount.path)) return false;
  while (in >> skip && skip != "-") continue;
  return static_cast<bool>(in >> mount.type >> skip >> mount.options);
}

void KeepShortest(const std::string& controller, const std::string& path, Layout& layout) {
  const auto [it, added] = layout.mounts.emplace(controller, path);
  if (!added && path.size() < it->second.size()) it->second = path;
}

void AddV1(const Mount& mount, Layout& layout) {
  std::istringstream options(mount.options);
  for (std::string option; std::getline(options, option, ',');) {
    if (IsController(option)) KeepShortest(option, mount.path, layout);
    if (option == "name=systemd") KeepShortest("systemd", mount.path, layout);
  }
}

}  // namespace

StatusOr<Layout> ParseLayout(std::string_view mountinfo) {
  Layout v1{.version = Version::kV1, .mounts = {}};
  std::istringstream lines{std::string(mountinfo)};
  std::string unified;
  for (std::string line; std::getline(lines, line);) {
    Mount mount;
    if (!ParseLine(line, mount) || mount.root != "/") continue;
    if (mount.type == "cgroup2" && mount.path == kTop)
      return Layout{.version = Version::kV2, .mounts = {{"", mount.path}}};
    if (mount.type == "cgroup2" && mount.path.starts_with(kTop)) unified = mount.path;
    if (mount.type == "cgroup") AddV1(mount, v1);
  }
  for (const char* controller : {"cpu", "memory", "pids"})
    if (!v1.mounts.contains(controller))
      return FailedPrecondition(
          "/proc/self/mountinfo: neither version 2 at {} nor a whole hierarchy of {} is mounted",
          kTop, controller);
  if (!unified.empty()) v1.mounts.emplace("unified", unified);
  return v1;
}

}  // namespace splitlet::cgroup
