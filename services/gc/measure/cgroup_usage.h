#pragma once

/// Measures the usage of a cgroup, and finds the cgroups of pods and containers.
/// Threads: a strand; it blocks on files. The parsers are pure.
/// Errors:  none: a file that cannot be read leaves its stats out.
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

/// The path of one cgroup in each hierarchy.
struct CgroupAt {
  std::string path;                          // "/kubepods/pod1"
  std::map<std::string, std::string> other;  // version 1: controller -> its own path
  const std::string& Of(const std::string& controller) const;
};

/// `text`: of /proc/<pid>/cgroup.
CgroupAt ParseProcCgroup(const std::string& text, cgroup::Version version);

/// A cgroup that does not exist gives an empty result.
v1::UsageStats ReadCgroup(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at);
/// Adds peaks, limits and counters of events to the stats that ReadCgroup has read.
void ReadCgroupDetails(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at,
                       v1::UsageStats& usage);
/// Adds the stats for which a sum makes sense: time, memory, swap, processes.
void AddUsage(v1::UsageStats& sum, const v1::UsageStats& more);
bool HasUsage(const v1::UsageStats& usage);

struct CgroupTree {
  std::map<std::string, std::string> by_id;   // id of a container or sandbox -> path
  std::map<std::string, std::string> by_uid;  // UID of a pod -> path
  std::string all_pods;                       // empty: no such cgroup
};
/// Finds cgroups by the names that runtimes and kubelets give them. `ids`: the containers and
/// sandboxes to find.
CgroupTree FindCgroups(fs::FileSystem& files, const cgroup::Layout& layout,
                       const std::set<std::string>& ids);

/// Pids in the cgroup itself, without the cgroups below it. A process in another pid namespace has
/// pid 0.
std::vector<int64_t> ProcessesIn(fs::FileSystem& files, const cgroup::Layout& layout,
                                 const std::string& path);
/// Number of processes in the cgroup and all cgroups below it; nothing: it does not exist.
std::optional<int64_t> CountProcesses(fs::FileSystem& files, const cgroup::Layout& layout,
                                      const std::string& path);
std::string MountOf(const cgroup::Layout& layout, const std::string& controller);

/// Parses a pressure stall file; false: `text` is none.
bool ParsePressure(const std::string& text, v1::PressureStats& stats);

/// Fills the pressure of the machine or of a cgroup. `text_of`: returns the pressure file of "cpu",
/// "memory" or "io".
template <class TextOf, class Stats>
void FillPressure(const TextOf& text_of, Stats& stats) {
  using Pressure = std::remove_cvref_t<decltype(*stats.mutable_cpu_pressure())>;
  Pressure cpu, memory, io;
  if (ParsePressure(text_of("cpu"), cpu)) *stats.mutable_cpu_pressure() = cpu;
  if (ParsePressure(text_of("memory"), memory)) *stats.mutable_memory_pressure() = memory;
  if (ParsePressure(text_of("io"), io)) *stats.mutable_io_pressure() = io;
}

}  // namespace splitlet::gc
