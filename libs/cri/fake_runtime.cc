#include "libs/cri/fake_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/cri/convert.h"
#include "libs/cri/fake_world.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {
namespace {

constexpr Duration kRound = 10ms;
constexpr Duration kLongestRound = 160ms;  // hundreds of waiting calls must not use the whole
                                           // machine

/// Matches by label, as a runtime does; "" matches every pod.
bool IsOfPod(const StringMap& labels, const std::string& uid) {
  if (uid.empty()) return true;
  const auto label = labels.find(std::string(kPodUidLabel));
  return label != labels.end() && label->second == uid;
}

class AdvancingWaiter final : public Waiter {
 public:
  explicit AdvancingWaiter(FakeClock& clock) : clock_(clock) {}
  void WaitFor(Duration max, const std::function<bool()>& done) override {
    if (!done()) clock_.Advance(max);
  }

 private:
  FakeClock& clock_;
};

class RealWaiter final : public Waiter {
 public:
  void WaitFor(Duration max, const std::function<bool()>& done) override {
    const auto end = clock_.Now() + max;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (Duration round = kRound; !done() && clock_.Now() < end;
         round = std::min(2 * round, kLongestRound))
      never.wait_for(lock, std::min<Duration>(round, end - clock_.Now()));
  }

 private:
  RealClock clock_;
};

template <class Map>
StringMap ToStringMap(const Map& map) {
  return StringMap(map.begin(), map.end());
}

bool Cancelled(const Deadline& deadline) { return deadline.cancel && deadline.cancel->cancelled(); }

// A listing has fewer fields than a status.
Container AsListed(Container c) {
  c.started_at_ns = c.finished_at_ns = 0;
  c.exit_code = 0;
  c.reason.clear();
  c.message.clear();
  c.log_path.clear();
  c.mounts.clear();
  c.user.reset();
  c.resources.reset();
  return c;
}

Sandbox AsListed(Sandbox s) {
  s.ips.clear();
  s.host_network = false;
  return s;
}

}  // namespace

std::unique_ptr<Waiter> MakeAdvancingWaiter(FakeClock& clock) {
  return std::make_unique<AdvancingWaiter>(clock);
}
std::unique_ptr<Waiter> MakeRealWaiter() { return std::make_unique<RealWaiter>(); }

FakeRuntime::FakeRuntime(const Clock& clock) : FakeRuntime(clock, Options{}) {}
FakeRuntime::FakeRuntime(const Clock& clock, Options options)
    : FakeControls(clock, std::move(options)) {}
FakeRuntime::~FakeRuntime() = default;

// Serves a call: faults, delays, then the effect.

Status FakeRuntime::Wait(const Deadline& deadline, Clock::Time until,
                         const std::function<bool()>& done) {
  if (options_.waiter == nullptr) {
    return done() || until <= deadline.at ? OkStatus() : DeadlineExceeded("no answer in time");
  }
  const Clock::Time end = std::min(until, deadline.at);
  options_.waiter->WaitFor(std::max(end - clock_.Now(), Duration{0}),
                           [&] { return done() || Cancelled(deadline); });
  if (done()) return OkStatus();
  if (Cancelled(deadline)) return splitlet::Cancelled("given up");
  return until <= deadline.at ? OkStatus() : DeadlineExceeded("no answer in time");
}

Status FakeRuntime::Hang(const Call& call, int fault) {
  const auto count = [this, fault](int change) {
    const std::lock_guard lock(mutex_);
    const auto found = world_->faults.find(fault);
    if (found != world_->faults.end()) found->second.hanging += change;
  };
  count(1);
  const Status waited = Wait(call.deadline, call.deadline.at + 1ns, [this, fault] {
    const std::lock_guard lock(mutex_);
    return !world_->faults.contains(fault);
  });
  count(-1);
  return waited;
}

