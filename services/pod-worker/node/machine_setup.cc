#include "services/pod-worker/node/machine_setup.h"

#include <utility>

#include "libs/daemon/event_record.h"
#include "services/pod-worker/node/swap.h"
#include "services/pod-worker/runtime_config/dns.h"

namespace splitlet::pod_worker {
namespace {

constexpr Duration kCanaryPeriod = std::chrono::minutes{1};
constexpr const char* kStrand = "machine";
constexpr const char* kMayBeSwapped =
    "The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, "
    "etc.) might be swapped to disk and should no longer be considered secure.";

/// On the strand: what was emptied, or never made, is made.
Status KeepChains(Firewall& firewall) {
  ASSIGN_OR_RETURN(const bool emptied, firewall.WasEmptied(), "canary");
  return emptied ? firewall.Ensure() : OkStatus();
}

/// The problem with the resolver file, in a few words; empty: none.
std::string ResolverTrouble(fs::FileSystem& files, const std::string& path, bool cluster_domain) {
  const auto text = files.Read(path, kMaxResolverFile);
  if (!text.ok()) return fmt::format("read {}: {}", path, Message(text.status()));
  const auto file = ParseResolverFile(*text);
  if (!file.ok()) return fmt::format("{}: {}", path, Message(file.status()));
  return ResolverFileExcess(path, *file, cluster_domain);
}

}  // namespace

MachineSetup::MachineSetup(Deps deps, MachineSettings settings)
    : deps_(std::move(deps)), settings_(settings), asker_(deps_.loop, deps_.strands) {
  if (!settings_.chains) return;
  for (const auto family : {Firewall::Family::kIpv4, Firewall::Family::kIpv6})
    chains_.push_back(std::make_shared<Chains>(Chains{Firewall(deps_.run, family), "", false}));
}

void MachineSetup::Start() {
  if (settings_.sysctls)
    asker_.Ask(
        kStrand,
        [&files = deps_.files, write = deps_.write] {
          return EnsureSysctls(files, write, SysctlRule::kSet);
        },
        [this](const Status& status) { OnSysctls(status); });
  if (settings_.swap_on)
    asker_.Ask(
        kStrand,
        [&files = deps_.files, &mounts = deps_.mounts, root = deps_.root_dir] {
          return KeepsTmpfsOffSwap(files, mounts, root);
        },
        [this](bool kept_off) { OnSwapTried(kept_off); });
  if (!settings_.resolver_config.empty())
    asker_.Ask(
        kStrand,
        [&files = deps_.files, path = settings_.resolver_config,
         cluster_domain = settings_.cluster_domain] {
          return ResolverTrouble(files, path, cluster_domain);
        },
        [this](const std::string& trouble) { OnResolverRead(trouble); });
  if (chains_.empty()) return;
  tick_ = std::make_unique<exec::Periodic>(deps_.loop, kCanaryPeriod, [this] { OnTick(); });
  OnTick();
}

void MachineSetup::OnTick() {
  if (under_way_ > 0) return;  // the next minute
  for (const auto& chains : chains_)
    if (!chains->missing) EnsureSoon(chains);
}

void MachineSetup::EnsureSoon(const std::shared_ptr<Chains>& chains) {
  ++under_way_;
  asker_.Ask(
      kStrand, [chains] { return KeepChains(chains->firewall); },
      [this, chains](const Status& status) {
        --under_way_;
        OnEnsured(*chains, status);
      });
}

void MachineSetup::OnEnsured(Chains& chains, const Status& status) {
  const char* family = chains.firewall.family() == Firewall::Family::kIpv4 ? "IPv4" : "IPv6";
  if (status.code() == StatusCode::kNotFound) {
    chains.missing = true;
    deps_.log.Info("no iptables on this machine", {{"ipFamily", family}});
    return;
  }
  const std::string trouble = status.ok() ? "" : Message(status);
  if (trouble == chains.trouble) return;
  chains.trouble = trouble;
  if (status.ok()) {
    deps_.log.Info("iptables chains ready", {{"ipFamily", family}});
  } else {
    deps_.log.Warn("cannot make iptables chains", {{"ipFamily", family}, KV("err", status)});
  }
}

void MachineSetup::OnSysctls(const Status& status) {
  if (status.ok()) return;
  deps_.log.Warn("cannot set kernel parameters, starting without them", {KV("err", status)});
  NodeWarning("KernelSettingsFailed", Message(status));
}

void MachineSetup::OnSwapTried(bool kept_off) {
  if (kept_off) return;
  deps_.log.Warn("volumes in memory may be swapped to a disk");
  NodeWarning("PossibleMemoryBackedVolumesOnDisk", kMayBeSwapped);
}

void MachineSetup::OnResolverRead(const std::string& trouble) {
  if (trouble.empty()) return;
  deps_.log.Warn("resolv.conf of pods truncated to limits", {{"err", trouble}});
  NodeWarning("CheckLimitsForResolvConf", trouble);
}

void MachineSetup::NodeWarning(const char* reason, const std::string& message) {
  deps_.events.Record(
      daemon::NodeEvent(deps_.node_name, {.reason = reason, .message = message, .warning = true}));
}

}  // namespace splitlet::pod_worker
