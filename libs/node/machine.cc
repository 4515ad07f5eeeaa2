#include "libs/node/machine.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "libs/base/one_line.h"
#include "libs/base/trim.h"
#include "libs/node/pod_place.h"

namespace splitlet::node {
namespace {

constexpr uint64_t kMaxMeminfo = 4u << 20;

std::optional<int64_t> ToInt(std::string_view text, int base = 10) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr int64_t kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;

HugePages Named(int64_t bytes) {
  if (bytes % kGib == 0)
    return {fmt::format("{}GB", bytes / kGib), fmt::format("hugepages-{}Gi", bytes / kGib)};
  if (bytes % kMib == 0)
    return {fmt::format("{}MB", bytes / kMib), fmt::format("hugepages-{}Mi", bytes / kMib)};
  return {fmt::format("{}KB", bytes / kKib), fmt::format("hugepages-{}Ki", bytes / kKib)};
}

}  // namespace

StatusOr<std::set<int64_t>> ParseCpuList(std::string_view list) {
  constexpr int64_t kMostCpus = 1 << 16;
  std::set<int64_t> cpus;
  std::istringstream in{std::string(Trimmed(list))};
  std::string range;
  while (std::getline(in, range, ',')) {
    const size_t dash = range.find('-');
    const auto first = ToInt(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : ToInt(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus)
      return InvalidArgument("\"{}\" is not a list of CPUs such as 0-3,5", OneLine(list));
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

int64_t ParseMemTotal(std::string_view meminfo) {
  std::istringstream in{std::string(meminfo)};
  std::string name, unit;
  int64_t value = 0;
  while (in >> name >> value) {
    std::getline(in, unit);
    if (name == "MemTotal:") return value * 1024;
  }
  return 0;
}

std::vector<HugePages> ReadHugePages(fs::FileSystem& files) {
  static const std::string kRoot = "/sys/kernel/mm/hugepages";
  static constexpr std::string_view kPrefix = "hugepages-", kSuffix = "kB";
  std::vector<HugePages> pages;
  const auto entries = files.List(kRoot);
  if (!entries.ok()) return pages;
  for (const auto& entry : *entries) {
    const std::string_view name = entry.name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const auto kib =
        ToInt(name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()));
    if (!kib || *kib <= 0) continue;
    HugePages found = Named(*kib * kKib);
    const auto count = files.Read(fmt::format("{}/{}/nr_hugepages", kRoot, name), 64);
    if (count.ok()) found.bytes = ToInt(Trimmed(*count)).value_or(0) * *kib * kKib;
    pages.push_back(std::move(found));
  }
  std::ranges::sort(pages, {}, &HugePages::size);
  return pages;
}

StatusOr<Machine> ReadMachine(fs::FileSystem& files, const std::string& root_dir) {
  Machine machine;
  ASSIGN_OR_RETURN(const auto cpus, files.Read("/sys/devices/system/cpu/online", 4096),
                   "read the list of CPUs");
  ASSIGN_OR_RETURN(machine.online, ParseCpuList(cpus), "list of CPUs");
  machine.cpus = static_cast<int64_t>(machine.online.size());
  ASSIGN_OR_RETURN(const auto meminfo, files.Read("/proc/meminfo", kMaxMeminfo),
                   "read /proc/meminfo");
  machine.memory_bytes = ParseMemTotal(meminfo);
  if (machine.cpus <= 0 || machine.memory_bytes <= 0)
    return Internal("the machine shows {} CPUs and {} bytes of memory", machine.cpus,
                    machine.memory_bytes);
  machine.huge_pages = ReadHugePages(files);
  if (const auto usage = UsageAt(files, root_dir); usage.ok())
    machine.storage_bytes = static_cast<int64_t>(usage->capacity_bytes);
  const auto apparmor = files.Read("/sys/module/apparmor/parameters/enabled", 64);
  machine.apparmor = apparmor.ok() && Trimmed(*apparmor) == "Y";
  machine.selinux = files.Read("/sys/fs/selinux/policyvers", 64).ok();
  return machine;
}

std::string_view Architecture() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#elif defined(__riscv)
  return "riscv64";
#elif defined(__powerpc64__)
  return "ppc64le";
#elif defined(__s390x__)
  return "s390x";
#else
#error "no Kubernetes name for this architecture"
#endif
}

kube::Labels OwnLabels(const std::string& node_name) {
  kube::Labels labels{{std::string(kube::kHostnameLabel), node_name}};
  for (const std::string prefix : {"", "beta."}) {
    labels[prefix + std::string(kube::kOsLabel)] = "linux";
    labels[prefix + std::string(kube::kArchLabel)] = std::string(Architecture());
  }
  return labels;
}

}  // namespace splitlet::node
