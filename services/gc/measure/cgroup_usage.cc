#include "services/gc/measure/cgroup_usage.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <initializer_list>
#include <sstream>
#include <string_view>
#include <utility>

#include "libs/base/trim.h"
#include "libs/cgroup/names.h"
#include "services/gc/measure/kernel_files.h"
#include "splitlet/v1/stats.pb.h"

namespace splitlet::gc {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 62;
constexpr size_t kMaxDirectories = 50'000;
constexpr uint64_t kMaxPidsFile =
    40u << 20;  // pids of four million processes, the most that a kernel allows

/// The files of one cgroup.
class Files {
 public:
  Files(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at)
      : files_(files), layout_(layout), at_(at) {}

  std::string Text(const std::string& controller, const std::string& file) const {
    const std::string mount = MountOf(layout_, controller);
    if (mount.empty()) return "";
    const std::string& path = at_.Of(controller);
    return ReadOrEmpty(files_, mount + (path == "/" ? "" : path) + "/" + file);
  }
  std::optional<uint64_t> Number(const std::string& controller, const std::string& file) const {
    return NumberIn(Text(controller, file));
  }
  /// Lines "name value".
  std::map<std::string, uint64_t> Table(const std::string& controller,
                                        const std::string& file) const {
    std::map<std::string, uint64_t> table;
    std::istringstream words(Text(controller, file));
    std::string name;
    for (uint64_t value = 0; words >> name >> value;) table[name] = value;
    return table;
  }
  /// "/dev/vda" for "252:0".
  std::string DeviceName(const std::string& number) const {
    const auto link = files_.ReadSymlink("/sys/dev/block/" + number);
    if (!link.ok()) return number;
    return "/dev/" + link->substr(link->rfind('/') + 1);
  }

