#include "services/status/machine.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace splitlet::status {
namespace {

constexpr uint64_t kMaxProcFile = 4u << 20;

std::optional<int64_t> ToInt(std::string_view text, int base = 10) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// "2Mi" of the kernel's "hugepages-2048kB".
std::string HugePageName(int64_t kilobytes) {
  return std::string(kube::kHugePagesPrefix) +
         kube::Quantity::FromInt(kilobytes * 1024, kube::Quantity::Format::kBinary).ToString();
}

std::map<std::string, int64_t> ReadHugePages(fs::FileSystem& files) {
  static const std::string kRoot = "/sys/kernel/mm/hugepages";
  std::map<std::string, int64_t> pages;
  const auto entries = files.List(kRoot);
  if (!entries.ok()) return pages;
  for (const auto& entry : *entries) {
    const std::string& name = entry.name;
    const bool known = name.rfind("hugepages-", 0) == 0 && name.size() > 12 &&
                       name.substr(name.size() - 2) == "kB";
    if (!known) continue;
    const auto size = ToInt(std::string_view(name).substr(10, name.size() - 12));
    const auto count = files.Read(kRoot + "/" + name + "/nr_hugepages", 64);
    if (!size || !count.ok()) continue;
    const auto number = ToInt(Trimmed(*count));
    if (number) pages[HugePageName(*size)] = *number * *size * 1024;
  }
  return pages;
}

std::string ReadOr(fs::FileSystem& files, const std::string& path, std::string otherwise) {
  auto content = files.Read(path, kMaxProcFile);
  return content.ok() ? *content : std::move(otherwise);
}

/// The kernel writes addresses as little-endian hex.
uint32_t RouteAddress(const std::string& hex) {
  const auto value = ToInt(hex, 16);
  return value ? __builtin_bswap32(static_cast<uint32_t>(*value)) : 0;
}

std::optional<uint32_t> ParseIpv4(const std::string& text) {
  uint32_t address = 0;
  std::istringstream in(text);
  std::string part;
  int parts = 0;
  while (std::getline(in, part, '.')) {
    const auto value = ToInt(part);
    if (!value || *value < 0 || *value > 255) return std::nullopt;
    address = address << 8U | static_cast<uint32_t>(*value);
    ++parts;
  }
  return parts == 4 ? std::optional(address) : std::nullopt;
}

/// Addresses that are followed by "/32 host LOCAL".
std::vector<std::string> LocalAddresses(std::string_view fib_trie) {
  std::vector<std::string> found;
  std::istringstream in{std::string(fib_trie)};
  std::string line, address;
  while (std::getline(in, line)) {
    const size_t leaf = line.find("|-- ");
    if (leaf != std::string::npos) address = Trimmed(line.substr(leaf + 4));
    if (line.find("/32 host LOCAL") != std::string::npos && address.rfind("127.", 0) != 0)
      found.push_back(address);
  }
  return found;
}

StatusOr<kube::Resources> ParseAll(const std::map<std::string, std::string>& amounts) {
  kube::Resources parsed;
  for (const auto& [name, text] : amounts) {
    ASSIGN_OR_RETURN(parsed[name], kube::Quantity::Parse(text), "{}", name);
  }
  return parsed;
}

/// A threshold as an amount: "100Mi", or "10%" of the capacity.
StatusOr<kube::Quantity> Threshold(const std::string& text, int64_t capacity) {
  if (text.empty() || text.back() != '%') return kube::Quantity::Parse(text);
  float percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, percent);
  if (error != std::errc() || end != text.data() + text.size() - 1)
    return InvalidArgument("\"{}\" is not a percentage", text);
  // Single precision and cut off, so that nodes agree with what a kubelet reports.
  const float fraction = percent / 100;
  return kube::Quantity::FromInt(
      static_cast<int64_t>(static_cast<double>(capacity) * static_cast<double>(fraction)),
      kube::Quantity::Format::kBinary);
}

StatusOr<kube::Resources> Reserved(const Machine& machine, const NodeLimits& limits) {
  ASSIGN_OR_RETURN(auto reserved, ParseAll(limits.system_reserved), "systemReserved");
  ASSIGN_OR_RETURN(const auto kube_reserved, ParseAll(limits.kube_reserved), "kubeReserved");
  kube::AddTo(reserved, kube_reserved);
  const struct {
    const char* signal;
    std::string_view resource;
    int64_t capacity;
  } kSignals[] = {{"memory.available", kube::kMemory, machine.memory_bytes},
                  {"nodefs.available", kube::kEphemeralStorage, machine.storage_bytes}};
  for (const auto& signal : kSignals) {
    const auto it = limits.eviction_hard.find(signal.signal);
    if (it == limits.eviction_hard.end()) continue;
    ASSIGN_OR_RETURN(const auto amount, Threshold(it->second, signal.capacity), "evictionHard: {}",
                     signal.signal);
    reserved[std::string(signal.resource)] += amount;
  }
  return reserved;
}

}  // namespace

