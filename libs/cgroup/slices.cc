#include "libs/cgroup/slices.h"

#include <limits>
#include <map>
#include <set>

#include "libs/base/fail_point.h"

namespace splitlet::cgroup {

namespace {

constexpr const char* kSystemd = "org.freedesktop.systemd1";
constexpr const char* kPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr int64_t kSecondUs = 1'000'000;
/// systemd counts quotas in hundredths of a CPU.
constexpr int64_t kQuotaStepUs = 10'000;

dbus::MethodCall CallOf(const std::string& member, dbus::Values arguments) {
  return {kSystemd, {kPath}, kManager, member, std::move(arguments)};
}

dbus::Value Property(const std::string& name, dbus::Value value) {
  return dbus::Struct({dbus::Value(name), dbus::Variant(std::move(value))});
}

dbus::Value Amount(int64_t value) {
  return dbus::Value(value < 0 ? kNoLimit : static_cast<uint64_t>(value));
}

uint64_t QuotaPerSecond(int64_t quota_us, int64_t period_us) {
  if (quota_us <= 0 || period_us <= 0) return kNoLimit;
  const int64_t exact = quota_us * kSecondUs / period_us;
  return static_cast<uint64_t>((exact + kQuotaStepUs - 1) / kQuotaStepUs * kQuotaStepUs);
}

/// systemd adds a controller's files to a cgroup only with its accounting enabled.
dbus::Values StartProperties(const std::string& slice, const std::string& parent) {
  dbus::Values all = {Property("Description", dbus::Value("Kubernetes pods: " + slice)),
                      Property("Wants", dbus::Strings({parent}))};
  for (const char* what : {"MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"})
    all.push_back(Property(what, dbus::Value(true)));
  // Otherwise a slice would end at the beginning of a shutdown, before its pods.
  all.push_back(Property("DefaultDependencies", dbus::Value(false)));
  return all;
}

}  // namespace

dbus::Values SliceProperties(Version version, const Limits& limits) {
  const bool v2 = version == Version::kV2;
  dbus::Values all;
  if (limits.cpu_shares && *limits.cpu_shares > 0)
    all.push_back(v2 ? Property("CPUWeight", Amount(CpuWeight(*limits.cpu_shares)))
                     : Property("CPUShares", Amount(*limits.cpu_shares)));
  if (limits.cpu_quota_us) {
    if (limits.cpu_period_us > 0)
      all.push_back(Property("CPUQuotaPeriodUSec", Amount(limits.cpu_period_us)));
    all.push_back(Property("CPUQuotaPerSecUSec", dbus::Value(QuotaPerSecond(
                                                     *limits.cpu_quota_us, limits.cpu_period_us))));
  }
  if (limits.memory_bytes)
    all.push_back(Property(v2 ? "MemoryMax" : "MemoryLimit", Amount(*limits.memory_bytes)));
  if (v2 && limits.memory_min_bytes)
    all.push_back(Property("MemoryMin", Amount(*limits.memory_min_bytes)));
  if (v2 && limits.memory_low_bytes)
    all.push_back(Property("MemoryLow", Amount(*limits.memory_low_bytes)));
  if (limits.pids) all.push_back(Property("TasksMax", Amount(*limits.pids)));
  return all;
}

/// A bus connection, and the calls that wait for jobs on it.
class SystemdSlices::Link {
 public:
  /// Collects the results of this slice's jobs while it exists.
  class Wait {
   public:
    Wait(Link& link, std::string slice) : link_(link), slice_(std::move(slice)) {
      const std::lock_guard lock(link_.mutex_);
      link_.waits_.insert(this);
    }
    ~Wait() {
      const std::lock_guard lock(link_.mutex_);
      link_.waits_.erase(this);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    /// "done", "failed", ...
    StatusOr<std::string> For(const std::string& job, Duration left) {
      std::unique_lock lock(link_.mutex_);
      const bool ended = link_.changed_.wait_for(
          lock, left, [&] { return results_.contains(job) || !link_.lost_.ok(); });
      if (const auto result = results_.find(job); result != results_.end()) return result->second;
      if (!link_.lost_.ok()) return link_.lost_;
      CHECK(!ended);
      return DeadlineExceeded("systemd has not finished the job");
    }

   private:
    friend class Link;
    Link& link_;
    const std::string slice_;
    std::map<std::string, std::string> results_;  // results by job
  };

