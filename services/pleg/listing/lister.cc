#include "services/pleg/listing/lister.h"

#include <algorithm>

#include "libs/base/fail_point.h"

namespace splitlet::pleg {
namespace {

const char* NameOf(cri::ContainerState state) {
  switch (state) {
    case cri::ContainerState::kCreated: return "created";
    case cri::ContainerState::kRunning: return "running";
    case cri::ContainerState::kExited: return "exited";
    case cri::ContainerState::kUnknown: return "unknown";
  }
  UNREACHABLE();
}

Status BeforeListing() {
  FAIL_POINT("pleg.relist.before");
  return OkStatus();
}

StatusOr<std::shared_ptr<Listing>> List(cri::Reader& reader, Clock::Time began,
                                        const Deadline& deadline) {
  RETURN_IF_ERROR(BeforeListing(), "relist");
  ASSIGN_OR_RETURN(auto sandboxes, reader.ListPodSandbox("", deadline), "ListPodSandbox");
  ASSIGN_OR_RETURN(auto containers, reader.ListContainers({}, deadline), "ListContainers");
  return std::make_shared<Listing>(MakeListing(began, std::move(sandboxes), std::move(containers)));
}

}  // namespace

Lister::Lister(Deps deps) : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

Lister::~Lister() { deps_.env.loop.CancelTimer(timer_); }

void Lister::Arm(Duration delay) {
  deps_.env.loop.CancelTimer(timer_);
  due_ = deps_.env.clock.Now() + delay;
  timer_ = deps_.env.loop.RunAfter(delay, [this] { Begin(); });
}

void Lister::ListWithin(Duration delay) {
  if (listing_) {
    next_.within = std::min(next_.within.value_or(delay), delay);
  } else if (deps_.env.clock.Now() + delay < due_) {
    Arm(delay);
  }
}

void Lister::ListForMany() {
  if (listing_) {
    next_.for_many = true;
  } else {
    ListWithin(pace_.ForMany());
  }
}

void Lister::ListForUnknown(Duration at_least) {
  ListWithin(std::max(at_least, pace_.ForUnknown(deps_.env.clock.Now())));
}

void Lister::Ask(Done done) {
  if (next_askers_.size() >= kMaxAskers) {
    done(ResourceExhausted("too many calls wait for a listing"));
    return;
  }
  next_askers_.push_back(std::move(done));
  ListSoon();
}

void Lister::Begin() {
  if (listing_) return;
  listing_ = true;
  askers_ = std::exchange(next_askers_, {});
  const Clock::Time began = deps_.env.clock.Now();  // before the runtime is asked
  pace_.OnBegin(began);
  if (last_) deps_.metrics.relist_interval.Observe(Seconds(began - last_));
  asker_.Ask(
      "relist",
      [began, deadline = Deadline{began + deps_.config.request_timeout}, reader = &deps_.reader] {
        return List(*reader, began, deadline);
      },
      [this, began](const StatusOr<std::shared_ptr<Listing>>& listed) { OnListed(began, listed); });
}

void Lister::OnListed(Clock::Time began, const StatusOr<std::shared_ptr<Listing>>& listed) {
  listing_ = false;
  const Duration took = deps_.env.clock.Now() - began;
  pace_.OnEnd(took);
  deps_.metrics.relist_seconds.Observe(Seconds(took));
  if (listed.ok()) {
    const bool back = failing();
    if (back) deps_.env.log.Info("runtime answers again");
    error_ = OkStatus();
    last_ = began;
    deps_.metrics.last_seen.Set(
        Seconds(deps_.env.clock.WallNow().time_since_epoch() - (deps_.env.clock.Now() - began)));
    CountRunning(**listed);
    deps_.on_listed(**listed, back);
  } else {
    OnFailed(listed.status());
  }
  const Duration regular =
      deps_.streaming() ? deps_.config.streaming_period : deps_.config.polling_period;
  Arm(WaitFor(std::exchange(next_, {}), regular, pace_));
  deps_.on_end();
}

void Lister::OnFailed(const Status& status) {
  if (status.code() != error_.code())
    deps_.env.log.Warn("cannot list the runtime, will list again", {KV("err", status)});
  error_ = status;
  for (auto& done : TakeAskers()) done(status);
  deps_.on_failed();
}

void Lister::CountRunning(const Listing& listing) const {
  const auto running =
      std::ranges::count_if(listing.pods, [](const auto& entry) { return entry.second.running; });
  deps_.metrics.running_pods.Set(static_cast<double>(running));
  for (const auto state : {cri::ContainerState::kCreated, cri::ContainerState::kRunning,
                           cri::ContainerState::kExited, cri::ContainerState::kUnknown}) {
    const auto found = listing.containers.find(state);
    const size_t count = found == listing.containers.end() ? 0 : found->second;
    deps_.metrics.running_containers.Add({{"container_state", NameOf(state)}})
        .Set(static_cast<double>(count));
  }
}

}  // namespace splitlet::pleg
