#pragma once

/// Location of a pod's directory below the kubelet's root directory, where a kubelet may have pods
/// too. A mark below the state directory identifies our pods: "<state>/pods/<uid>/root" holds the
/// path and, on a second line, the pod's source. The mark is on disk before the directory is made.
/// A pod that is older than marks keeps its directory in place of the mark, because mounted
/// directories cannot move.
/// Threads: any; calls block on files; calls for one UID come in sequence.
/// Errors: those of the files; FAILED_PRECONDITION: the mark names no directory of its pod; then no
/// process touches that directory.
/// Source: docs/behaviour/volumes.md, "The pod's directory"; docs/safety.md, rule 25.

#include <optional>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::node {

struct PodRoots {
  std::string marks_dir;  // "<state>/pods"
  std::string root_dir;   // the kubelet's root directory: "/var/lib/kubelet"
};

struct PodPlace {
  std::string path;
  bool ours = false;  // a mark exists, or the directory is in its place
};

/// Contents of a mark.
struct PodMark {
  std::string path;
  std::string source;  // "file"; empty: unknown, as in a mark of an earlier version
};

/// "<root>/pods".
std::string PodsBelow(std::string_view root_dir);

/// The mark in this directory; nullopt: none.
StatusOr<std::optional<PodMark>> ReadPodMark(fs::FileSystem& files, const std::string& mark_dir,
                                             const std::string& uid);

/// The pod's directory, existing or future.
StatusOr<PodPlace> FindPodPlace(fs::FileSystem& files, const PodRoots& roots,
                                const std::string& uid);

/// Marks the directory as ours, permanently, before its content is made. With a source, leftovers
/// of the pod may be removed once that source is complete; without a source, once all sources are.
Status MarkPodPlace(fs::FileSystem& files, const PodRoots& roots, const std::string& uid,
                    const PodMark& mark);

/// Usage of the file system that contains this path, which need not exist yet.
StatusOr<fs::DiskUsage> UsageAt(fs::FileSystem& files, std::string path);

}  // namespace splitlet::node