  /// systemd sends JobRemoved only to subscribers.
  Status Open(const dbus::Connect& connect, Deadline deadline) {
    ASSIGN_OR_RETURN(bus_, connect([this](const Status& why) { OnLost(why); }, deadline),
                     "connect to systemd");
    ASSIGN_OR_RETURN(
        removed_,
        bus_->WatchSignals(
            {.sender = kSystemd, .path = {kPath}, .interface = kManager, .member = "JobRemoved"},
            [this](const dbus::Signal& s) { OnJobRemoved(s); }, deadline),
        "jobs of systemd");
    RETURN_IF_ERROR(bus_->Call(CallOf("Subscribe", {}), deadline), "systemd");
    return OkStatus();
  }
  bool lost() {
    const std::lock_guard lock(mutex_);
    return !lost_.ok();
  }
  dbus::Bus& bus() { return *bus_; }

 private:
  void OnLost(const Status& why) {
    const std::lock_guard lock(mutex_);
    lost_ = why;
    changed_.notify_all();
  }
  void OnJobRemoved(const dbus::Signal& signal) {
    const auto job = dbus::Get<dbus::ObjectPath>(signal.arguments, 1);
    const auto unit = dbus::Get<std::string>(signal.arguments, 2);
    const auto result = dbus::Get<std::string>(signal.arguments, 3);
    if (!job.ok() || !unit.ok() || !result.ok()) return;
    const std::lock_guard lock(mutex_);
    for (Wait* wait : waits_)
      if (wait->slice_ == *unit) wait->results_[job->path] = *result;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<Wait*> waits_;
  Status lost_;
  std::unique_ptr<dbus::Bus> bus_;  // its callbacks use the members above
  std::unique_ptr<dbus::Watch> removed_;
};

SystemdSlices::~SystemdSlices() = default;

StatusOr<std::shared_ptr<SystemdSlices::Link>> SystemdSlices::GetLink(Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (link_ != nullptr && !link_->lost()) return link_;
  link_.reset();
  auto made = std::make_shared<Link>();
  if (Status opened = made->Open(connect_, deadline); !opened.ok()) return opened;
  link_ = std::move(made);
  return link_;
}

Status SystemdSlices::RunJob(const std::string& slice, const dbus::MethodCall& call,
                             Deadline deadline) {
  const auto link = GetLink(deadline);
  if (!link.ok()) return link.status();
  Link::Wait wait(**link, slice);
  const auto reply = (*link)->bus().Call(call, deadline);
  if (!reply.ok()) return reply.status();
  const auto job = dbus::Get<dbus::ObjectPath>(*reply, 0);
  RETURN_IF_ERROR(job, "{}", call.member);
  const auto result = wait.For(job->path, Remaining(clock_, deadline));
  RETURN_IF_ERROR(result, "{}", call.member);
  // "skipped": there was nothing to do.
  if (*result == "done" || *result == "skipped") return OkStatus();
  return Aborted("{}: systemd ended the job as \"{}\"", call.member, *result);
}

Status SystemdSlices::Start(const std::string& slice, const std::string& parent) {
  const Deadline deadline = After(clock_, timeout_);
  const dbus::Value replace("replace");
  FAIL_POINT("slice.start.before");
  Status started =
      RunJob(slice,
             CallOf("StartTransientUnit", {dbus::Value(slice), replace,
                                           dbus::Array("(sv)", StartProperties(slice, parent)),
                                           dbus::Array("(sa(sv))", {})}),
             deadline);
  // The unit is loaded but may not run: it is the parent of another unit, or was stopped.
  if (started.code() == StatusCode::kAlreadyExists)
    started = RunJob(slice, CallOf("StartUnit", {dbus::Value(slice), replace}), deadline);
  RETURN_IF_ERROR(started, "{}", slice);
  FAIL_POINT("slice.start.after");
  return OkStatus();
}

Status SystemdSlices::Set(const std::string& slice, Version version, const Limits& limits) {
  const dbus::Values properties = SliceProperties(version, limits);
  if (properties.empty()) return OkStatus();
  const Deadline deadline = After(clock_, timeout_);
  const auto link = GetLink(deadline);
  RETURN_IF_ERROR(link, "{}", slice);
  constexpr bool kUntilReboot = true;
  RETURN_IF_ERROR((*link)->bus().Call(
                      CallOf("SetUnitProperties", {dbus::Value(slice), dbus::Value(kUntilReboot),
                                                   dbus::Array("(sv)", properties)}),
                      deadline),
                  "{}", slice);
  return OkStatus();
}

Status SystemdSlices::Stop(const std::string& slice) {
  FAIL_POINT("slice.stop.before");
  const Status stopped =
      RunJob(slice, CallOf("StopUnit", {dbus::Value(slice), dbus::Value("replace")}),
             After(clock_, timeout_));
  if (stopped.code() != StatusCode::kNotFound) RETURN_IF_ERROR(stopped, "{}", slice);
  FAIL_POINT("slice.stop.after");
  return OkStatus();
}

}  // namespace splitlet::cgroup