FakeRuntime::Admission FakeRuntime::Admit(const Call& call) {
  const auto refused = [this, &call]() -> Status {
    if (options_.intercept)
      RETURN_IF_ERROR(options_.intercept(call.method, call.pod_uid), "process");
    if (Cancelled(call.deadline)) return splitlet::Cancelled("given up");
    if (clock_.Now() > call.deadline.at) return DeadlineExceeded("no answer in time");
    const std::lock_guard lock(mutex_);
    return world_->down ? Unavailable("the runtime is down") : OkStatus();
  };
  Admission admission{refused(), OkStatus()};
  if (!admission.refused.ok()) return admission;
  std::vector<std::pair<int, Fault>> hits;
  {
    const std::lock_guard lock(mutex_);
    ++world_->calls[call.method];
    for (auto& [id, entry] : world_->faults) {
      Fault& fault = entry.fault;
      const bool fits = (fault.method.empty() || fault.method == call.method) &&
                        world_->IsAbout(fault.pod, call.pod_uid, call.sandbox);
      if (!fits || fault.times == 0) continue;
      if (fault.times > 0) --fault.times;
      hits.emplace_back(id, fault);
    }
  }
  for (const auto& [id, fault] : hits) {
    Status status;
    switch (fault.kind) {
      case Fault::Kind::kFail: status = MakeStatus(fault.code, fault.message); break;
      case Fault::Kind::kDelay:
        status = Wait(call.deadline, clock_.Now() + fault.delay, [] { return false; });
        break;
      case Fault::Kind::kHang: status = Hang(call, id); break;
      case Fault::Kind::kLoseResponse:
        admission.lost = MakeStatus(fault.code, fault.message);
        break;
    }
    if (!status.ok()) return {status, OkStatus()};
  }
  if (!hits.empty()) admission.refused = refused();
  return admission;
}

template <class R, class F>
R FakeRuntime::Serve(const Call& call, F effect) {
  const Admission admission = Admit(call);
  if (!admission.refused.ok()) return admission.refused;
  R answer = [&]() -> R {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    return effect(*world_);
  }();
  Deliver();
  if (!admission.lost.ok()) return admission.lost;
  return answer;
}

std::string FakeRuntime::UidOf(const ContainerId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = world_->containers.find(id);
  return found == world_->containers.end() ? "" : world_->PodUidOf(found->second.record);
}

std::string FakeRuntime::UidOf(const SandboxId& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = world_->sandboxes.find(id);
  return found == world_->sandboxes.end() ? "" : found->second.record.pod_uid;
}

// Reader.

StatusOr<RuntimeInfo> FakeRuntime::Version(Deadline deadline) {
  return Serve<StatusOr<RuntimeInfo>>({"Version", "", deadline},
                                      [this](World&) { return options_.info; });
}

StatusOr<RuntimeReport> FakeRuntime::RuntimeStatus(Deadline deadline) {
  return Serve<StatusOr<RuntimeReport>>({"Status", "", deadline},
                                        [](World& world) { return world.report; });
}

StatusOr<std::vector<Sandbox>> FakeRuntime::ListPodSandbox(const std::string& pod_uid,
                                                           Deadline deadline) {
  using Answer = StatusOr<std::vector<Sandbox>>;
  return Serve<Answer>({"ListPodSandbox", pod_uid, deadline}, [&](World& world) -> Answer {
    std::vector<Sandbox> listed;
    for (const auto& [id, entry] : world.sandboxes) {
      if (IsOfPod(entry.record.labels, pod_uid)) listed.push_back(AsListed(entry.record));
    }
    std::sort(listed.begin(), listed.end(), IsNewer<Sandbox>);
    return listed;
  });
}

StatusOr<Sandbox> FakeRuntime::PodSandboxStatus(const SandboxId& id, Deadline deadline) {
  using Answer = StatusOr<Sandbox>;
  return Serve<Answer>({"PodSandboxStatus", UidOf(id), deadline}, [&](World& world) -> Answer {
    const auto found = world.sandboxes.find(id);
    if (found == world.sandboxes.end()) return NotFound("no sandbox {}", id);
    return found->second.record;
  });
}

StatusOr<std::vector<Container>> FakeRuntime::ListContainers(const ContainerFilter& filter,
                                                             Deadline deadline) {
  using Answer = StatusOr<std::vector<Container>>;
  return Serve<Answer>({"ListContainers", filter.pod_uid, deadline}, [&](World& world) -> Answer {
    std::vector<Container> listed;
    for (const auto& [id, entry] : world.containers) {
      const bool of_pod = IsOfPod(entry.record.labels, filter.pod_uid);
      const bool of_sandbox =
          filter.sandbox_id.empty() || entry.record.sandbox_id == filter.sandbox_id;
      if (of_pod && of_sandbox) listed.push_back(AsListed(world.Show(entry)));
    }
    std::sort(listed.begin(), listed.end(), IsNewer<Container>);
    return listed;
  });
}