 private:
  fs::FileSystem& files_;
  const cgroup::Layout& layout_;
  const CgroupAt& at_;
};

using Table = std::map<std::string, uint64_t>;
using Set = void (v1::UsageStats::*)(uint64_t);

/// Which line of a table sets which field.
struct Line {
  const char* name;
  Set set;
  uint64_t unit = 1;
};

void Take(const Table& from, std::initializer_list<Line> lines, v1::UsageStats& usage) {
  for (const Line& line : lines) {
    const auto found = from.find(line.name);
    if (found != from.end()) (usage.*line.set)(found->second * line.unit);
  }
}

void SetMemory(const std::optional<uint64_t>& used, const std::optional<uint64_t>& inactive,
               v1::UsageStats& usage) {
  if (!used) return;
  usage.set_memory_usage_bytes(*used);
  usage.set_memory_working_set_bytes(*used - std::min(*used, inactive.value_or(0)));
}

std::optional<uint64_t> Find(const Table& table, const char* name) {
  const auto found = table.find(name);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

void ReadMemoryV2(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  const Table stat = files.Table("memory", "memory.stat");
  SetMemory(files.Number("memory", "memory.current"), Find(stat, "inactive_file"), usage);
  Take(stat,
       {{"anon", &U::set_memory_rss_bytes},
        {"file", &U::set_memory_cache_bytes},
        {"file_mapped", &U::set_memory_mapped_bytes},
        {"active_file", &U::set_memory_active_file_bytes},
        {"inactive_file", &U::set_memory_inactive_file_bytes},
        {"kernel", &U::set_memory_kernel_bytes},
        {"pgfault", &U::set_page_faults},
        {"pgmajfault", &U::set_major_page_faults}},
       usage);
  if (const auto limit = files.Number("memory", "memory.max")) usage.set_memory_limit_bytes(*limit);
  if (const auto swap = files.Number("memory", "memory.swap.current"))
    usage.set_swap_usage_bytes(*swap);
  if (const auto limit = files.Number("memory", "memory.swap.max"))
    usage.set_swap_limit_bytes(*limit);
}

void ReadCpuV2(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  const Table stat = files.Table("cpu", "cpu.stat");
  Take(stat,
       {{"usage_usec", &U::set_cpu_usage_core_ns, 1000},
        {"user_usec", &U::set_cpu_user_ns, 1000},
        {"system_usec", &U::set_cpu_system_ns, 1000},
        {"nr_periods", &U::set_cpu_periods},
        {"nr_throttled", &U::set_cpu_throttled_periods},
        {"throttled_usec", &U::set_cpu_throttled_ns, 1000},
        {"nr_bursts", &U::set_cpu_burst_periods},
        {"burst_usec", &U::set_cpu_burst_ns, 1000}},
       usage);
  std::istringstream most(files.Text("cpu", "cpu.max"));
  std::string quota;
  uint64_t period = 0;
  if (most >> quota >> period) {
    usage.set_cpu_period_us(period);
    if (const auto number = NumberIn(quota)) usage.set_cpu_quota_us(*number);
  }
  // Inverts the line by which runtimes convert CPU shares to weights.
  if (const auto weight = files.Number("cpu", "cpu.weight"); weight && *weight > 0)
    usage.set_cpu_shares(2 + (*weight - 1) * 262142 / 9999);
}

/// `number`: "252:0".
void Name(const Files& files, const std::string& number, v1::DeviceStats& device) {
  device.set_name(files.DeviceName(number));
  const auto colon = number.find(':');
  device.set_major(NumberIn(number.substr(0, colon)).value_or(0));
  device.set_minor(NumberIn(number.substr(colon + 1)).value_or(0));
}

void AddOperation(const std::string& name, uint64_t bytes, v1::DeviceStats& device) {
  v1::OperationStats& operation = *device.add_operations();
  operation.set_name(name);
  operation.set_bytes(bytes);
}

/// "252:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0"
void ReadDevicesV2(const Files& files, v1::UsageStats& usage) {
  std::istringstream lines(files.Text("io", "io.stat"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number;
    if (!(words >> number) || number.find(':') == std::string::npos) continue;
    Table table;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) continue;
      if (const auto value = NumberIn(word.substr(equals + 1)))
        table[word.substr(0, equals)] = *value;
    }
    v1::DeviceStats& device = *usage.add_devices();
    Name(files, number, device);
    device.set_read_bytes(table["rbytes"]);
    device.set_reads(table["rios"]);
    device.set_write_bytes(table["wbytes"]);
    device.set_writes(table["wios"]);
    AddOperation("Read", device.read_bytes(), device);
    AddOperation("Write", device.write_bytes(), device);
  }
}

void ReadDetailsV2(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  if (const auto most = files.Number("memory", "memory.peak"))
    usage.set_memory_max_usage_bytes(*most);
  if (const auto kept = files.Number("memory", "memory.min"))
    usage.set_memory_reservation_bytes(*kept);
  Take(files.Table("memory", "memory.events"),
       {{"max", &U::set_memory_limit_hits}, {"oom_kill", &U::set_oom_kills}}, usage);
}

void ReadMemoryV1(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  const Table stat = files.Table("memory", "memory.stat");
  SetMemory(files.Number("memory", "memory.usage_in_bytes"), Find(stat, "total_inactive_file"),
            usage);
  Take(stat,
       {{"total_rss", &U::set_memory_rss_bytes},
        {"total_cache", &U::set_memory_cache_bytes},
        {"total_mapped_file", &U::set_memory_mapped_bytes},
        {"total_active_file", &U::set_memory_active_file_bytes},
        {"total_inactive_file", &U::set_memory_inactive_file_bytes},
        {"total_pgfault", &U::set_page_faults},
        {"total_pgmajfault", &U::set_major_page_faults},
        {"total_swap", &U::set_swap_usage_bytes}},
       usage);
  const auto limit = files.Number("memory", "memory.limit_in_bytes");
  if (!limit || *limit >= kNoLimit) return;
  usage.set_memory_limit_bytes(*limit);
  const auto both = files.Number("memory", "memory.memsw.limit_in_bytes");
  if (both && *both < kNoLimit && *both >= *limit) usage.set_swap_limit_bytes(*both - *limit);
}

void ReadCpuV1(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  if (const auto used = files.Number("cpuacct", "cpuacct.usage"))
    usage.set_cpu_usage_core_ns(*used);
  const Table split = files.Table("cpuacct", "cpuacct.stat");
  Take(split,
       {{"user", &U::set_cpu_user_ns, kNanosOfTick},
        {"system", &U::set_cpu_system_ns, kNanosOfTick}},
       usage);
  const Table stat = files.Table("cpu", "cpu.stat");
  Take(stat,
       {{"nr_periods", &U::set_cpu_periods},
        {"nr_throttled", &U::set_cpu_throttled_periods},
        {"throttled_time", &U::set_cpu_throttled_ns},
        {"nr_bursts", &U::set_cpu_burst_periods},
        {"burst_time", &U::set_cpu_burst_ns}},
       usage);
  if (const auto shares = files.Number("cpu", "cpu.shares")) usage.set_cpu_shares(*shares);
  if (const auto period = files.Number("cpu", "cpu.cfs_period_us"))
    usage.set_cpu_period_us(*period);
  // "-1" means no quota; NumberIn does not parse it.
  if (const auto quota = files.Number("cpu", "cpu.cfs_quota_us")) usage.set_cpu_quota_us(*quota);
}

void ReadDetailsV1(const Files& files, v1::UsageStats& usage) {
  using U = v1::UsageStats;
  if (const auto most = files.Number("memory", "memory.max_usage_in_bytes"))
    usage.set_memory_max_usage_bytes(*most);
  if (const auto hits = files.Number("memory", "memory.failcnt"))
    usage.set_memory_limit_hits(*hits);
  if (const auto kept = files.Number("memory", "memory.soft_limit_in_bytes"))
    usage.set_memory_reservation_bytes(*kept >= kNoLimit ? 0 : *kept);
  if (const auto kernel = files.Number("memory", "memory.kmem.usage_in_bytes"))
    usage.set_memory_kernel_bytes(*kernel);
  Take(files.Table("memory", "memory.oom_control"), {{"oom_kill", &U::set_oom_kills}}, usage);
}

/// "252:0 Read 4096".
struct BlockLine {
  std::string number, what;
  uint64_t value = 0;
};

/// Skips the sum of all devices, "Total 0". A device without I/O has no lines.
std::vector<BlockLine> BlockLines(const std::string& text) {
  std::vector<BlockLine> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    BlockLine each;
    if (words >> each.number >> each.what >> each.value) all.push_back(std::move(each));
  }
  return all;
}

