#include "services/gc/collect/containers/inventory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "libs/fs/mount_table.h"
#include "libs/fs/path.h"
#include "libs/node/pod_place.h"

namespace splitlet::gc {
namespace {

using Kind = fs::FileInfo::Kind;
constexpr int kMaxDepth = 32;
constexpr std::string_view kEmptyDirs = "kubernetes.io~empty-dir";

/// A directory that does not exist gives an empty list; one that cannot be read also a problem.
std::vector<fs::DirEntry> ListOrNote(fs::FileSystem& files, const std::string& path,
                                     Inventory& inventory) {
  auto entries = files.List(path);
  if (entries.ok()) return *std::move(entries);
  if (entries.status().code() != StatusCode::kNotFound)
    inventory.problems.push_back(
        fmt::format("cannot list {}: {}", path, Message(entries.status())));
  return {};
}

/// True when a file lies below `path`, or when an error leaves that unknown.
bool MayHoldFiles(fs::FileSystem& files, const std::string& path, int depth) {
  const auto entries = files.List(path);
  if (!entries.ok()) return entries.status().code() != StatusCode::kNotFound;
  return std::ranges::any_of(*entries, [&](const fs::DirEntry& entry) {
    return entry.kind != Kind::kDirectory || depth == 0 ||
           MayHoldFiles(files, path + "/" + entry.name, depth - 1);
  });
}

/// emptyDir volumes end with the pod; files in any other volume belong to a user.
Blocked WhyTreeBlocked(fs::FileSystem& files, const std::string& dir,
                       const std::optional<std::vector<std::string>>& mounts) {
  if (!mounts) return {"the mount table cannot be read"};
  for (const auto& mount : *mounts) {
    if (mount == dir || mount.starts_with(dir + "/"))
      return {fmt::format("{} is mounted", mount), mount.starts_with(dir + "/volume")};
  }
  // pod-worker removes the links that it knows with the volumes. The other links may be in use.
  if (MayHoldFiles(files, dir + "/volumeDevices", kMaxDepth))
    return {"there are links in volumeDevices", true};
  const auto volumes = files.List(dir + "/volumes");
  if (volumes.status().code() == StatusCode::kNotFound) return {};
  if (!volumes.ok()) return {"its volumes cannot be read"};
  for (const auto& plugin : *volumes) {
    if (plugin.name == kEmptyDirs) continue;
    if (MayHoldFiles(files, dir + "/volumes/" + plugin.name, kMaxDepth))
      return {fmt::format("there are files in volumes/{}", plugin.name), true};
  }
  return {};
}

std::optional<std::vector<std::string>> ReadMountPoints(fs::FileSystem& files) {
  // Without /proc a mount is detected only when its directory is emptied.
  const auto text = fs::ReadMountTable(files);
  if (!text.ok()) return std::nullopt;
  return fs::ParseMountPoints(*text);
}

void ListLogs(fs::FileSystem& files, const GcConfig& config, Inventory& inventory) {
  for (const auto& entry : ListOrNote(files, config.pod_logs_dir, inventory)) {
    if (entry.kind != Kind::kDirectory) continue;
    if (entry.name.starts_with(kAsidePrefix)) {
      inventory.aside.push_back({config.pod_logs_dir + "/" + entry.name, ""});
    } else if (!entry.name.starts_with('.')) {
      inventory.log_dirs.push_back({entry.name, UidOfLogDirectory(entry.name)});
    }
  }
}

/// The UID in ".removing-<time>-<uid>", the name that Remover gives.
std::string UidOfAside(std::string_view name) {
  name.remove_prefix(kAsidePrefix.size());
  const size_t dash = name.find('-');
  return dash == std::string_view::npos ? std::string() : std::string(name.substr(dash + 1));
}

/// Only the mark names the tree, so the directory is emptied only when the mark can be read.
void AddAside(fs::FileSystem& files, const std::string& path, Inventory& inventory) {
  const auto mark = node::ReadPodMark(files, path, UidOfAside(fs::NameOf(path)));
  if (!mark.ok()) {
    inventory.problems.push_back(fmt::format("cannot empty {}: {}", path, Message(mark.status())));
    return;
  }
  inventory.aside.push_back({path, *mark ? AsideOfTree((*mark)->path) : ""});
}

using Mounts = std::optional<std::vector<std::string>>;

/// A directory on a disk that is not mounted now counts as blocked, so that it is not forgotten.
Blocked WhyBlockedWith(fs::FileSystem& files, const std::string& mark_dir, const std::string& tree,
                       const Mounts& mounts) {
  if (tree.empty()) return WhyTreeBlocked(files, mark_dir, mounts);
  const std::string pods = fs::ParentOf(tree);
  const auto there = files.Stat(pods, true);
  if (there.ok()) return WhyTreeBlocked(files, tree, mounts);
  return {fmt::format("cannot inspect {}: {}", pods, Message(there.status()))};
}

void AddPodDir(fs::FileSystem& files, const std::string& mark_dir, const Mounts& mounts,
               Inventory& inventory) {
  const std::string uid = fs::NameOf(mark_dir);
  const auto mark = node::ReadPodMark(files, mark_dir, uid);
  if (!mark.ok()) {
    inventory.pod_dirs.push_back({.uid = uid, .blocked = Message(mark.status())});
    return;
  }
  const node::PodMark named = mark->value_or(node::PodMark{});
  auto [why, by_volumes] = WhyBlockedWith(files, mark_dir, named.path, mounts);
  inventory.pod_dirs.push_back({.uid = uid,
                                .blocked = std::move(why),
                                .tree = named.path,
                                .source = named.source,
                                .by_volumes = by_volumes});
  if (named.path.empty()) return;
  // The round that moved the tree aside died before it moved the mark.
  const std::string aside = AsideOfTree(named.path);
  if (files.Stat(aside, false).ok()) inventory.aside.push_back({aside, ""});
}

void ListPodDirs(fs::FileSystem& files, const GcConfig& config, Inventory& inventory) {
  const auto mounts = ReadMountPoints(files);
  for (const auto& entry : ListOrNote(files, config.pods_dir, inventory)) {
    if (entry.kind != Kind::kDirectory) continue;
    const std::string path = config.pods_dir + "/" + entry.name;
    if (entry.name.starts_with(kAsidePrefix)) {
      AddAside(files, path, inventory);
    } else if (!entry.name.starts_with('.')) {
      AddPodDir(files, path, mounts, inventory);
    }
  }
}

void ListLinks(fs::FileSystem& files, const GcConfig& config, Inventory& inventory) {
  for (const auto& entry : ListOrNote(files, config.links_dir, inventory)) {
    if (entry.kind != Kind::kSymlink) continue;
    const std::string path = config.links_dir + "/" + entry.name;
    const auto target = files.ReadSymlink(path);
    if (!target.ok() || !fs::IsBelow(*target, config.pod_logs_dir)) continue;
    if (files.Stat(path, true).status().code() != StatusCode::kNotFound) continue;
    inventory.links.push_back({path, ContainerIdOfLink(entry.name)});
  }
}

}  // namespace

StatusOr<Inventory> ReadInventory(fs::FileSystem& files, cri::Reader& reader, const Clock& clock,
                                  const GcConfig& config) {
  Inventory inventory;
  ListLogs(files, config, inventory);
  ListPodDirs(files, config, inventory);
  ListLinks(files, config, inventory);
  const Deadline deadline = After(clock, config.call_limit);
  ASSIGN_OR_RETURN(inventory.containers, reader.ListContainers({}, deadline), "list containers");
  ASSIGN_OR_RETURN(inventory.sandboxes, reader.ListPodSandbox("", deadline), "list sandboxes");
  return inventory;
}

Blocked WhyBlocked(fs::FileSystem& files, const std::string& mark_dir, const std::string& tree) {
  return WhyBlockedWith(files, mark_dir, tree, ReadMountPoints(files));
}

std::string AsideOfTree(const std::string& tree) {
  return fmt::format("{}/{}{}", fs::ParentOf(tree), kAsidePrefix, fs::NameOf(tree));
}

std::string UidOfLogDirectory(const std::string& name) {
  const size_t last = name.rfind('_');
  return last == std::string::npos ? name : name.substr(last + 1);
}

std::string ContainerIdOfLink(const std::string& name) {
  constexpr std::string_view kSuffix = ".log";
  constexpr size_t kMinIdLength = 6;
  std::string_view stem = name;
  if (stem.ends_with(kSuffix)) stem.remove_suffix(kSuffix.size());
  const size_t dash = stem.rfind('-');
  if (dash == std::string_view::npos) return "";
  const std::string_view id = stem.substr(dash + 1);
  return id.size() < kMinIdLength ? "" : std::string(id);
}

}  // namespace splitlet::gc