int64_t CountCpus(std::string_view list) {
  int64_t count = 0;
  std::istringstream in{Trimmed(std::string(list))};
  std::string range;
  while (std::getline(in, range, ',')) {
    const size_t dash = range.find('-');
    const auto first = ToInt(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : ToInt(range.substr(dash + 1));
    if (!first || !last || *last < *first) return 0;
    count += *last - *first + 1;
  }
  return count;
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

std::string FindAddress(std::string_view route, std::string_view fib_trie) {
  struct Route {
    std::string interface;
    uint32_t network, mask;
  };
  std::vector<Route> routes;
  std::string default_interface;
  std::istringstream in{std::string(route)};
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string interface, destination, gateway, flags, refs, use, metric, mask;
    if (!(fields >> interface >> destination >> gateway >> flags >> refs >> use >> metric >> mask))
      continue;
    if (interface == "Iface") continue;
    if (destination == "00000000" && default_interface.empty()) default_interface = interface;
    routes.push_back({interface, RouteAddress(destination), RouteAddress(mask)});
  }
  const auto locals = LocalAddresses(fib_trie);
  for (const auto& one : routes) {
    if (one.interface != default_interface || one.mask == 0) continue;
    for (const auto& local : locals) {
      const auto address = ParseIpv4(local);
      if (address && (*address & one.mask) == one.network) return local;
    }
  }
  return locals.empty() ? std::string() : locals.front();
}

StatusOr<Machine> ReadMachine(fs::FileSystem& files, const std::string& state_dir) {
  Machine machine;
  ASSIGN_OR_RETURN(const auto cpus, files.Read("/sys/devices/system/cpu/online", 4096),
                   "read the list of CPUs");
  machine.cpus = CountCpus(cpus);
  ASSIGN_OR_RETURN(const auto meminfo, files.Read("/proc/meminfo", kMaxProcFile),
                   "read /proc/meminfo");
  machine.memory_bytes = ParseMemTotal(meminfo);
  if (machine.cpus <= 0 || machine.memory_bytes <= 0)
    return Internal("the machine shows {} CPUs and {} bytes of memory", machine.cpus,
                    machine.memory_bytes);
  machine.huge_pages = ReadHugePages(files);
  if (const auto usage = files.Usage(state_dir); usage.ok())
    machine.storage_bytes = static_cast<int64_t>(usage->capacity_bytes);
  machine.hostname = Trimmed(ReadOr(files, "/proc/sys/kernel/hostname", ""));
  std::string address =
      FindAddress(ReadOr(files, "/proc/net/route", ""), ReadOr(files, "/proc/net/fib_trie", ""));
  if (!address.empty()) machine.ips.push_back(std::move(address));
  return machine;
}

StatusOr<NodeResources> ComputeNodeResources(const Machine& machine, const NodeLimits& limits) {
  using kube::Quantity;
  constexpr auto kBinary = Quantity::Format::kBinary;
  NodeResources node;
  auto& capacity = node.capacity;
  capacity[std::string(kube::kCpu)] = Quantity::FromInt(machine.cpus);
  capacity[std::string(kube::kMemory)] = Quantity::FromInt(machine.memory_bytes, kBinary);
  capacity["pods"] = Quantity::FromInt(limits.max_pods);
  if (machine.storage_bytes > 0)
    capacity[std::string(kube::kEphemeralStorage)] =
        Quantity::FromInt(machine.storage_bytes, kBinary);
  Quantity huge;
  for (const auto& [name, bytes] : machine.huge_pages) {
    capacity[name] = Quantity::FromInt(bytes, kBinary);
    huge += capacity[name];
  }
  ASSIGN_OR_RETURN(const auto reserved, Reserved(machine, limits), "reservations");
  for (const auto& [name, total] : capacity) {
    const Quantity held = kube::Of(reserved, name);
    if (held > total)
      return InvalidArgument(
          "invalid Node Allocatable configuration. Resource \"{}\" has a reservation of {} but "
          "capacity of {}. Expected capacity >= reservation.",
          name, held.ToString(), total.ToString());
    node.allocatable[name] = total - held;
  }
  auto& memory = node.allocatable[std::string(kube::kMemory)];
  memory = std::max(memory - huge, Quantity::FromInt(0, kBinary));
  return node;
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

}  // namespace splitlet::status
