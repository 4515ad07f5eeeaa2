#pragma once

/// Cuts a process off the bus, or a server off all its clients. iptables drops the packets between
/// the process and nats-server: those of its present connection by port, those of later connections
/// by a cgroup that also holds its supervisor. Called by LocalFaults.
/// Threads: one.
/// Errors: of iptables and of the cgroup file system. Heal and the destructor undo everything.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::chaos {

class Partition {
 public:
  Partition(std::string top, const std::string& bus_url);
  ~Partition();
  Partition(const Partition&) = delete;
  Partition& operator=(const Partition&) = delete;

  Status CanCut() const;
  Status Cut(const std::string& process, pid_t pid);
  /// Drops all packets between this machine and the server's port.
  Status CutPort(const std::string& server, const std::string& port);
  Status Heal(const std::string& process);

 private:
  using Rule = std::vector<std::string>;
  struct Cutting {
    std::vector<Rule> rules;
    std::map<pid_t, std::string> homes;  // process id -> its cgroup before the fault
  };
  std::string GroupOf(const std::string& process) const;
  Status AddRule(Cutting& cutting, Rule rule);
  Status MoveToGroup(Cutting& cutting, const std::string& group, pid_t pid);

  const std::string top_;
  std::string root_;  // mount of the unified hierarchy; empty: none
  int bus_port_ = 0;
  std::map<std::string, Cutting> cuttings_;
};

}  // namespace splitlet::chaos
