#pragma once

/// Volumes of simulated pods on disk: two emptyDirs, one of them in memory, and volumes of objects
/// with the files "a" and "b", whose contents are always equal. Two persistent volumes are
/// directories of the machine: one of type local, which is bound into each pod with a claim on it,
/// and one of type hostPath.
/// Threads: one.
/// Errors: violations as text; empty: none.
/// Source: docs/behaviour/volumes.md, "Objects as files".

#include <string>
#include <vector>

#include "libs/fs/fake_file_system.h"
#include "libs/fs/fake_mounts.h"

namespace splitlet::simulation {

inline const std::string kPodDirs = "/kubelet/pods/";
inline const std::string kLocalDisk = "/srv/local", kHostDisk = "/srv/host";
/// Files in both of them that belong to another program.
inline const std::string kKept = "kept";

/// "" if the path is not of a pod.
std::string UidOfPath(const std::string& path);
/// "kubernetes.io~empty-dir/scratch" for each volume of a pod on disk, and unfinished ones.
std::vector<std::string> VolumesOf(fs::FakeFileSystem& files, const std::string& uid);
/// Number of the pod's bound subPaths.
size_t PartsOf(const fs::FakeMounts& mounts, const std::string& uid);
bool ShowsObjects(const std::string& volume);
/// Path of the local volume, of a pod with a claim on it.
std::string LocalDiskOf(const std::string& uid);
bool IsLocalDiskBound(const fs::FakeMounts& mounts, const std::string& uid);
/// The pod's emptyDir "memory", which is a tmpfs.
bool IsInMemory(const fs::FakeMounts& mounts, const std::string& uid);

/// Empty: a reader of the volume finds one complete set of files at this moment, or none yet.
std::string WrongSet(fs::FakeFileSystem& files, const std::string& dir);
/// Other entries than the set that readers see.
std::string LeftInVolume(fs::FakeFileSystem& files, const std::string& dir);

}  // namespace splitlet::simulation
