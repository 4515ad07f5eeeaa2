#pragma once

/// Where the directory of a pod is: below the kubelet's root directory, where a kubelet may have
/// pods too. A mark below the state directory says which ones are ours: "<state>/pods/<uid>/root"
/// holds the path and, on a second line, the pod's source, on disk before the directory is made. A
/// pod from before there were marks has its directory in the mark's place and keeps it, since what
/// containers have mounted does not move.
/// Threads: any; calls block on files, and those for one UID come one after the other.
/// Errors: those of the files; a mark that does not name a directory of its pod is
/// FAILED_PRECONDITION, and nobody touches that pod's directory.
/// Source: docs/behaviour/volumes.md, "The pod's directory"; docs/safety.md, rule 25.

#include <optional>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/fs/file_system.h"

namespace splitlet::node {

struct PodRoots {
  std::string marks_dir;  // "<state>/pods"
  std::string root_dir;   // the kubelet's: "/var/lib/kubelet"
};

struct PodPlace {
  std::string path;
  bool ours = false;  // there is a mark, or the directory is in the mark's place
};

/// What a mark says.
struct PodMark {
  std::string path;
  std::string source;  // "file"; empty: made by a version that did not write it, or not known
};

/// "<root>/pods".
std::string PodsBelow(std::string_view root_dir);

/// The mark in this directory; nothing: there is none.
StatusOr<std::optional<PodMark>> ReadPodMark(fs::FileSystem& files, const std::string& mark_dir,
                                             const std::string& uid);

/// Where the pod's directory is, or is to be.
StatusOr<PodPlace> FindPodPlace(fs::FileSystem& files, const PodRoots& roots,
                                const std::string& uid);

/// Says that the directory is ours, lastingly. Before anything is made in it. With its source, what
/// a pod left can go once that source says so; without, only when all sources do.
Status MarkPodPlace(fs::FileSystem& files, const PodRoots& roots, const std::string& uid,
                    const PodMark& mark);

/// Of the file system that holds this path, or will when it is made.
StatusOr<fs::DiskUsage> UsageAt(fs::FileSystem& files, std::string path);

}  // namespace splitlet::node
