#include "libs/cgroup/tree.h"

#include <charconv>
#include <sstream>

#include "libs/base/fail_point.h"

namespace splitlet::cgroup {

namespace {

constexpr int kKillRounds = 5;
constexpr const char* kRootSlice = "-.slice";
/// Depth limit below a pod's cgroup, because containers may make their own cgroups.
constexpr int kMaxDepth = 64;

/// Controllers of version 1 in which a cgroup must exist, if they are mounted.
constexpr const char* kNeeded[] = {"cpu",     "cpuacct", "cpuset", "memory",
                                   "systemd", "pids",    "hugetlb"};
/// Version 2 controllers that limit pods.
constexpr const char* kDelegated[] = {"cpuset", "cpu", "memory", "hugetlb", "pids"};

std::string Below(const std::string& mount, const Name& name) {
  return name.empty() ? mount : mount + CgroupfsPath(name);
}

std::set<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

bool IsBlank(const std::string& text) { return text.find_first_not_of(" \n") == std::string::npos; }

}  // namespace

std::set<std::string> Tree::MountPoints() const {
  std::set<std::string> paths;
  for (const auto& [controller, path] : layout_.mounts) paths.insert(path);
  return paths;
}

StatusOr<bool> Tree::Exists(const Name& name) const {
  std::set<std::string> paths;
  if (layout_.version == Version::kV2) paths.insert(Below(layout_.mounts.at(""), name));
  for (const char* controller : kNeeded)
    if (const auto mount = layout_.mounts.find(controller); mount != layout_.mounts.end())
      paths.insert(Below(mount->second, name));
  for (const std::string& path : paths) {
    const auto listed = kernel_.ListDirs(path);
    if (listed.status().code() == StatusCode::kNotFound) return false;
    RETURN_IF_ERROR(listed, "{}", path);
  }
  return true;
}

Status Tree::MakeDir(const std::string& path) const {
  FAIL_POINT("cgroup.make.before");
  RETURN_IF_ERROR(kernel_.MakeDir(path), "{}", path);
  FAIL_POINT("cgroup.make.after");
  return OkStatus();
}

Status Tree::WriteFile(const std::string& path, const std::string& value) const {
  FAIL_POINT("cgroup.write.before");
  RETURN_IF_ERROR(kernel_.Write(path, value), "{}: \"{}\"", path, value);
  FAIL_POINT("cgroup.write.after");
  return OkStatus();
}

/// A process cannot join a version 1 cgroup that has no CPUs or memory nodes.
Status Tree::FillCpuset(const std::string& parent, const std::string& path) const {
  for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
    ASSIGN_OR_RETURN(const auto own, kernel_.Read(path + file), "{}{}", path, file);
    if (!IsBlank(own)) continue;
    ASSIGN_OR_RETURN(auto theirs, kernel_.Read(parent + file), "{}{}", parent, file);
    while (theirs.ends_with('\n')) theirs.pop_back();
    RETURN_IF_ERROR(WriteFile(path + file, theirs), "cpuset");
  }
  return OkStatus();
}

Status Tree::MakeV1(const std::string& mount, const Name& name) const {
  const auto cpuset = layout_.mounts.find("cpuset");
  std::string parent = mount;
  for (const std::string& component : name) {
    const std::string path = parent + "/" + component;
    RETURN_IF_ERROR(MakeDir(path), "make cgroup");
    if (cpuset != layout_.mounts.end() && cpuset->second == mount)
      RETURN_IF_ERROR(FillCpuset(parent, path), "make cgroup");
    parent = path;
  }
  return OkStatus();
}

/// Enables controllers for the children of `path`; skips those that the kernel lacks here.
Status Tree::EnableControllers(const std::string& path) const {
  ASSIGN_OR_RETURN(const auto has, kernel_.Read(path + "/cgroup.controllers"),
                   "{}/cgroup.controllers", path);
  ASSIGN_OR_RETURN(const auto given, kernel_.Read(path + "/cgroup.subtree_control"),
                   "{}/cgroup.subtree_control", path);
  const auto available = Words(has), enabled = Words(given);
  for (const std::string controller : kDelegated)
    if (available.contains(controller) && !enabled.contains(controller))
      RETURN_IF_ERROR(WriteFile(path + "/cgroup.subtree_control", "+" + controller),
                      "enable controllers");
  return OkStatus();
}

Status Tree::MakeV2(const std::string& mount, const Name& name) const {
  std::string path = mount;
  for (const std::string& component : name) {
    RETURN_IF_ERROR(EnableControllers(path), "make cgroup");
    path += "/" + component;
    RETURN_IF_ERROR(MakeDir(path), "make cgroup");
  }
  return OkStatus();
}

/// Starts only missing slices, so that the check every minute costs systemd nothing.
Status Tree::StartSlices(const Name& name) const {
  Name part;
  for (const std::string& slice : name) {
    const std::string parent = part.empty() ? kRootSlice : part.back();
    part.push_back(slice);
    ASSIGN_OR_RETURN(const bool there, Exists(part), "{}", CgroupfsPath(part));
    if (!there) RETURN_IF_ERROR(slices_->Start(slice, parent), "start");
  }
  return OkStatus();
}

Status Tree::Make(const Name& name) const {
  if (IsUnit(name)) RETURN_IF_ERROR(StartSlices(name), "slices");
  if (layout_.version == Version::kV2) return MakeV2(layout_.mounts.at(""), name);
  for (const std::string& mount : MountPoints())
    if (const auto unified = layout_.mounts.find("unified");
        unified == layout_.mounts.end() || unified->second != mount)
      RETURN_IF_ERROR(MakeV1(mount, name), "{}", CgroupfsPath(name));
  return OkStatus();
}

