#include "services/gc/protect/oom/oom_watcher.h"

#include <utility>

namespace splitlet::gc {
namespace {

constexpr const char* kOomStrand = "oom";
constexpr Duration kPeriod = std::chrono::seconds{10};

}  // namespace

OomWatcher::OomWatcher(const Deps& deps)
    : deps_(deps), timer_(deps.env.loop, kPeriod, [this] { OnTimer(); }) {}

void OomWatcher::OnTimer() {
  if (deps_.env.strands.Pending(kOomStrand) > 0) return;
  deps_.env.strands.Run(kOomStrand, [this] {
    auto records = deps_.kernel_log.ReadNew();
    deps_.env.loop.Post([this, records = std::move(records)] { OnRead(records); });
  });
}

void OomWatcher::OnRead(const StatusOr<std::vector<std::string>>& records) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!records.ok()) {
    if (!std::exchange(logged_unread_, true))
      deps_.env.log.Warn(
          "cannot read the kernel log, will try again: SystemOOM is not reported until then",
          {KV("err", records.status())});
    return;
  }
  logged_unread_ = false;
  for (const auto& record : *records) {
    const auto kill = kills_.Add(TextOf(record));
    if (!kill || kill->memcg != "/") continue;
    deps_.node_events.Warn("SystemOOM", SystemOomMessage(*kill));
  }
}

}  // namespace splitlet::gc