StatusOr<Container> FakeRuntime::ContainerStatus(const ContainerId& id, Deadline deadline) {
  using Answer = StatusOr<Container>;
  return Serve<Answer>({"ContainerStatus", UidOf(id), deadline}, [&](World& world) -> Answer {
    const auto found = world.containers.find(id);
    if (found == world.containers.end()) return NotFound("no container {}", id);
    return world.Show(found->second);
  });
}

// Runner.

StatusOr<SandboxId> FakeRuntime::RunPodSandbox(const runtime::v1::PodSandboxConfig& config,
                                               const std::string& handler, Deadline deadline) {
  Sandbox record;
  record.pod_name = config.metadata().name();
  record.pod_namespace = config.metadata().namespace_();
  record.pod_uid = config.metadata().uid();
  record.attempt = config.metadata().attempt();
  record.labels = ToStringMap(config.labels());
  record.annotations = ToStringMap(config.annotations());
  record.runtime_handler = handler;
  record.host_network =
      config.linux().security_context().namespace_options().network() == runtime::v1::NODE;
  using Answer = StatusOr<SandboxId>;
  return Serve<Answer>({"RunPodSandbox", record.pod_uid, deadline, &record},
                       [&](World& world) -> Answer {
                         if (record.pod_name.empty() || record.pod_uid.empty())
                           return InvalidArgument("metadata is incomplete");
                         return world.AddSandbox(record, config.log_directory());
                       });
}

Status FakeRuntime::StopPodSandbox(const SandboxId& id, Deadline deadline) {
  return Serve<Status>({"StopPodSandbox", UidOf(id), deadline}, [&](World& world) {
    const auto found = world.sandboxes.find(id);
    if (found != world.sandboxes.end()) world.StopSandbox(found->second);
    return OkStatus();
  });
}

StatusOr<ContainerId> FakeRuntime::CreateContainer(const SandboxId& sandbox,
                                                   const runtime::v1::ContainerConfig& config,
                                                   const runtime::v1::PodSandboxConfig&,
                                                   Deadline deadline) {
  Container record;
  record.name = config.metadata().name();
  record.attempt = config.metadata().attempt();
  record.labels = ToStringMap(config.labels());
  record.annotations = ToStringMap(config.annotations());
  record.image = config.image().image();
  record.log_path = config.log_path();
  std::vector<Mount> mounts;
  for (const auto& mount : config.mounts()) {
    mounts.push_back({mount.container_path(), mount.host_path(), mount.readonly()});
  }
  if (config.linux().has_resources()) record.resources = FromProto(config.linux().resources());
  const auto& security = config.linux().security_context();
  if (security.has_run_as_user()) {
    const auto& groups = security.supplemental_groups();
    record.user = {security.run_as_user().value(),
                   security.run_as_group().value(),
                   {groups.begin(), groups.end()}};
  }
  using Answer = StatusOr<ContainerId>;
  return Serve<Answer>({"CreateContainer", UidOf(sandbox), deadline}, [&](World& world) -> Answer {
    if (record.name.empty()) return InvalidArgument("metadata is incomplete");
    return world.AddContainer(sandbox, record, mounts);
  });
}

Status FakeRuntime::StartContainer(const ContainerId& id, Deadline deadline) {
  return Serve<Status>({"StartContainer", UidOf(id), deadline},
                       [&](World& world) { return world.Start(id); });
}

Status FakeRuntime::StopContainer(const ContainerId& id, int64_t grace_seconds, Deadline deadline) {
  const Status begun = Serve<Status>({"StopContainer", UidOf(id), deadline}, [&](World& world) {
    if (!world.IsRunning(id)) return OkStatus();
    auto& entry = world.containers.at(id);
    world.BeginStop(entry, std::chrono::seconds{grace_seconds});
    if (options_.waiter == nullptr)
      world.Exit(entry, clock_.Now(), entry.due_code, entry.due_reason);
    world.Tick();
    return OkStatus();
  });
  RETURN_IF_ERROR(begun, "stop");
  return WaitForExit(id, deadline);
}

