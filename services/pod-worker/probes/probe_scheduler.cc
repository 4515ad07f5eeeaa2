#include "services/pod-worker/probes/probe_scheduler.h"

#include <algorithm>
#include <set>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/pod_status.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/fail_point.h"
#include "libs/exec/run_slots.h"
#include "libs/kube/restart_policy.h"
#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr int kTries = 3;
/// A run that holds its slot for so long is slow.
constexpr Duration kSlowProbe = 500ms;
/// A container that started so long before this process was probed by an earlier one.
constexpr Duration kRestartTolerance = 10s;

std::string KeyOf(const std::string& uid, const std::string& container, ProbeKind kind) {
  return fmt::format("{}/{}/{}", uid, container, NameOf(kind));
}

/// The status of an API pod shows `started`, so another agent has run the startup probe. The status
/// in a manifest means nothing.
bool IsShownStarted(const kube::Pod& pod, const std::string& id) {
  if (kube::IsStatic(pod)) return false;
  const auto started = [&id](const auto& statuses) {
    return std::any_of(statuses.begin(), statuses.end(), [&id](const kube::ContainerStatus& one) {
      return one.started() && one.container_id().ends_with("://" + id);
    });
  };
  return started(pod.status().container_statuses()) ||
         started(pod.status().init_container_statuses());
}

std::string IpOf(const ProbedPod& pod, const std::vector<std::string>& node_ips) {
  if (std::string ip = PodIpOf(pod.seen); !ip.empty()) return ip;
  return pod.pod.spec().host_network() && !node_ips.empty() ? node_ips.front() : "";
}

}  // namespace

/// A running container with probes.
struct ProbeScheduler::Target {
  std::shared_ptr<const PodRef> pod;
  std::string ip, id;
  bool sidecar = false;
  bool shown_started = false;  // by the API status
  Clock::Time started;
};

ProbeScheduler::ProbeScheduler(Deps deps)
    : deps_(deps),
      started_(deps_.env.clock.Now()),
      due_(deps_.env.loop, deps_.env.clock, [this](const std::string& key) { OnDue(key); }) {}

template <class Gone>
void ProbeScheduler::EraseIf(const std::string& uid, const Gone& gone) {
  const std::string prefix = uid + "/";
  for (auto probe = probes_.lower_bound(prefix);
       probe != probes_.end() && probe->first.starts_with(prefix);) {
    if (!gone(probe->second)) {
      ++probe;
      continue;
    }
    due_.Remove(probe->first);
    probe = probes_.erase(probe);
  }
}

void ProbeScheduler::OnSeen(const ProbedPod& pod) {
  Target target{.pod = std::make_shared<const PodRef>(RefOf(pod.pod)),
                .ip = IpOf(pod, deps_.node_ips)};
  std::set<std::string> known, running;  // ids
  const auto inspect = [&](const kube::Container& container, bool sidecar) {
    const v1::ContainerRecord* newest = NewestRecord(pod.seen, container.name());
    if (newest == nullptr || !HasProbes(container)) return;
    known.insert(newest->id());
    if (newest->state() != v1::ContainerRecord::RUNNING) return;
    running.insert(newest->id());
    target.id = newest->id();
    target.sidecar = sidecar;
    target.shown_started = IsShownStarted(pod.pod, target.id);
    const Duration age{ToNanos(deps_.env.clock.WallNow()) - newest->started_at_ns()};
    target.started = deps_.env.clock.Now() - std::max(age, Duration{0});
    Adopt(target, container);
  };
  for (const auto& init : pod.pod.spec().init_containers())
    if (kube::IsSidecar(init)) inspect(init, true);
  for (const auto& container : pod.pod.spec().containers()) inspect(container, false);
  EraseIf(target.pod->uid, [&](const Probe& probe) { return !running.contains(probe.id); });
  deps_.results.Retain(target.pod->uid, known);
}

void ProbeScheduler::Adopt(const Target& target, const kube::Container& container) {
  for (const ProbeKind kind : kProbeKinds) {
    if (FindProbe(container, kind) == nullptr) continue;
    const auto known = probes_.find(KeyOf(target.pod->uid, container.name(), kind));
    if (known != probes_.end() && known->second.id == target.id) {
      known->second.action = ActionOf(*FindProbe(container, kind), container, target.ip);
      // The probe may have waited for the pod's address.
      if (!due_.Contains(known->first)) Schedule(known->first, known->second);
    } else {
      Add(target, container, kind);
    }
  }
}