/// The I/O scheduler of a device counts its I/O, and the other files then may not: the first file
/// with data counts.
constexpr struct {
  const char* bytes;
  const char* times;
} kBlockFiles[] = {
    {"blkio.bfq.io_service_bytes_recursive", "blkio.bfq.io_serviced_recursive"},
    {"blkio.io_service_bytes_recursive", "blkio.io_serviced_recursive"},
    {"blkio.throttle.io_service_bytes_recursive", "blkio.throttle.io_serviced_recursive"},
    {"blkio.throttle.io_service_bytes", "blkio.throttle.io_serviced"},
};

void ReadDevicesV1(const Files& files, v1::UsageStats& usage) {
  std::map<std::string, v1::DeviceStats> devices;
  for (const auto& [bytes, times] : kBlockFiles) {
    for (const BlockLine& line : BlockLines(files.Text("blkio", bytes))) {
      v1::DeviceStats& device = devices[line.number];
      if (line.what == "Read") device.set_read_bytes(line.value);
      if (line.what == "Write") device.set_write_bytes(line.value);
      AddOperation(line.what, line.value, device);
    }
    if (devices.empty()) continue;
    for (const BlockLine& line : BlockLines(files.Text("blkio", times))) {
      if (line.what == "Read") devices[line.number].set_reads(line.value);
      if (line.what == "Write") devices[line.number].set_writes(line.value);
    }
    break;
  }
  for (auto& [number, device] : devices) {
    Name(files, number, device);
    *usage.add_devices() = std::move(device);
  }
}