Status FakeRuntime::WaitForExit(const ContainerId& id, const Deadline& deadline) {
  const auto due = [&]() -> std::optional<Clock::Time> {
    const std::lock_guard lock(mutex_);
    world_->Tick();
    if (!world_->IsRunning(id)) return std::nullopt;
    return world_->containers.at(id).exit_due;
  };
  while (const auto when = due()) {
    RETURN_IF_ERROR(Wait(deadline, *when, [&] { return !due(); }), "wait for the exit");
  }
  Deliver();
  return OkStatus();
}

StatusOr<ExecResult> FakeRuntime::ExecSync(const ContainerId& id, const ExecCommand& command,
                                           Deadline deadline) {
  using Answer = StatusOr<ExecResult>;
  const std::string uid = UidOf(id);
  Answer answer = Serve<Answer>({"ExecSync", uid, deadline}, [&](World& world) -> Answer {
    const auto found = world.containers.find(id);
    if (found == world.containers.end()) return NotFound("no container {}", id);
    const Container& record = found->second.record;
    if (record.state != ContainerState::kRunning)
      return FailedPrecondition("container {} does not run", id);
    for (const World::PodAndName& key :
         {World::PodAndName{uid, record.name}, {"", record.name}, {uid, ""}, {}}) {
      if (const auto exec = world.execs.find(key); exec != world.execs.end()) return exec->second;
    }
    return ExecResult{};
  });
  if (!answer.ok()) return answer;
  command.keep.Cut(answer->out);
  command.keep.Cut(answer->err);
  return answer;
}

// Remover.

Status FakeRuntime::RemovePodSandbox(const SandboxId& id, Deadline deadline) {
  return Serve<Status>({"RemovePodSandbox", UidOf(id), deadline}, [&](World& world) {
    world.RemoveSandbox(id);
    return OkStatus();
  });
}

Status FakeRuntime::RemoveContainer(const ContainerId& id, Deadline deadline) {
  return Serve<Status>({"RemoveContainer", UidOf(id), deadline}, [&](World& world) {
    world.RemoveContainer(id);
    return OkStatus();
  });
}

Status FakeRuntime::RemoveImage(const std::string& id, Deadline deadline) {
  return Serve<Status>({"RemoveImage", "", deadline}, [&](World& world) {
    if (const Image* image = world.FindImage(id)) world.images.erase(std::string(image->id));
    return OkStatus();
  });
}

// Images, Logs and Stats.

StatusOr<std::vector<Image>> FakeRuntime::ListImages(Deadline deadline) {
  using Answer = StatusOr<std::vector<Image>>;
  return Serve<Answer>({"ListImages", "", deadline}, [](World& world) -> Answer {
    std::vector<Image> listed;
    for (const auto& [id, image] : world.images) listed.push_back(image);
    return listed;
  });
}

StatusOr<std::optional<Image>> FakeRuntime::ImageStatus(const ImageQuery& query,
                                                        Deadline deadline) {
  using Answer = StatusOr<std::optional<Image>>;
  return Serve<Answer>({"ImageStatus", "", deadline}, [&](World& world) -> Answer {
    world.image_annotations = query.annotations;
    const Image* found = world.FindImage(query.image);
    return found == nullptr ? std::nullopt : std::optional<Image>(*found);
  });
}

StatusOr<std::string> FakeRuntime::PullImage(const std::string& image,
                                             const runtime::v1::AuthConfig* auth,
                                             const runtime::v1::PodSandboxConfig& sandbox_config,
                                             Deadline deadline) {
  PullBehaviour pull;
  uint64_t downs = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = world_->pulls.find(NormalImageName(image));
    if (found != world_->pulls.end()) pull = found->second;
    downs = world_->downs;
  }
  if (pull.takes > Duration{0}) {
    // A restart of the runtime loses the state of this pull.
    const auto is_lost = [this, downs] {
      const std::lock_guard lock(mutex_);
      return world_->downs != downs;
    };
    RETURN_IF_ERROR(Wait(deadline, clock_.Now() + pull.takes, is_lost), "pull {}", image);
    if (is_lost()) return Unavailable("the runtime went while it pulled {}", image);
  }
  using Answer = StatusOr<std::string>;
  const std::string& uid = sandbox_config.metadata().uid();
  return Serve<Answer>({"PullImage", uid, deadline}, [&](World& world) -> Answer {
    if (!pull.error.ok()) return pull.error;
    const std::string shown = auth == nullptr ? "" : auth->username() + ":" + auth->password();
    if (!pull.login.empty() && shown != pull.login)
      return PermissionDenied("pull access denied for {}", image);
    return world.StoreImage(image, pull.size_bytes).id;
  });
}

