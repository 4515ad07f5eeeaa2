#include "services/pod-worker/node/firewall.h"

#include <array>
#include <utility>

namespace splitlet::pod_worker {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirewallLimit = 30s;
constexpr const char* kWaitForLock = "5";  // seconds
constexpr const char* kHint = "KUBE-IPTABLES-HINT";
constexpr const char* kCanary = "KUBE-KUBELET-CANARY";
constexpr const char* kFirewall = "KUBE-FIREWALL";
constexpr auto kCanaryTables = std::to_array<const char*>({"mangle", "nat", "filter"});

/// iptables exits with 1 when a rule that it was to find, or to make, is not as asked.
bool SaysNo(const Status& status) { return status.code() == StatusCode::kUnavailable; }

}  // namespace

Firewall::Firewall(process::ProgramRunner run, Family family)
    : run_(std::move(run)), family_(family) {}

Status Firewall::Run(const std::string& table, std::vector<std::string> args) {
  process::Program program{.argv = {family_ == Family::kIpv4 ? "iptables" : "ip6tables", "-w",
                                    kWaitForLock, "-t", table},
                           .env = {{"LC_ALL", "C"}},
                           .limit = kFirewallLimit};
  program.argv.insert(program.argv.end(), args.begin(), args.end());
  std::string what;
  for (const std::string& word : program.argv) what += (what.empty() ? "" : " ") + word;
  return Annotate(run_(program).status(), what);
}

Status Firewall::EnsureChain(const std::string& table, const std::string& chain) {
  const Status found = Run(table, {"-S", chain, "1"});
  if (found.ok() || !SaysNo(found)) return found;
  return Run(table, {"-N", chain});
}

Status Firewall::EnsureRule(const std::string& where, const std::string& chain,
                            const std::vector<std::string>& rule) {
  std::vector<std::string> args = {"-C", chain};
  args.insert(args.end(), rule.begin(), rule.end());
  const Status found = Run("filter", args);
  if (found.ok() || !SaysNo(found)) return found;
  args[0] = where;
  return Run("filter", args);
}

Status Firewall::EnsureLoopbackDrop() {
  RETURN_IF_ERROR(EnsureChain("filter", kFirewall), "chain {}", kFirewall);
  RETURN_IF_ERROR(EnsureRule("-A", kFirewall,
                             {"-m", "comment", "--comment", "block incoming localnet connections",
                              "-d", "127.0.0.0/8", "!", "-s", "127.0.0.0/8", "-m", "conntrack", "!",
                              "--ctstate", "RELATED,ESTABLISHED,DNAT", "-j", "DROP"}),
                  "packets to loopback");
  RETURN_IF_ERROR(EnsureRule("-I", "OUTPUT", {"-j", kFirewall}), "jump from OUTPUT");
  return Annotate(EnsureRule("-I", "INPUT", {"-j", kFirewall}), "jump from INPUT");
}

Status Firewall::Ensure() {
  RETURN_IF_ERROR(EnsureChain("mangle", kHint), "chain {}", kHint);
  if (family_ == Family::kIpv4) RETURN_IF_ERROR(EnsureLoopbackDrop(), "firewall");
  // Last, so that a start that was cut short before is seen.
  for (const char* table : kCanaryTables)
    RETURN_IF_ERROR(EnsureChain(table, kCanary), "chain {}", kCanary);
  return OkStatus();
}

StatusOr<bool> Firewall::WasEmptied() {
  for (const char* table : kCanaryTables) {
    const Status found = Run(table, {"-S", kCanary, "1"});
    if (found.ok()) continue;
    if (!SaysNo(found)) return found;
    return true;
  }
  return false;
}

}  // namespace splitlet::pod_worker