bool IsAllPods(std::string_view name) {
  return name == "kubepods" || name == "kubepods.slice" || name.ends_with("-kubepods.slice");
}

/// The id in "<id>", "cri-containerd-<id>.scope", "crio-<id>". conmon watches a container and is
/// not the container.
std::string IdIn(std::string_view name) {
  if (name.find("conmon") != std::string_view::npos) return "";
  if (name.ends_with(".scope")) name.remove_suffix(6);
  return std::string(name.substr(name.rfind('-') + 1));  // npos + 1 is 0
}

}  // namespace

const std::string& CgroupAt::Of(const std::string& controller) const {
  const auto own = other.find(controller);
  return own == other.end() ? path : own->second;
}

std::string MountOf(const cgroup::Layout& layout, const std::string& controller) {
  const bool v2 = layout.version == cgroup::Version::kV2;
  auto found = layout.mounts.find(v2 ? "" : controller);
  if (found == layout.mounts.end() && controller == "cpuacct") found = layout.mounts.find("cpu");
  return found == layout.mounts.end() ? "" : found->second;
}

CgroupAt ParseProcCgroup(const std::string& text, cgroup::Version version) {
  CgroupAt at;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    std::istringstream names(line.substr(first + 1, second - first - 1));
    if (version == cgroup::Version::kV2) {
      if (second == first + 1) at.path = path;
      continue;
    }
    for (std::string name; std::getline(names, name, ',');) at.other[name] = path;
  }
  if (version == cgroup::Version::kV1) at.path = at.other["memory"];
  return at;
}

v1::UsageStats ReadCgroup(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at) {
  v1::UsageStats usage;
  if (at.path.empty()) return usage;
  const Files of(files, layout, at);
  if (layout.version == cgroup::Version::kV2) {
    ReadCpuV2(of, usage);
    ReadMemoryV2(of, usage);
    FillPressure([&of](const std::string& name) { return of.Text(name, name + ".pressure"); },
                 usage);
    ReadDevicesV2(of, usage);
  } else {
    ReadCpuV1(of, usage);
    ReadMemoryV1(of, usage);
    ReadDevicesV1(of, usage);
  }
  if (const auto threads = of.Number("pids", "pids.current")) usage.set_threads(*threads);
  if (HasUsage(usage)) usage.set_cgroup(at.path);
  return usage;
}

void ReadCgroupDetails(fs::FileSystem& files, const cgroup::Layout& layout, const CgroupAt& at,
                       v1::UsageStats& usage) {
  const Files of(files, layout, at);
  if (layout.version == cgroup::Version::kV2) {
    ReadDetailsV2(of, usage);
  } else {
    ReadDetailsV1(of, usage);
  }
  const std::string most = of.Text("pids", "pids.max");
  if (const auto threads = NumberIn(most)) usage.set_max_threads(*threads);
  if (Trimmed(most) == "max") usage.set_max_threads(0);
}

bool HasUsage(const v1::UsageStats& usage) {
  return usage.has_cpu_usage_core_ns() || usage.has_memory_usage_bytes() ||
         usage.has_memory_working_set_bytes();
}

void AddUsage(v1::UsageStats& sum, const v1::UsageStats& more) {
  const auto add = [&](auto has, auto get, Set set) {
    if ((more.*has)()) (sum.*set)((sum.*get)() + (more.*get)());
  };
  using U = v1::UsageStats;
  add(&U::has_cpu_usage_core_ns, &U::cpu_usage_core_ns, &U::set_cpu_usage_core_ns);
  add(&U::has_cpu_user_ns, &U::cpu_user_ns, &U::set_cpu_user_ns);
  add(&U::has_cpu_system_ns, &U::cpu_system_ns, &U::set_cpu_system_ns);
  add(&U::has_memory_usage_bytes, &U::memory_usage_bytes, &U::set_memory_usage_bytes);
  add(&U::has_memory_working_set_bytes, &U::memory_working_set_bytes,
      &U::set_memory_working_set_bytes);
  add(&U::has_memory_rss_bytes, &U::memory_rss_bytes, &U::set_memory_rss_bytes);
  add(&U::has_page_faults, &U::page_faults, &U::set_page_faults);
  add(&U::has_major_page_faults, &U::major_page_faults, &U::set_major_page_faults);
  add(&U::has_swap_usage_bytes, &U::swap_usage_bytes, &U::set_swap_usage_bytes);
  add(&U::has_processes, &U::processes, &U::set_processes);
  add(&U::has_threads, &U::threads, &U::set_threads);
}

