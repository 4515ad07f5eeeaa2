#pragma once

/// What a cgroup uses, and where the cgroups of pods and containers are, whoever placed them.
/// Threads: a strand; it blocks on files. The parsers are pure.
/// Errors:  none: a file that cannot be read leaves its figures out.
/// Units:   as the fields' names say.
/// Source:  docs/behaviour/node-api.md, "Figures"; cgroups(7).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "libs/cgroup/layout.h"
#include "libs/fs/file_system.h"

namespace splitlet::v1 {
class PressureStats;
class UsageStats;
}  // namespace splitlet::v1

namespace splitlet::gc {

/// Where a cgroup is in each hierarchy.
struct CgroupAt {
  std::string path;                          // "/kubepods/pod1"
  std::map<std::string, std::string> other;  // version 1: controller -> its own path
  const std::string& Of(const std::string& controller) const;
};

/// Of /proc/<pid>/cgroup.
CgroupAt ParseProcCgroup(const std::string& text, cgroup::Version version);

/// Without any figure: it is not there.
v1::UsageStats ReadCgroup(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at);
/// What memory has been through, and limits that few ask for; of a cgroup that has been read.
void ReadCgroupDetails(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at,
                       v1::UsageStats& usage);
/// Figures that add up: time, memory, swap, processes.
void AddUsage(v1::UsageStats& sum, const v1::UsageStats& more);
bool HasUsage(const v1::UsageStats& usage);

struct CgroupTree {
  std::map<std::string, std::string> by_id;   // of a container or a sandbox -> path
  std::map<std::string, std::string> by_uid;  // of a pod -> path
  std::string all_pods;                       // empty: there is none
};
/// By the names that runtimes and kubelets give; `ids`: which containers and sandboxes are looked
/// for.
CgroupTree FindCgroups(fs::FileSystem& files, const cgroup::Layout& layout,
                       const std::set<std::string>& ids);

/// In that cgroup itself. One of a namespace that is not ours has number 0.
std::vector<int64_t> ProcessesIn(fs::FileSystem& files, const cgroup::Layout& layout,
                                 const std::string& path);
/// In that cgroup and all below it; nothing: it is not there.
std::optional<int64_t> CountProcesses(fs::FileSystem& files, const cgroup::Layout& layout,
                                      const std::string& path);
std::string MountOf(const cgroup::Layout& layout, const std::string& controller);

/// Of a file of pressure stalls; false: it is none.
bool ParsePressure(const std::string& text, v1::PressureStats& figures);

/// Of the machine or of a cgroup. `text_of`: the file of "cpu", "memory" or "io".
template <class TextOf, class Figures>
void FillPressure(const TextOf& text_of, Figures& figures) {
  using Pressure = std::remove_cvref_t<decltype(*figures.mutable_cpu_pressure())>;
  Pressure cpu, memory, io;
  if (ParsePressure(text_of("cpu"), cpu)) *figures.mutable_cpu_pressure() = cpu;
  if (ParsePressure(text_of("memory"), memory)) *figures.mutable_memory_pressure() = memory;
  if (ParsePressure(text_of("io"), io)) *figures.mutable_io_pressure() = io;
}

}  // namespace splitlet::gc
