#pragma once

/// Volumes of simulated pods as they are on disk: two emptyDirs, of which one is in memory, and
/// some that show objects, which have the files "a" and "b", whose contents are always alike. Two
/// persistent volumes are directories of the machine: one of type local, which is bound into each
/// pod with a claim on it, and one of type hostPath.
/// Threads: one.
/// Errors: what is wrong, as text; empty: nothing.
/// Source: docs/behaviour/volumes.md, "Objects as files".

#include <string>
#include <vector>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"

namespace splitlet::simulation {

inline const std::string kPodDirs = "/kubelet/pods/";
inline const std::string kLocalDisk = "/srv/local", kHostDisk = "/srv/host";
/// In both of them, of somebody else.
inline const std::string kKept = "kept";

/// "" where the path is not of a pod.
std::string UidOfPath(const std::string& path);
/// "kubernetes.io~empty-dir/scratch" for each that a pod has on disk, and what was not finished.
std::vector<std::string> VolumesOf(fs::FakeFileSystem& files, const std::string& uid);
/// How many subPaths of the pod are bound.
size_t PartsOf(const fs::FakeMounts& mounts, const std::string& uid);
bool ShowsObjects(const std::string& volume);
/// Where the local one is, of a pod with a claim on it.
std::string LocalDiskOf(const std::string& uid);
bool IsLocalDiskBound(const fs::FakeMounts& mounts, const std::string& uid);
/// The emptyDir "memory" of the pod, which is a tmpfs.
bool IsInMemory(const fs::FakeMounts& mounts, const std::string& uid);

/// What a reader of the volume finds at this moment: one set of files, whole; or none yet.
std::string WrongSet(fs::FakeFileSystem& files, const std::string& dir);
/// What is there beside the set that readers see.
std::string LeftInVolume(fs::FakeFileSystem& files, const std::string& dir);

}  // namespace splitlet::simulation
