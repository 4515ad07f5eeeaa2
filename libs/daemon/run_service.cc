#include "libs/daemon/run_service.h"

#include <fmt/format.h>
#include <malloc.h>
#if defined(SPLITLET_ASAN)
#include <sanitizer/lsan_interface.h>
#endif
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "libs/base/fail_point.h"
#include "libs/daemon/access.h"
#include "libs/daemon/flags.h"
#include "libs/daemon/process.h"
#include "libs/daemon/service.h"
#include "libs/daemon/supervisor.h"
#include "libs/rpc/library.h"

namespace splitlet::daemon {
namespace {

constexpr uint64_t kMaxConfigBytes = 1 << 20;
constexpr unsigned kStopLimitSeconds = 5;

StatusOr<config::KubeletConfig> ReadConfig(const std::string& path, config::Reading reading) {
  if (path.empty()) return config::KubeletConfig{};
  fs::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string content, files.Read(path, kMaxConfigBytes), "{}", path);
  return config::KubeletConfig::Load(path, content, reading);
}

/// Many threads come and go. Each further arena would keep pages of a burst that other threads
/// could use. A single arena is enough for the few allocations at the same time.
void BoundArenas() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // fixed: it would grow with the largest block freed
}

/// Later threads inherit the mask, so only the main thread sees these signals.
sigset_t BlockStopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return set;
}

/// Ends a stop that takes too long: pods are not touched, and the next start recovers anyway.
void LimitStop(const sigset_t& stop_signals) {
  signal(SIGALRM, [](int) { _exit(0); });
  signal(SIGTERM, [](int) { _exit(1); });
  signal(SIGINT, [](int) { _exit(1); });
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);
  alarm(kStopLimitSeconds);
}

/// Locks first: the environment must not override the configuration.
Status SetFailPoints(const config::KubeletConfig& config) {
  if (config.splitlet.lock_fail_points) FailPoints::Current().Lock();
  if (const char* const list = std::getenv("SPLITLET_FAILPOINTS"); list != nullptr)
    RETURN_IF_ERROR(FailPoints::Current().SetAll(list), "SPLITLET_FAILPOINTS");
  return OkStatus();
}

std::string FromEnvironment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Waits for TERM or INT, and feeds the watchdog as long as the loop turns.
void WaitForStop(const Process& process, const sigset_t& stop_signals,
                 std::optional<Duration> watchdog) {
  if (!watchdog) {
    int signal_number = 0;
    while (sigwait(&stop_signals, &signal_number) != 0) {
    }
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*watchdog);
  const timespec period{.tv_sec = seconds.count(), .tv_nsec = (*watchdog - seconds).count()};
  while (sigtimedwait(&stop_signals, nullptr, &period) < 0) {
    if (errno == EAGAIN && process.live())
      process.log().LogIfError(NotifySupervisor("WATCHDOG=1"), "feed the watchdog");
  }
}

Status Run(CommandLine line, const MakeService& make, const sigset_t& stop_signals) {
  const config::Reading reading =
      line.check_only ? config::Reading::kStrict : config::Reading::kLenient;
  ASSIGN_OR_RETURN(config::KubeletConfig config, ReadConfig(line.flags.config_file, reading),
                   "configuration");
  Reconcile(line, config);
  RETURN_IF_ERROR(SetFailPoints(config), "environment");
  ASSIGN_OR_RETURN(const std::optional<Duration> watchdog, WatchdogPeriod(), "environment");
  ASSIGN_OR_RETURN(const auto tracing, PlanTracing(config, FromEnvironment), "tracing");
  if (line.check_only) return OkStatus();
  RETURN_IF_ERROR(Access(line.flags.process, config.splitlet.users, geteuid()).Check(),
                  "configuration: {}", line.flags.config_file);
  rpc::SetUpLibrary();
  Process process(std::move(line.flags), std::move(config), tracing);
  RETURN_IF_ERROR(process.Start(make), "start");
  process.log().LogIfError(NotifySupervisor("READY=1"), "notify the supervisor");
  WaitForStop(process, stop_signals, watchdog);
  LimitStop(stop_signals);
  process.log().LogIfError(NotifySupervisor("STOPPING=1"), "notify the supervisor");
  process.RecordStop();
  process.log().Info("stopping");
  process.Stop();
  return OkStatus();
}

int Fail(const std::string& process, const Status& status) {
  fmt::print(stderr, "splitlet-{}: {}\n", process, Message(status));
  return 1;
}

/// gRPC's own threads never end, and sometimes abort when libraries are torn down at exit. Only the
/// leak check of a sanitizer still has work then.
[[noreturn]] void Leave(int code) {
#if defined(SPLITLET_ASAN)
  __lsan_do_leak_check();
#endif
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace

int RunService(const std::string& process, int argc, char** argv, const MakeService& make) {
  umask(027);
  BoundArenas();
  auto line = ParseCommandLine(process, argc, argv);
  if (!line.ok()) return Fail(process, line.status());
  if (line->print) {
    fmt::print("{}", *line->print);
    return 0;
  }
  const sigset_t stop_signals = BlockStopSignals();
  const Status ran = Run(std::move(*line), make, stop_signals);
  Leave(ran.ok() ? 0 : Fail(process, ran));
}

}  // namespace splitlet::daemon