CgroupTree FindCgroups(fs::FileSystem& files, const cgroup::Layout& layout,
                       const std::set<std::string>& ids) {
  CgroupTree tree;
  const std::string top = MountOf(layout, "memory");
  if (top.empty()) return tree;
  std::deque<std::string> waiting{""};
  for (size_t seen = 0; !waiting.empty() && seen < kMaxDirectories; ++seen) {
    const std::string path = std::move(waiting.front());
    waiting.pop_front();
    const auto entries = files.List(top + path);
    if (!entries.ok()) continue;  // removed during the search
    for (const auto& entry : *entries) {
      if (entry.kind != fs::FileInfo::Kind::kDirectory) continue;
      const std::string below = path + "/" + entry.name;
      if (const std::string id = IdIn(entry.name); ids.contains(id)) {
        tree.by_id.emplace(id, below);
        continue;  // cgroups that a container creates below its own do not count
      }
      if (const auto uid = cgroup::PodUidOf(entry.name)) tree.by_uid.emplace(*uid, below);
      if (tree.all_pods.empty() && IsAllPods(entry.name)) tree.all_pods = below;
      waiting.push_back(below);
    }
  }
  return tree;
}

std::vector<int64_t> ProcessesIn(fs::FileSystem& files, const cgroup::Layout& layout,
                                 const std::string& path) {
  std::vector<int64_t> pids;
  std::istringstream words(ReadOrEmpty(files, MountOf(layout, "memory") + path + "/cgroup.procs"));
  for (int64_t pid = 0; words >> pid;) pids.push_back(pid);
  return pids;
}

std::optional<int64_t> CountProcesses(fs::FileSystem& files, const cgroup::Layout& layout,
                                      const std::string& path) {
  std::optional<int64_t> count;
  std::deque<std::string> waiting{MountOf(layout, "memory") + path};
  for (size_t seen = 0; !waiting.empty() && seen < kMaxDirectories; ++seen) {
    const std::string at = std::move(waiting.front());
    waiting.pop_front();
    const auto pids = files.Read(at + "/cgroup.procs", kMaxPidsFile);
    if (pids.ok()) count = count.value_or(0) + std::ranges::count(*pids, '\n');
    const auto entries = files.List(at);
    if (!entries.ok()) continue;  // removed during the search
    for (const auto& entry : *entries)
      if (entry.kind == fs::FileInfo::Kind::kDirectory) waiting.push_back(at + "/" + entry.name);
  }
  return count;
}

bool ParsePressure(const std::string& text, v1::PressureStats& stats) {
  std::istringstream lines(text);
  bool any = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || (kind != "some" && kind != "full")) continue;
    v1::StallStats& stall = kind == "some" ? *stats.mutable_some() : *stats.mutable_full();
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (equals == std::string::npos) continue;
      std::istringstream value(word.substr(equals + 1));
      double number = 0;
      if (!(value >> number)) continue;
      const std::string name = word.substr(0, equals);
      if (name == "avg10") stall.set_avg10(number);
      if (name == "avg60") stall.set_avg60(number);
      if (name == "avg300") stall.set_avg300(number);
      if (name == "total") stall.set_total_us(static_cast<uint64_t>(number));
    }
    any = true;
  }
  return any;
}

}  // namespace splitlet::gc
