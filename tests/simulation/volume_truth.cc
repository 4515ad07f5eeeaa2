#include "tests/simulation/volume_truth.h"

#include <fmt/format.h>

#include <algorithm>

namespace splitlet::simulation {
namespace {

constexpr const char* kData = "..data";
constexpr const char* kShown[] = {"a", "b"};

}  // namespace

std::string UidOfPath(const std::string& path) {
  if (!path.starts_with(kPodDirs)) return {};
  const size_t end = path.find('/', kPodDirs.size());
  return path.substr(kPodDirs.size(), end == std::string::npos ? end : end - kPodDirs.size());
}

std::vector<std::string> VolumesOf(fs::FakeFileSystem& files, const std::string& uid) {
  std::vector<std::string> volumes;
  const std::string root = kPodDirs + uid + "/volumes";
  const auto plugins = files.List(root);
  if (!plugins.ok()) return volumes;
  for (const auto& plugin : *plugins) {
    const auto names = files.List(root + "/" + plugin.name);
    if (!names.ok()) continue;
    for (const auto& name : *names) volumes.push_back(plugin.name + "/" + name.name);
  }
  return volumes;
}

size_t PartsOf(const fs::FakeMounts& mounts, const std::string& uid) {
  const std::string below = kPodDirs + uid + "/volume-subpaths/";
  size_t parts = 0;
  for (const auto& [path, request] : mounts.mounted()) parts += path.starts_with(below) ? 1 : 0;
  return parts;
}

bool ShowsObjects(const std::string& volume) {
  return !volume.starts_with("kubernetes.io~empty-dir/") &&
         !volume.starts_with("kubernetes.io~local-volume/");
}

std::string LocalDiskOf(const std::string& uid) {
  return kPodDirs + uid + "/volumes/kubernetes.io~local-volume/local";
}

bool IsLocalDiskBound(const fs::FakeMounts& mounts, const std::string& uid) {
  const auto found = mounts.mounted().find(LocalDiskOf(uid));
  return found != mounts.mounted().end() && found->second.options == kLocalDisk;
}

bool IsInMemory(const fs::FakeMounts& mounts, const std::string& uid) {
  const auto found =
      mounts.mounted().find(kPodDirs + uid + "/volumes/kubernetes.io~empty-dir/memory");
  return found != mounts.mounted().end() && found->second.type == "tmpfs";
}

std::string WrongSet(fs::FakeFileSystem& files, const std::string& dir) {
  if (!files.ReadSymlink(dir + "/" + kData).ok()) return {};
  std::string first;
  for (const char* name : kShown) {
    const auto content = files.Read(fmt::format("{}/{}/{}", dir, kData, name), 1 << 20);
    if (!content.ok()) return fmt::format("{} does not show {}", dir, name);
    if (name != kShown[0] && *content != first)
      return fmt::format("{} shows {} of one set and {} of another", dir, first, *content);
    first = *content;
  }
  return {};
}

std::string LeftInVolume(fs::FakeFileSystem& files, const std::string& dir) {
  const auto current = files.ReadSymlink(dir + "/" + kData);
  if (!current.ok()) return fmt::format("{} shows nothing", dir);
  const auto entries = files.List(dir);
  if (!entries.ok()) return fmt::format("{} cannot be listed", dir);
  for (const auto& entry : *entries) {
    const bool shown = std::ranges::count(kShown, entry.name) > 0;
    if (!shown && entry.name != kData && entry.name != *current)
      return fmt::format("{} is left in {}", entry.name, dir);
  }
  for (const char* name : kShown)
    if (!files.Read(dir + "/" + name, 1 << 20).ok())
      return fmt::format("{} has no link to {}", dir, name);
  return {};
}

}  // namespace splitlet::simulation
