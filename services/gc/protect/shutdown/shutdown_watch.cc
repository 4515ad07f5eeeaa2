#include "services/gc/protect/shutdown/shutdown_watch.h"

#include <fmt/format.h>

#include <utility>

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"

namespace splitlet::gc {
namespace {

constexpr const char* kShutdownStrand = "shutdown.source";
constexpr Duration kLogindLimit = std::chrono::seconds{5};
constexpr Duration kRetry = std::chrono::seconds{1};
constexpr Duration kFirstAttempt = std::chrono::milliseconds{100};
constexpr int kAttempts = 5;

int64_t SecondsOf(Duration time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

Status WriteDropIn(fs::FileSystem& files, Duration wanted) {
  FAIL_POINT("gc.raise-delay.before");
  const std::string text = fmt::format(
      "# Written by gc of splitlet: pods end before the machine goes down.\n"
      "[Login]\nInhibitDelayMaxSec={}\n",
      SecondsOf(wanted));
  RETURN_IF_ERROR(files.MakeDirs(fs::ParentOf(kLogindDropIn), 0755), "make its folder");
  RETURN_IF_ERROR(files.Replace(kLogindDropIn, text, {.mode = 0644}), "write {}", kLogindDropIn);
  FAIL_POINT("gc.raise-delay.after");
  return OkStatus();
}

Status Reload(ShutdownSource& source, const Deadline& deadline) {
  FAIL_POINT("gc.reload-logind.before");
  RETURN_IF_ERROR(source.Reload(deadline), "reload");
  FAIL_POINT("gc.reload-logind.after");
  return OkStatus();
}

Status TakeLockOf(ShutdownSource& source, const Deadline& deadline) {
  FAIL_POINT("gc.take-lock.before");
  RETURN_IF_ERROR(source.TakeLock(deadline), "take lock");
  FAIL_POINT("gc.take-lock.after");
  return OkStatus();
}

void ReleaseLockOf(ShutdownSource& source) {
  FAIL_POINT_VOID("gc.release-lock.before");
  source.ReleaseLock();
  FAIL_POINT_VOID("gc.release-lock.after");
}

}  // namespace

ShutdownWatch::ShutdownWatch(Deps deps, Duration wanted)
    : deps_(std::move(deps)), wanted_(wanted), asker_(deps_.env.loop, deps_.env.strands) {}

void ShutdownWatch::Connect() {
  const uint64_t connection = ++connection_;
  // Events of the source come on its own threads.
  ShutdownSource::Events events{
      .on_preparing = asker_.Posted<bool>(
          [this, connection](bool preparing) { OnPreparing(connection, preparing); }),
      .on_lost = asker_.Posted<Status>(
          [this, connection](const Status& why) { OnLost(connection, why); })};
  asker_.Ask(
      kShutdownStrand,
      [&source = deps_.source, &clock = deps_.env.clock, events = std::move(events)] {
        return source.Connect(events, After(clock, kLogindLimit));
      },
      [this](const StatusOr<ShutdownSource::State>& state) { OnConnected(state); });
}

void ShutdownWatch::OnPreparing(uint64_t connection, bool preparing) {
  if (connection != connection_) return;
  if (machine_ != Machine::kUnknown) machine_ = preparing ? Machine::kPreparing : Machine::kRuns;
  deps_.on_preparing(preparing);
}

void ShutdownWatch::OnConnected(const StatusOr<ShutdownSource::State>& state) {
  CHECK(deps_.env.loop.IsCurrent());
  if (!state.ok()) return ConnectLater(state.status());
  if (failure_.End()) deps_.env.log.Info("connected to logind again");
  machine_ = state->preparing ? Machine::kPreparing : Machine::kRuns;
  if (!state->preparing && state->max_delay < wanted_ && !std::exchange(raised_, true)) {
    RaiseDelay();
  } else {
    TakeLock();
  }
  deps_.on_preparing(state->preparing);
}

void ShutdownWatch::OnLost(uint64_t connection, const Status& why) {
  if (connection == connection_) ConnectLater(why);
}

void ShutdownWatch::ConnectLater(const Status& why) {
  machine_ = Machine::kUnknown;
  ++connection_;
  deps_.metrics.errors.Add({{"kind", "logind"}}).Increment();
  if (failure_.IsNews(why))
    deps_.env.log.Error(
        "cannot watch logind, will retry: pods are not terminated before a node shutdown until "
        "then",
        {KV("err", why)});
  asker_.RunAfter(kRetry, [this] { Connect(); });
}

void ShutdownWatch::RaiseDelay() {
  asker_.Ask(
      kShutdownStrand,
      [&files = deps_.files, &source = deps_.source, &clock = deps_.env.clock, wanted = wanted_] {
        const Status written = WriteDropIn(files, wanted);
        return written.ok() ? Reload(source, After(clock, kLogindLimit)) : written;
      },
      [this, connection = connection_](const Status& raised) {
        if (connection != connection_) return;
        if (raised.ok()) return ReadDelay(0);
        deps_.env.log.Error("InhibitDelayMaxSec is below shutdownGracePeriod and cannot be raised",
                            {KV("wanted", SecondsOf(wanted_)), KV("err", raised)});
        TakeLock();
      });
}

void ShutdownWatch::ReadDelay(int tries) {
  asker_.RunAfter(kFirstAttempt * (1 << tries), [this, tries, connection = connection_] {
    if (connection != connection_) return;
    asker_.Ask(
        kShutdownStrand,
        [&source = deps_.source, &clock = deps_.env.clock] {
          return source.ReadMaxDelay(After(clock, kLogindLimit));
        },
        [this, tries, connection](const StatusOr<Duration>& delay) {
          if (connection == connection_) OnDelay(tries, delay);
        });
  });
}

void ShutdownWatch::OnDelay(int tries, const StatusOr<Duration>& delay) {
  if (delay.ok() && *delay >= wanted_) return TakeLock();
  if (tries + 1 < kAttempts) return ReadDelay(tries + 1);
  deps_.env.log.Error(
      "InhibitDelayMaxSec is below shutdownGracePeriod",
      {KV("wanted", SecondsOf(wanted_)),
       KV("err", delay.ok() ? FailedPrecondition("logind waits {} s: another file in "
                                                 "logind.conf.d may set the delay",
                                                 SecondsOf(*delay))
                            : delay.status())});
  TakeLock();
}

void ShutdownWatch::TakeLock() {
  if (!wants_lock_) return;
  asker_.Ask(
      kShutdownStrand,
      [&source = deps_.source, &clock = deps_.env.clock] {
        return TakeLockOf(source, After(clock, kLogindLimit));
      },
      [this, connection = connection_](const Status& taken) {
        if (!wants_lock_) return Release();  // Release was called during the call
        if (connection == connection_) OnLock(taken);
      });
}

void ShutdownWatch::OnLock(const Status& taken) {
  if (taken.ok()) return;
  if (machine_ == Machine::kPreparing) {
    // logind gives no lock once the shutdown has begun.
    deps_.env.log.Warn(
        "cannot take logind's inhibitor lock: the node shuts down without waiting for pods",
        {KV("err", taken)});
    return;
  }
  ConnectLater(Annotate(taken, "inhibit"));
}

void ShutdownWatch::Release() {
  wants_lock_ = false;
  asker_.Ask(
      kShutdownStrand, [&source = deps_.source] { ReleaseLockOf(source); }, [] {});
}

void ShutdownWatch::TakeAgain() {
  wants_lock_ = true;
  if (machine_ != Machine::kUnknown) TakeLock();
}

}  // namespace splitlet::gc
