#include "chaos/node/partition.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "libs/base/hash.h"
#include "libs/process/run_program.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

Status WriteTo(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file ? OkStatus() : Annotate(ErrnoStatus(errno), path);
}

/// The process's group in the unified hierarchy: "/" or "/a/b".
std::string GroupOfPid(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/cgroup", pid));
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("0::")) return line.substr(3);
  return "/";
}

pid_t ParentOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream rest(line.substr(end + 1));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

/// Inodes of the process's sockets.
std::set<std::string> SocketsOf(pid_t pid) {
  std::set<std::string> inodes;
  std::error_code error;
  for (stdfs::directory_iterator it(fmt::format("/proc/{}/fd", pid), error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    const std::string target = stdfs::read_symlink(it->path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Local ports of its TCP connections to `remote_port`.
std::vector<int> PortsTo(pid_t pid, int remote_port) {
  std::vector<int> ports;
  const auto inodes = SocketsOf(pid);
  std::ifstream file("/proc/net/tcp");
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::array<std::string, 10> w;
    for (auto& word : w) words >> word;
    const auto port = [](const std::string& address) {
      const auto colon = address.find(':');
      return colon == std::string::npos
                 ? 0
                 : static_cast<int>(std::strtol(address.c_str() + colon + 1, nullptr, 16));
    };
    if (port(w[2]) == remote_port && inodes.contains(w[9])) ports.push_back(port(w[1]));
  }
  return ports;
}

}  // namespace

Partition::Partition(std::string top, const std::string& bus_url) : top_(std::move(top)) {
  const auto colon = bus_url.rfind(':');
  if (colon != std::string::npos)
    bus_port_ = static_cast<int>(std::strtol(bus_url.c_str() + colon + 1, nullptr, 10));
  for (const char* path : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
    if (stdfs::exists(std::string(path) + "/cgroup.procs") &&
        stdfs::exists(std::string(path) + "/cgroup.controllers"))
      root_ = path;
}

Partition::~Partition() {
  while (!cuttings_.empty())
    if (!Heal(cuttings_.begin()->first).ok()) cuttings_.erase(cuttings_.begin());
}

Status Partition::CanCut() const {
  if (root_.empty())
    return Unimplemented(
        "no cgroup version 2 is mounted at /sys/fs/cgroup or /sys/fs/cgroup/unified");
  if (access(root_.c_str(), W_OK) != 0) return Annotate(ErrnoStatus(errno), root_);
  const auto out = process::RunProgram({.argv = {"iptables", "-w", "5", "-L", "OUTPUT", "-n"}});
  return out.ok() ? OkStatus() : Annotate(out.status(), "a partition is made with iptables");
}

std::string Partition::GroupOf(const std::string& process) const {
  return fmt::format("splitlet-chaos-{}-{}", HexHash(top_).substr(0, 8), process);
}

Status Partition::AddRule(Cutting& cutting, Rule rule) {
  Rule command = {"iptables", "-w", "5", "-I", "OUTPUT"};
  command.insert(command.end(), rule.begin(), rule.end());
  RETURN_IF_ERROR(process::RunProgram({.argv = command}), "drop packets");
  cutting.rules.push_back(std::move(rule));
  return OkStatus();
}

Status Partition::MoveToGroup(Cutting& cutting, const std::string& group, pid_t pid) {
  if (cutting.homes.contains(pid)) return OkStatus();
  const std::string home = GroupOfPid(pid);
  RETURN_IF_ERROR(WriteTo(root_ + "/" + group + "/cgroup.procs", fmt::format("{}", pid)),
                  "move process {}", pid);
  cutting.homes[pid] = home;
  return OkStatus();
}

Status Partition::Cut(const std::string& process, pid_t pid) {
  if (pid <= 0) return FailedPrecondition("{} does not run", process);
  const std::string group = GroupOf(process);
  const bool first = !cuttings_.contains(process);
  Cutting& cutting = cuttings_[process];
  const std::string port = fmt::format("{}", bus_port_);
  if (first) {
    if (mkdir((root_ + "/" + group).c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus(errno);
    RETURN_IF_ERROR(AddRule(cutting, {"-p", "tcp", "--dport", port, "-m", "cgroup", "--path", group,
                                      "-j", "DROP"}),
                    "partition");
    RETURN_IF_ERROR(MoveToGroup(cutting, group, ParentOf(pid)), "partition");
  }
  RETURN_IF_ERROR(MoveToGroup(cutting, group, pid), "partition");
  for (const int own : PortsTo(pid, bus_port_)) {
    const std::string mine = fmt::format("{}", own);
    RETURN_IF_ERROR(AddRule(cutting, {"-p", "tcp", "--sport", mine, "--dport", port, "-j", "DROP"}),
                    "partition");
    RETURN_IF_ERROR(AddRule(cutting, {"-p", "tcp", "--sport", port, "--dport", mine, "-j", "DROP"}),
                    "partition");
  }
  return OkStatus();
}

Status Partition::CutPort(const std::string& server, const std::string& port) {
  if (cuttings_.contains(server)) return OkStatus();
  Cutting& cutting = cuttings_[server];
  for (const char* end : {"--dport", "--sport"})
    RETURN_IF_ERROR(AddRule(cutting, {"-o", "lo", "-p", "tcp", end, port, "-j", "DROP"}), "cut");
  return OkStatus();
}

Status Partition::Heal(const std::string& process) {
  auto taken = cuttings_.extract(process);
  if (taken.empty()) return OkStatus();
  Status worst = OkStatus();
  for (const Rule& rule : taken.mapped().rules) {
    Rule command = {"iptables", "-w", "5", "-D", "OUTPUT"};
    command.insert(command.end(), rule.begin(), rule.end());
    if (const auto out = process::RunProgram({.argv = command}); !out.ok()) worst = out.status();
  }
  // All processes now in the group: the supervisor may have restarted the process.
  const std::string group = root_ + "/" + GroupOf(process);
  std::string home = "/";
  for (const auto& [pid, where] : taken.mapped().homes) home = where;
  std::ifstream file(group + "/cgroup.procs");
  std::string pid;
  while (file >> pid)
    if (const Status moved = WriteTo(root_ + home + "/cgroup.procs", pid); !moved.ok())
      worst = moved;
  if (rmdir(group.c_str()) != 0 && errno != ENOENT) worst = Annotate(ErrnoStatus(errno), group);
  return worst;
}

}  // namespace splitlet::chaos