void ProbeScheduler::Add(const Target& target, const kube::Container& container, ProbeKind kind) {
  const std::string key = KeyOf(target.pod->uid, container.name(), kind);
  due_.Remove(key);
  const auto& spec = *FindProbe(container, kind);
  Probe probe{
      .pod = target.pod,
      .container = container.name(),
      .id = target.id,
      .kind = kind,
      .sidecar = target.sidecar,
      .waits_for_startup =
          kind != ProbeKind::kStartup && FindProbe(container, ProbeKind::kStartup) != nullptr,
      .timing = TimingOf(spec),
      .action = ActionOf(spec, container, target.ip),
      .series = std::make_unique<ProbeSeries>(deps_.metrics, *target.pod, container.name(), kind)};
  const Clock::Time now = deps_.env.clock.Now();
  if (const auto* kept = deps_.results.Find(target.pod->uid, {target.id, kind})) {
    probe.state = kept->state;
    probe.due = ResumeDue(kept->due, probe.timing.period, now);
  } else if (kind == ProbeKind::kStartup && target.shown_started) {
    HoldStarted(target, probe);
  } else if (target.started + kRestartTolerance < started_ && kind != ProbeKind::kLiveness) {
    Inherit(target, probe);
  } else {
    probe.due = FirstDue(probe.timing, {.now = now,
                                        .container_started = target.started,
                                        .process_age = now - started_,
                                        .random = deps_.random.Unit()});
  }
  Schedule(key, probes_.insert_or_assign(key, std::move(probe)).first->second);
}

/// An earlier process, or another program, has probed this container, and its results are lost. The
/// startup probe must have succeeded, or the container would have been stopped by now; running it
/// again could only stop the container. Readiness needs a result (docs/safety.md, rule 22), so that
/// probe runs immediately.
void ProbeScheduler::Inherit(const Target& target, Probe& probe) {
  const ProbeTiming& timing = probe.timing;
  const Clock::Time now = deps_.env.clock.Now();
  probe.due = std::max(now, target.started + timing.initial_delay);
  if (probe.kind == ProbeKind::kStartup && HasHadItsRuns(timing, now - target.started))
    HoldStarted(target, probe);
}

/// The startup probe does not run again in this container.
void ProbeScheduler::HoldStarted(const Target& target, Probe& probe) {
  if (!probe.due) probe.due = deps_.env.clock.Now();
  probe.state = {.result = true, .on_hold = true};
  deps_.results.Set(target.pod->uid, {target.id, probe.kind}, {probe.state, probe.due});
}

void ProbeScheduler::Schedule(const std::string& key, const Probe& probe) {
  if (!MayRun(probe)) return;
  due_.Add(key, std::max(probe.due - deps_.env.clock.Now(), Duration{0}));
}

bool ProbeScheduler::MayRun(const Probe& probe) const {
  if (stopping_ || probe.run != 0 || probe.state.on_hold) return false;
  if (probe.action.ok() && LacksAddress(*probe.action)) return false;
  return !probe.waits_for_startup ||
         ResultOf(deps_.results.Of(probe.pod->uid), probe.id, ProbeKind::kStartup) == true;
}

void ProbeScheduler::Wake(const std::string& uid) {
  const std::string prefix = uid + "/";
  for (auto probe = probes_.lower_bound(prefix);
       probe != probes_.end() && probe->first.starts_with(prefix); ++probe)
    if (probe->second.waits_for_startup && !due_.Contains(probe->first))
      Schedule(probe->first, probe->second);
}

void ProbeScheduler::OnDue(const std::string& key) {
  const auto probe = probes_.find(key);
  if (probe != probes_.end() && MayRun(probe->second)) Begin(key, probe->second);
}

