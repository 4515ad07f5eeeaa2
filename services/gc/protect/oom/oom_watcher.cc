#include "services/gc/protect/oom/oom_watcher.h"

#include <utility>

namespace splitlet::gc {
namespace {

constexpr const char* kOomStrand = "oom";
constexpr Duration kPeriod = std::chrono::seconds{10};

}  // namespace

OomWatcher::OomWatcher(const Deps& deps)
    : deps_(deps),
      timer_(deps.env.loop, kPeriod, [this] { OnTimer(); }),
      asker_(deps.env.loop, deps.env.strands) {}

void OomWatcher::OnTimer() {
  if (deps_.env.strands.Pending(kOomStrand) > 0) return;
  asker_.Ask(
      kOomStrand, [&kernel_log = deps_.kernel_log] { return kernel_log.ReadNew(); },
      [this](const StatusOr<std::vector<std::string>>& records) { OnRead(records); });
}

void OomWatcher::OnRead(const StatusOr<std::vector<std::string>>& records) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!records.ok()) {
    deps_.metrics.errors.Add({{"kind", "kernel-log"}}).Increment();
    if (failure_.IsNews(records.status()))
      deps_.env.log.Warn(
          "cannot read the kernel log, will try again: SystemOOM is not reported until then",
          {KV("err", records.status())});
    return;
  }
  failure_.End();
  for (const auto& record : *records) {
    const auto kill = kills_.Add(TextOf(record));
    if (!kill || kill->memcg != "/") continue;
    deps_.node_events.Warn("SystemOOM", SystemOomMessage(*kill));
  }
}

}  // namespace splitlet::gc