/// A slice gets its files written too, because systemd rounds quotas and has no huge pages.
Status Tree::Set(const Name& name, const Limits& limits) const {
  const Status sent =
      IsUnit(name) ? slices_->Set(name.back(), layout_.version, limits) : OkStatus();
  const Status written = SetFiles(name, limits);
  return sent.ok() ? written : sent;
}

Status Tree::SetFiles(const Name& name, const Limits& limits) const {
  Status first;
  for (const Setting& setting : SettingsOf(layout_.version, limits)) {
    const bool v2 = layout_.version == Version::kV2;
    const auto mount = layout_.mounts.find(v2 ? "" : setting.controller);
    const bool optional = setting.controller == "hugetlb";
    if (mount == layout_.mounts.end()) {
      if (!optional && first.ok())
        first = FailedPrecondition("{}: controller {} is not mounted", CgroupfsPath(name),
                                   setting.controller);
      continue;
    }
    const Status wrote = WriteFile(Below(mount->second, name) + "/" + setting.file, setting.value);
    const bool absent = optional && wrote.code() == StatusCode::kNotFound;
    if (!wrote.ok() && !absent && first.ok()) first = wrote;
  }
  return first;
}

/// Ignores cgroups that disappear during the call. A threaded version 2 cgroup has no list of
/// processes; they belong to its parent.
Status Tree::AddPids(const std::string& path, std::set<int64_t>& pids) const {
  const auto procs = kernel_.Read(path + "/cgroup.procs");
  if (procs.status().code() == StatusCode::kNotFound) return OkStatus();
  if (!procs.ok() && procs.status().code() != StatusCode::kUnimplemented)
    return Annotate(procs.status(), path + "/cgroup.procs");
  if (procs.ok())
    for (const std::string& word : Words(*procs)) {
      int64_t pid = 0;
      std::from_chars(word.data(), word.data() + word.size(), pid);
      if (pid > 0) pids.insert(pid);  // 0: a process of an invisible namespace
    }
  const auto children = kernel_.ListDirs(path);
  if (children.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(children, "{}", path);
  for (const std::string& child : *children)
    if (Status added = AddPids(path + "/" + child, pids); !added.ok()) return added;
  return OkStatus();
}

StatusOr<std::set<int64_t>> Tree::Pids(const Name& name) const {
  std::set<int64_t> pids;
  for (const std::string& mount : MountPoints())
    RETURN_IF_ERROR(AddPids(Below(mount, name), pids), "processes");
  return pids;
}

Status Tree::KillOnce(const Name& name, const std::set<int64_t>& pids) const {
  FAIL_POINT("cgroup.kill.before");
  // Since Linux 5.14 one write kills all processes, including new forks.
  const bool killed = layout_.version == Version::kV2 &&
                      kernel_.Write(Below(layout_.mounts.at(""), name) + "/cgroup.kill", "1").ok();
  for (const int64_t pid : killed ? std::set<int64_t>() : pids)
    RETURN_IF_ERROR(kernel_.Kill(pid),
                    "failed to kill all the processes attached to the {} cgroups: process {}",
                    CgroupfsPath(name), pid);
  FAIL_POINT("cgroup.kill.after");
  return OkStatus();
}

Status Tree::RemoveBelow(const std::string& path, int depth) const {
  const auto children = kernel_.ListDirs(path);
  if (children.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(children, "{}", path);
  if (depth > kMaxDepth) return FailedPrecondition("{}: too deep", path);
  for (const std::string& child : *children)
    if (Status removed = RemoveBelow(path + "/" + child, depth + 1); !removed.ok()) return removed;
  FAIL_POINT("cgroup.remove.before");
  RETURN_IF_ERROR(kernel_.RemoveDir(path), "{}", path);
  FAIL_POINT("cgroup.remove.after");
  return OkStatus();
}

Status Tree::Destroy(const Name& name) const {
  CHECK(!name.empty(), "the root cgroup cannot be removed");
  for (int round = 0; round < kKillRounds; ++round) {
    ASSIGN_OR_RETURN(const auto pids, Pids(name), "{}", CgroupfsPath(name));
    if (pids.empty()) break;
    RETURN_IF_ERROR(KillOnce(name, pids), "destroy");
  }
  if (!IsUnit(name)) return RemoveEmpty(name);
  // Before stopping the slice, because its job would wait for processes that are still ending.
  ASSIGN_OR_RETURN(const auto left, Pids(name), "{}", CgroupfsPath(name));
  if (!left.empty())
    return FailedPrecondition("failed to delete cgroup paths for {}: processes still end",
                              CgroupfsPath(name));
  RETURN_IF_ERROR(slices_->Stop(name.back()), "failed to delete cgroup paths for {}",
                  CgroupfsPath(name));
  return RemoveEmpty(name);
}

Status Tree::RemoveEmpty(const Name& name) const {
  CHECK(!name.empty(), "the root cgroup cannot be removed");
  Status first;
  for (const std::string& mount : MountPoints()) {
    const Status removed = RemoveBelow(Below(mount, name), 0);
    if (!removed.ok() && first.ok())
      first = Annotate(removed,
                       fmt::format("failed to delete cgroup paths for {}", CgroupfsPath(name)));
  }
  return first;
}

}  // namespace splitlet::cgroup
