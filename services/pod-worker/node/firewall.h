#pragma once

/// The chains of iptables that a kubelet keeps: a hint for others which of the two implementations
/// this machine uses, a drop of packets to loopback from elsewhere, and a canary that is gone when
/// another program has emptied the tables.
/// Threads: any, one call at a time; blocks on the program iptables, up to 30 s for each call.
/// Errors:  NOT_FOUND: this machine has no iptables. UNAVAILABLE and others of RunProgram, with
///          what was to be done.
/// Source:  docs/behaviour/machine.md, "Chains"; kubelet syncIPTablesRules.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/process/run_program.h"

namespace splitlet::pod_worker {

class Firewall {
 public:
  enum class Family { kIpv4, kIpv6 };
  Firewall(process::ProgramRunner run, Family family);

  /// All is there afterwards; what is there already stays as it is.
  Status Ensure();
  /// Some canary is gone, and with it perhaps the rest.
  StatusOr<bool> WasEmptied();
  Family family() const { return family_; }

 private:
  Status Run(const std::string& table, std::vector<std::string> args);
  Status EnsureChain(const std::string& table, const std::string& chain);
  /// `where`: "-A" or "-I".
  Status EnsureRule(const std::string& where, const std::string& chain,
                    const std::vector<std::string>& rule);
  Status EnsureLoopbackDrop();

  const process::ProgramRunner run_;
  const Family family_;
};

}  // namespace splitlet::pod_worker
