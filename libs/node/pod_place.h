#pragma once

/// Where the directory of a pod is. It lies below the kubelet's root directory, where a kubelet may
/// have pods of its own, so a mark below the state directory says which ones are ours:
/// "<state>/pods/<uid>/root" holds the path, and is on disk before the directory is made. A pod of
/// before there were marks has its directory in the place of the mark; it keeps it until it is
/// gone, because what is mounted in its containers does not move. Threads: any; calls block on
/// files, and those for one UID come one after the other. Errors: those of the files; a mark that
/// does not name a directory of its pod is FAILED_PRECONDITION, and nobody touches that pod's
/// directory. Source: volumes spec, section 1; docs/safety.md, rule 25.

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

/// "<root>/pods".
std::string PodsBelow(std::string_view root_dir);

/// What the mark in this directory names; nothing: there is no mark in it.
StatusOr<std::optional<std::string>> ReadPodMark(fs::FileSystem& files, const std::string& mark_dir,
                                                 const std::string& uid);

/// Where the pod's directory is, or is to be.
StatusOr<PodPlace> FindPodPlace(fs::FileSystem& files, const PodRoots& roots,
                                const std::string& uid);

/// Says that the place is ours, lastingly. Before anything is made in it.
Status MarkPodPlace(fs::FileSystem& files, const PodRoots& roots, const std::string& uid,
                    const PodPlace& place);

/// Of the file system that holds this path, or will when it is made.
StatusOr<fs::DiskUsage> UsageAt(fs::FileSystem& files, std::string path);

}  // namespace splitlet::node
