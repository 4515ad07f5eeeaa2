#include "services/pleg/listing/lister.h"

#include <algorithm>

#include "libs/base/fail_point.h"

namespace splitlet::pleg {
namespace {

// A burst starts several containers at the same time; one listing shows them all.
constexpr Duration kGather = std::chrono::milliseconds{20};
// A listing for many pods begins this long after it is asked for, or kListingShare times as long as
// the last listing took, so that listings take at most a fifth of the runtime's time.
constexpr Duration kGatherMany = std::chrono::milliseconds{100};
constexpr int kListingShare = 4;
constexpr Duration kGatherAtMost = std::chrono::seconds{1};
// This many listings within kQuickPeriod begin after kGather; further ones are listings for many.
constexpr size_t kQuickListings = 6;
constexpr Duration kQuickPeriod = std::chrono::seconds{1};

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
    again_ = std::min(again_.value_or(delay), delay);
  } else if (deps_.env.clock.Now() + delay < due_) {
    Arm(delay);
  }
}

Duration Lister::DelayForMany() const {
  return std::clamp(kListingShare * took_, kGatherMany, kGatherAtMost);
}

Duration Lister::DelayForUnknown() const {
  // On a slow runtime the period is long enough for that many listings at the pace for many.
  const Duration period = std::max<Duration>(
      kQuickPeriod, static_cast<int64_t>(kQuickListings) * (kListingShare + 1) * took_);
  const bool many =
      recent_.size() == kQuickListings && deps_.env.clock.Now() - recent_.front() < period;
  return many ? DelayForMany() : kGather;
}

void Lister::ListForMany() {
  if (listing_) {
    again_for_many_ = true;
  } else {
    ListWithin(DelayForMany());
  }
}

void Lister::ListForUnknown(Duration at_least) {
  ListWithin(std::max(at_least, DelayForUnknown()));
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
  recent_.push_back(began);
  if (recent_.size() > kQuickListings) recent_.pop_front();
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
  took_ = deps_.env.clock.Now() - began;
  deps_.metrics.relist_seconds.Observe(Seconds(took_));
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
  const bool for_many = std::exchange(again_for_many_, false);
  Arm(std::min({regular, std::exchange(again_, std::nullopt).value_or(regular),
                for_many ? DelayForMany() : regular}));
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
