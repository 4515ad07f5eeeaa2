#pragma once

/// What is there: the runtime's containers and sandboxes, and what pods have left on disk.
/// Threads: any; the calls block.
/// Errors: of the runtime's listings; a directory that does not exist is empty. The disk is listed
/// before the runtime and containers before sandboxes, so that what appears in between looks in
/// use.
/// Source: docs/safety.md, rule 25; docs/behaviour/garbage-collection.md, "Containers and
/// sandboxes" and "Directories and logs".

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/fs/file_system.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct LogDirectory {
  std::string name;  // "<namespace>_<name>_<uid>"
  std::string uid;
};

/// Of a pod of ours: what others have below the kubelet's root directory has no mark.
struct PodDirectory {
  std::string uid;
  std::string blocked;      // why it cannot be removed: a mount or user data; empty: it can
  std::string tree;         // what its mark names; empty: it is in the place of the mark
  std::string source;       // of the pod, by its mark; empty: not known
  bool by_volumes = false;  // what blocks it is of volumes, which pod-worker may take down
};

/// Why a pod's directory cannot be removed now; empty: it can.
struct Blocked {
  std::string why;
  bool by_volumes = false;  // as far as the first thing that was found tells
};
/// `tree`: what the mark in `mark_dir` names; empty: the directory is in the place of the mark.
Blocked WhyBlocked(fs::FileSystem& files, const std::string& mark_dir, const std::string& tree);

/// Renamed by an earlier round and not yet emptied.
struct Aside {
  std::string path;
  std::string tree;  // aside as well, and emptied first; empty: none
};

/// A dangling link to a log of ours.
struct LogLink {
  std::string path;
  std::string container_id;  // as far as the name shows it; empty: not known
};

struct Inventory {
  std::vector<cri::Container> containers;
  /// What the round before found to be in unknown state, of pods that no record speaks of.
  std::set<std::string> unknown_before;
  /// Report::stuck of the round before.
  std::map<std::string, std::string> stuck_before;
  std::vector<cri::Sandbox> sandboxes;
  std::vector<LogDirectory> log_dirs;
  std::vector<PodDirectory> pod_dirs;
  std::vector<LogLink> links;
  std::vector<Aside> aside;
  std::vector<std::string> problems;  // directories that could not be read
};

/// Prefix of what was renamed to be emptied.
inline constexpr std::string_view kAsidePrefix = ".removing-";
/// Where the directory that a mark names goes: found by the mark alone.
std::string AsideOfTree(const std::string& tree);

StatusOr<Inventory> ReadInventory(fs::FileSystem& files, cri::Reader& reader, const Clock& clock,
                                  const GcConfig& config);

/// Of a label or an annotation; empty: there is none.
std::string ValueOf(const cri::StringMap& map, std::string_view key);
/// The UID in the name of a log directory: what follows the last '_', or all of it.
std::string UidOfLogDirectory(const std::string& name);
/// The container id in the name of a link; empty when there is none of at least 6 characters.
std::string ContainerIdOfLink(const std::string& name);

}  // namespace splitlet::gc
