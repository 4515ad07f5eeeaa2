#include "libs/cgroup/fake_kernel.h"

#include <sstream>

#include "libs/fs/path.h"

namespace splitlet::cgroup {

namespace {

constexpr const char* kAll = "cpuset cpu io memory hugetlb pids";

std::set<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

const std::map<std::string, std::vector<std::string>>& FilesOf(Version version) {
  static const std::map<std::string, std::vector<std::string>> kV1 = {
      {"cpu", {"cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us"}},
      {"cpuset", {"cpuset.cpus", "cpuset.mems"}},
      {"memory", {"memory.limit_in_bytes"}},
      {"pids", {"pids.max"}}};
  static const std::map<std::string, std::vector<std::string>> kV2 = {
      {"cpu", {"cpu.weight", "cpu.max"}},
      {"memory", {"memory.max", "memory.min", "memory.low"}},
      {"pids", {"pids.max"}},
      {"hugetlb", {"hugetlb.2MB.max"}}};
  return version == Version::kV1 ? kV1 : kV2;
}

}  // namespace

Layout FakeKernel::V2() { return {.version = Version::kV2, .mounts = {{"", "/sys/fs/cgroup"}}}; }

Layout FakeKernel::V1() {
  Layout layout{.version = Version::kV1, .mounts = {}};
  for (const std::string name : {"cpu", "cpuset", "memory", "pids", "systemd", "unified"})
    layout.mounts[name] = "/sys/fs/cgroup/" + name;
  return layout;
}

FakeKernel::FakeKernel(const Layout& layout) : layout_(layout) {
  for (const auto& [controller, mount] : layout_.mounts) {
    roots_.insert(mount);
    AddDir(mount, mount, true);
  }
}

std::set<std::string> FakeKernel::ControllersOf(const std::string& mount) const {
  std::set<std::string> controllers;
  for (const auto& [controller, path] : layout_.mounts)
    if (path == mount) controllers.insert(controller);
  return controllers;
}

void FakeKernel::AddControllerFiles(Dir& dir, const std::set<std::string>& controllers) const {
  for (const auto& [controller, files] : FilesOf(layout_.version))
    if (controllers.contains(controller))
      for (const auto& file : files) dir.files.emplace(file, "");
}

/// The root of version 2 has no files of limits; a child has the files of its parent's controllers.
void FakeKernel::AddDir(const std::string& path, const std::string& mount, bool root) {
  Dir dir{.mount = mount, .files = {}, .pids = {}};
  if (layout_.version == Version::kV2) {
    const std::string given =
        root ? kAll : dirs_.at(fs::ParentOf(path)).files.at("cgroup.subtree_control");
    dir.files = {{"cgroup.controllers", given}, {"cgroup.subtree_control", ""}};
    if (!root) dir.files.emplace("cgroup.kill", "");
    if (!root) AddControllerFiles(dir, Words(given));
  } else {
    AddControllerFiles(dir, ControllersOf(mount));
    if (root && dir.files.contains("cpuset.cpus")) {
      dir.files["cpuset.cpus"] = "0-1\n";
      dir.files["cpuset.mems"] = "0\n";
    }
  }
  dirs_[path] = std::move(dir);
}

void FakeKernel::Drop(const std::string& dir) {
  std::erase_if(dirs_, [&dir](const auto& entry) {
    return entry.first == dir || entry.first.starts_with(dir + "/");
  });
}

std::vector<std::string> FakeKernel::Dirs() const {
  std::vector<std::string> paths;
  for (const auto& [path, dir] : dirs_)
    if (!roots_.contains(path)) paths.push_back(path);
  return paths;
}

StatusOr<std::string> FakeKernel::Read(const std::string& path) {
  const auto dir = dirs_.find(fs::ParentOf(path));
  if (dir == dirs_.end()) return ErrnoStatus(ENOENT);
  const std::string name = fs::NameOf(path);
  if (name == "cgroup.procs") {
    std::string text;
    for (const int64_t pid : dir->second.pids) text += fmt::format("{}\n", pid);
    return text;
  }
  const auto file = dir->second.files.find(name);
  if (file == dir->second.files.end()) return ErrnoStatus(ENOENT);
  return file->second;
}

Status FakeKernel::EnableBelow(const std::string& path, const std::string& controller) {
  Dir& dir = dirs_.at(path);
  if (!Words(dir.files.at("cgroup.controllers")).contains(controller)) return ErrnoStatus(ENOENT);
  if (!roots_.contains(path) && !dir.pids.empty()) return ErrnoStatus(EBUSY);
  dir.files["cgroup.subtree_control"] += controller + " ";
  for (auto& [other, child] : dirs_) {
    if (fs::ParentOf(other) != path) continue;
    child.files["cgroup.controllers"] += controller + " ";
    AddControllerFiles(child, {controller});
  }
  return OkStatus();
}

Status FakeKernel::Write(const std::string& path, const std::string& value) {
  if (const auto error = write_errors_.find(path); error != write_errors_.end())
    if (!error->second.ok()) return error->second;
  const std::string parent = fs::ParentOf(path), name = fs::NameOf(path);
  const auto dir = dirs_.find(parent);
  if (dir == dirs_.end()) return ErrnoStatus(ENOENT);
  const auto file = dir->second.files.find(name);
  if (file == dir->second.files.end()) return ErrnoStatus(ENOENT);
  ++writes_;
  if (name == "cgroup.subtree_control") return EnableBelow(parent, value.substr(1));
  if (name != "cgroup.kill") {
    file->second = value;
    return OkStatus();
  }
  for (auto& [other, below] : dirs_)
    if (other == parent || other.starts_with(parent + "/"))
      for (const int64_t pid : std::set<int64_t>(below.pids)) Kill(pid).IgnoreError();
  return OkStatus();
}

Status FakeKernel::MakeDir(const std::string& path) {
  if (dirs_.contains(path)) return OkStatus();
  RETURN_IF_ERROR(make_error_, "mkdir");
  const auto parent = dirs_.find(fs::ParentOf(path));
  if (parent == dirs_.end()) return ErrnoStatus(ENOENT);
  AddDir(path, parent->second.mount, false);
  return OkStatus();
}

Status FakeKernel::RemoveDir(const std::string& path) {
  const auto dir = dirs_.find(path);
  if (dir == dirs_.end()) return OkStatus();
  const auto listed = ListDirs(path);
  if (!dir->second.pids.empty() || !listed->empty())
    return FailedPrecondition("device or resource busy");
  dirs_.erase(dir);
  return OkStatus();
}

StatusOr<std::vector<std::string>> FakeKernel::ListDirs(const std::string& path) {
  if (!dirs_.contains(path)) return ErrnoStatus(ENOENT);
  std::vector<std::string> names;
  for (const auto& [other, dir] : dirs_)
    if (fs::ParentOf(other) == path) names.push_back(fs::NameOf(other));
  return names;
}

Status FakeKernel::Kill(int64_t pid) {
  if (int& kills = stubborn_[pid]; kills > 0) {
    --kills;
    return OkStatus();
  }
  for (auto& [path, dir] : dirs_) dir.pids.erase(pid);
  killed_.insert(pid);
  return OkStatus();
}

}  // namespace splitlet::cgroup