void ProbeScheduler::Begin(const std::string& key, Probe& probe) {
  const Status may = [] {
    FAIL_POINT("pod-worker.probe.before");
    return OkStatus();
  }();
  if (probe.tries == 0) probe.began = deps_.env.clock.Now();
  probe.run = ++last_run_;
  const auto answer = [this, key, run = probe.run](ProbeAnswer found) {
    deps_.env.loop.Post([this, key, run, found = std::move(found)] { OnAnswer(key, run, found); });
  };
  if (!probe.action.ok()) probe.tries = kTries;  // another try would fail alike
  if (const Status& bad = may.ok() ? probe.action.status() : may; !bad.ok())
    return answer({.kind = ProbeAnswer::Kind::kError, .text = std::string(Message(bad))});
  Prober& prober =
      std::holds_alternative<ExecProbe>(*probe.action) ? deps_.commands : deps_.network;
  prober.Begin({probe.id, *probe.action, probe.timing.timeout, probe.slow}, answer);
}

void ProbeScheduler::OnAnswer(const std::string& key, uint64_t run, ProbeAnswer answer) {
  const Status may = [] {
    FAIL_POINT("pod-worker.probe.after");
    return OkStatus();
  }();
  if (!may.ok()) answer = {.kind = ProbeAnswer::Kind::kError, .text = std::string(Message(may))};
  const auto found = probes_.find(key);
  if (found == probes_.end() || found->second.run != run) return;  // its container is gone
  Probe& probe = found->second;
  probe.run = 0;
  probe.slow = answer.took >= kSlowProbe;
  if (stopping_) return;  // given up with the process
  if (answer.kind == ProbeAnswer::Kind::kError && ++probe.tries < kTries) return Begin(key, probe);
  probe.tries = 0;
  Report(probe, answer);
  probe.due = NextDue(probe.due, probe.timing.period, deps_.env.clock.Now());
  if (answer.kind != ProbeAnswer::Kind::kError)
    Take(probe, answer.kind != ProbeAnswer::Kind::kFailure, answer.text);
  Schedule(key, probe);
}

void ProbeScheduler::Report(const Probe& probe, const ProbeAnswer& answer) const {
  PodEvents events(deps_.events, *probe.pod);
  const std::string_view title = TitleOf(probe.kind);
  switch (answer.kind) {
    case ProbeAnswer::Kind::kSuccess: break;
    case ProbeAnswer::Kind::kWarning:
      events.Warning("ProbeWarning", fmt::format("{} probe warning: {}", title, answer.text),
                     probe.container);
      break;
    case ProbeAnswer::Kind::kFailure:
      events.Warning("Unhealthy", fmt::format("{} probe failed: {}", title, answer.text),
                     probe.container);
      break;
    case ProbeAnswer::Kind::kError:
      events.Warning("Unhealthy",
                     fmt::format("{} probe errored and resulted in {} state: {}", title,
                                 answer.failed ? "failure" : "unknown", answer.text),
                     probe.container);
      return;
  }
  probe.series->Observe(answer.kind != ProbeAnswer::Kind::kFailure,
                        deps_.env.clock.Now() - probe.began);
}

/// Counts the run. Only a change of state is written.
void ProbeScheduler::Take(Probe& probe, bool success, const std::string& text) {
  const ProbeState before =
      std::exchange(probe.state, Count(probe.kind, probe.timing, probe.state, success));
  if (probe.state == before) return;
  if (probe.state.result != before.result)
    deps_.env.log.Info("probe result changed",
                       {KV("pod", fmt::format("{}/{}", probe.pod->name_space, probe.pod->name)),
                        KV("podUID", probe.pod->uid), KV("containerName", probe.container),
                        KV("containerID", probe.id), KV("probeType", TitleOf(probe.kind)),
                        KV("success", success), KV("output", text)});
  deps_.results.Set(probe.pod->uid, {probe.id, probe.kind}, {probe.state, probe.due});
}

void ProbeScheduler::OnEnding(const std::string& uid) {
  EraseIf(uid,
          [](const Probe& probe) { return !probe.sidecar && probe.kind != ProbeKind::kReadiness; });
}

void ProbeScheduler::OnEnded(const std::string& uid, const std::set<std::string>& container_ids) {
  EraseIf(uid, [&](const Probe& probe) { return container_ids.contains(probe.id); });
}

void ProbeScheduler::Forget(const std::string& uid) {
  EraseIf(uid, [](const Probe&) { return true; });
  deps_.results.Forget(uid);
}

}  // namespace splitlet::pod_worker
