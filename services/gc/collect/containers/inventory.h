#pragma once

/// Lists the containers and sandboxes of the runtime, and what pods have left on disk.
/// Threads: any; the calls block.
/// Errors: those of the runtime's listings; a directory that does not exist counts as empty. The
/// disk is listed before the runtime, and containers before sandboxes, so that all that appears in
/// between counts as in use.
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

/// The directory of a pod that splitlet created. Directories of other programs below the kubelet's
/// root directory have no mark.
struct PodDirectory {
  std::string uid;
  std::string blocked;      // why it cannot be removed, such as a mount or user data; empty: it can
  std::string tree;         // the path that the mark names; empty: the directory is at the mark
  std::string source;       // the pod's source, from the mark; empty: not known
  bool by_volumes = false;  // volumes block it, which pod-worker may tear down
};

/// Why a pod's directory cannot be removed now; empty: it can.
struct Blocked {
  std::string why;
  bool by_volumes = false;  // judged by the first obstacle that was found
};
/// `tree`: the path that the mark in `mark_dir` names; empty: the directory is at the mark.
Blocked WhyBlocked(fs::FileSystem& files, const std::string& mark_dir, const std::string& tree);

/// A directory that an earlier round has renamed and not yet emptied.
struct Aside {
  std::string path;
  std::string tree;  // also renamed, and emptied first; empty: none
};

/// A dangling link to a log of a pod.
struct LogLink {
  std::string path;
  std::string container_id;  // from the name of the link; empty: not known
};

struct Inventory {
  std::vector<cri::Container> containers;
  /// Containers without a record of their pod that were in unknown state in the round before.
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

/// Prefix of the name of a directory that waits to be emptied.
inline constexpr std::string_view kAsidePrefix = ".removing-";
/// The name under which the directory that a mark names is moved aside; the mark alone gives it.
std::string AsideOfTree(const std::string& tree);

StatusOr<Inventory> ReadInventory(fs::FileSystem& files, cri::Reader& reader, const Clock& clock,
                                  const GcConfig& config);

/// The UID in the name of a log directory: what follows the last '_', or all of it.
std::string UidOfLogDirectory(const std::string& name);
/// The container id in the name of a link; empty when there is none of at least 6 characters.
std::string ContainerIdOfLink(const std::string& name);

}  // namespace splitlet::gc