StatusOr<ImageFsReport> FakeRuntime::ImageFsInfo(Deadline deadline) {
  return Serve<StatusOr<ImageFsReport>>({"ImageFsInfo", "", deadline},
                                        [](World& world) { return world.image_fs; });
}

StatusOr<std::string> FakeRuntime::SandboxImage(Deadline deadline) {
  return Serve<StatusOr<std::string>>({"Status", "", deadline},
                                      [](World& world) { return world.sandbox_image; });
}

Status FakeRuntime::ReopenContainerLog(const ContainerId& id, Deadline deadline) {
  return Serve<Status>({"ReopenContainerLog", UidOf(id), deadline}, [&](World& world) -> Status {
    const auto found = world.containers.find(id);
    if (found == world.containers.end()) return NotFound("no container {}", id.str());
    if (!world.IsRunning(id)) return FailedPrecondition("container {} is not running", id.str());
    const std::string& path = found->second.record.log_path;
    if (options_.append_file && !path.empty()) options_.append_file(path, "");
    return OkStatus();
  });
}

StatusOr<std::vector<ContainerStats>> FakeRuntime::ListContainerStats(Deadline deadline) {
  using Answer = StatusOr<std::vector<ContainerStats>>;
  return Serve<Answer>({"ListContainerStats", "", deadline}, [](World& world) -> Answer {
    std::vector<ContainerStats> listed;
    for (const auto& [id, entry] : world.containers) {
      if (!world.IsRunning(id)) continue;
      const auto set = world.stats.find(id);
      listed.push_back(set != world.stats.end() ? set->second
                                                : ContainerStats{id, 1'000'000, 1 << 20, 4096, 1});
    }
    return listed;
  });
}

// Events.

StatusOr<int> FakeRuntime::Subscribe(Subscriber subscriber) {
  const std::lock_guard lock(mutex_);
  if (world_->down) return Unavailable("the runtime is down");
  if (!world_->events_available) return Unimplemented("no event stream");
  const int id = ++world_->last_stream;
  world_->streams[id] = {std::move(subscriber)};
  return id;
}

void FakeRuntime::Unsubscribe(int id) {
  const std::lock_guard lock(mutex_);
  world_->streams.erase(id);
}

Status FakeRuntime::Follow(Deadline deadline, const std::function<void()>& on_open,
                           const std::function<void(const ContainerEvent&)>& on_event) {
  if (options_.waiter == nullptr) return Unimplemented("no event stream without a waiter");
  struct Inbox {
    std::mutex mutex;
    std::deque<ContainerEvent> events;
    std::optional<Status> end;
  };
  const auto inbox = std::make_shared<Inbox>();
  const auto add = [inbox](const ContainerEvent& event) {
    const std::lock_guard lock(inbox->mutex);
    inbox->events.push_back(event);
  };
  const auto end = [inbox](const Status& status) {
    const std::lock_guard lock(inbox->mutex);
    inbox->end = status;
  };
  ASSIGN_OR_RETURN(const int id, Subscribe({add, end}), "subscribe");
  on_open();
  while (true) {
    std::deque<ContainerEvent> events;
    std::optional<Status> ended;
    {
      const std::lock_guard lock(inbox->mutex);
      events.swap(inbox->events);
      ended = inbox->end;
    }
    for (const auto& event : events) on_event(event);
    if (ended) return *ended;
    if (Cancelled(deadline)) break;
    Tick();
    options_.waiter->WaitFor(2 * kRound, [&] {
      const std::lock_guard lock(inbox->mutex);
      return !inbox->events.empty() || inbox->end.has_value() || Cancelled(deadline);
    });
  }
  Unsubscribe(id);
  return splitlet::Cancelled("given up");
}

std::string FakeRuntime::Save() const {
  const std::lock_guard lock(mutex_);
  world_->Tick();
  return world_->Save();
}

Status FakeRuntime::Restore(const std::string& saved) {
  const std::lock_guard lock(mutex_);
  return world_->Restore(saved);
}

}  // namespace splitlet::cri
