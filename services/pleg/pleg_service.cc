#include "services/pleg/pleg_service.h"

#include <fmt/ranges.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pleg {

PlegService::PlegService(PlegDeps deps, PlegConfig config)
    : deps_(std::move(deps)),
      config_(std::move(config)),
      metrics_(deps_.env.metrics),
      lister_({.env = deps_.env,
               .reader = deps_.reader,
               .metrics = metrics_,
               .config = config_,
               .streaming = [this] { return feed_.streaming(); },
               .on_listed = [this](Listing& listing, bool back) { OnListed(listing, back); },
               .on_failed = [this] { unseen_.ContinueAll(); },
               .on_end = [this] { OnListingEnd(); }}),
      vouching_({.clock = deps_.env.clock,
                 .loop = deps_.env.loop,
                 .table = deps_.table,
                 .metrics = metrics_,
                 .last_listing = [this] { return lister_.last(); },
                 .inspecting_since =
                     [this](const std::string& uid) { return inspector_.InspectingSince(uid); },
                 .put_missing = [this] { inspector_.PutMissing(); }}),
      inspector_({.env = deps_.env,
                  .reader = deps_.reader,
                  .read_tail = deps_.read_tail,
                  .table = deps_.table,
                  .metrics = metrics_,
                  .config = config_,
                  .vouching = vouching_,
                  .events = unseen_,
                  .on_changed = [this](const std::string& uid) { SignalPodChanged(uid); },
                  .seed = deps_.seed}),
      unseen_({.loop = deps_.env.loop, .lister = lister_, .pods = inspector_, .config = config_}),
      health_({.env = deps_.env, .reader = deps_.reader, .config = config_}),
      feed_({.env = deps_.env,
             .sources = std::move(deps_.sources),
             .probe_period = config_.probe_period,
             .metrics = metrics_,
             .on_event = [this](const cri::ContainerEvent& event) { OnContainerEvent(event); },
             .on_gap = [this] { lister_.ListSoon(); }}) {}

void PlegService::Start() {
  health_.Start();
  lister_.Start();
  feed_.Start();
}

void PlegService::OnContainerEvent(const cri::ContainerEvent& event) {
  unseen_.OnContainerEvent(event);
}

void PlegService::OnListed(Listing& listing, bool back) {
  unseen_.SetUnmanaged(std::move(listing.unmanaged));
  inspector_.Reconcile(listing);
  vouching_.AnswerWhenInspected(lister_.TakeAskers());
  // The runtime may be back in another version, with events.
  if (back) feed_.Probe();
}

void PlegService::OnListingEnd() {
  unseen_.ListForUnknownIds();
  vouching_.Put();
}

void PlegService::OnGetPodStatus(const std::string& uid, Inspector::Done done) {
  inspector_.Ask(uid, std::move(done));
}

void PlegService::OnRelist(Lister::Done done) { lister_.Ask(std::move(done)); }

void PlegService::SignalPodChanged(const std::string& uid) {
  FAIL_POINT_VOID("pleg.signal.before");
  deps_.bus.Signal("pod-changed", uid);
  FAIL_POINT_VOID("pleg.signal.after");
}

daemon::Health PlegService::GetHealth() const {
  const auto errors = health_.Errors(lister_.last());
  if (!errors.empty()) return {false, fmt::format("{}", fmt::join(errors, ", "))};
  const bool complete = vouching_.complete();
  return {complete, complete ? "" : "the runtime is not listed yet"};
}

v1::PlegHealth PlegService::GetPlegHealth() const {
  v1::PlegHealth health;
  const auto errors = health_.Errors(lister_.last());
  health.set_healthy(errors.empty());
  if (errors.size() == 1) health.set_reason(errors.front());
  if (errors.size() > 1) health.set_reason(fmt::format("[{}]", fmt::join(errors, ", ")));
  health.mutable_errors()->Assign(errors.begin(), errors.end());
  health_.AddTo(health);
  health.set_event_source(feed_.name());
  health.mutable_last_relist()->set_boot(lister_.last().boot);
  health.mutable_last_relist()->set_monotonic_ns(lister_.last().monotonic.count());
  for (const auto& uid : inspector_.Stuck()) health.add_stuck(uid);
  return health;
}

}  // namespace splitlet::pleg
