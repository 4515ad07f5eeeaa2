#include "chaos/node/local_faults.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "chaos/node/reboot.h"
#include "chaos/node/text_files.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/operate/command_line.h"
#include "libs/process/process_tree.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;

/// Deadline of a call to the runtime.
constexpr Duration kCallLimit = 3s;
/// Deadline for setting terms; a process that does not answer gets them later.
constexpr Duration kPointLimit = 300ms;
constexpr const char* kFill = "/.chaos-fill";
constexpr const char* kBroken = "{\"kind\": \"Pod\", \"spec\": [broken on purpose";

uint64_t AddressSpaceOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Some processes never make the calls of other faults' points.
bool IsNeeded(FaultKind kind) {
  return kind == FaultKind::kFailPoint || kind == FaultKind::kClockJump;
}

}  // namespace

LocalFaults::LocalFaults(const LocalFaultsDeps& deps)
    : deps_(deps),
      partition_(deps.paths.top, deps.client.layout().bus.url),
      points_(
          {.pid_of = [this](const auto& name) { return deps_.supervisor.PidOf(name).value_or(0); },
           .is_stopped = operate::IsStopped,
           .set =
               [this](const auto& name, const auto& point) {
                 return deps_.client.SetFault(name, point.name, point.term, kPointLimit).status();
               }}) {}

Status LocalFaults::CanDo(const Action& action) {
  switch (action.kind) {
    case FaultKind::kKill:
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kRestart: {
      const auto pid = deps_.supervisor.PidOf(action.target);
      return pid.ok() ? OkStatus()
                      : Annotate(pid.status(),
                                 "this stack has no such service (was it started with its own "
                                 "RUNTIME_ENDPOINT?)");
    }
    case FaultKind::kFailPoint:
    case FaultKind::kSlowRuntime:
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump: return CanSetPoints(action);
    case FaultKind::kFillDisk: return CanFill(action.target);
    case FaultKind::kReboot:
      return deps_.paths.containerd().empty()
                 ? FailedPrecondition("the runtime is not the stack's own: {}",
                                      deps_.paths.endpoint)
                 : OkStatus();
    case FaultKind::kTakePort:
      return action.target == "containerd" ? InvalidArgument("{} has no port", action.target)
                                           : OkStatus();
    case FaultKind::kLimitMemory:
    case FaultKind::kHangPod:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kBreakManifest:
    case FaultKind::kFlood:
    case FaultKind::kCollect:
    case FaultKind::kUpgrade: return OkStatus();
    case FaultKind::kPartition:
      if (action.target != kApiServer) return partition_.CanCut();
      [[fallthrough]];
    case FaultKind::kServerAnswers:
    case FaultKind::kEndWatches:
      return deps_.server.exists() ? OkStatus() : FailedPrecondition("the stack has no API server");
  }
  UNREACHABLE();
}

Status LocalFaults::CanSetPoints(const Action& action) {
  auto& names = point_names_[action.target];
  if (names.empty()) {
    const auto list = deps_.client.ListFaults(action.target);
    if (!list.ok()) return list.status();
    for (const auto& fault : (*list)->faults()) names.insert(fault.name());
    // Checks the configuration for permission, without changing anything.
    if (const auto tried = deps_.client.SetFault(action.target, *names.begin(), "off"); !tried.ok())
      return Annotate(tried.status(),
                      "fail points are locked: remove splitlet.lockFailPoints from the "
                      "configuration of this stack");
  }
  for (const auto& point : action.points)
    if (!names.contains(point.name) && IsNeeded(action.kind))
      return InvalidArgument("{} has no fail point {} (splitletctl fault list {} shows them)",
                             action.target, point.name, action.target);
  return OkStatus();
}

std::string LocalFaults::FolderOf(const std::string& name) const {
  if (name == "state") return deps_.paths.state;
  if (name == "run") return deps_.paths.run;
  if (name == "log") return deps_.paths.logs;
  if (name == "kubelet") return deps_.paths.root;  // the folder that holds volumes
  return deps_.paths.manifests;
}

Status LocalFaults::CanFill(const std::string& name) const {
  const std::string folder = FolderOf(name);
  struct stat own {
  }, parent{};
  if (stat(folder.c_str(), &own) != 0 || stat((folder + "/..").c_str(), &parent) != 0)
    return Annotate(ErrnoStatus(errno), folder);
  if (own.st_dev == parent.st_dev)
    return FailedPrecondition(
        "{} is not a separate file system, and filling it would fill the machine's (mount one "
        "there "
        "before the stack starts, as tests/chaos/run.sh does)",
        folder);
  return OkStatus();
}

Status LocalFaults::Begin(const Action& action) {
  switch (action.kind) {
    case FaultKind::kKill: return deps_.supervisor.Signal(action.target, SIGKILL).status();
    case FaultKind::kPause: return deps_.supervisor.Signal(action.target, SIGSTOP).status();
    case FaultKind::kDown: return deps_.supervisor.TakeDown(action.target);
    case FaultKind::kRestart: return EndToRestart(action.target);
    case FaultKind::kFailPoint:
    case FaultKind::kSlowRuntime:
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump: return SetPoints(action, true);
    case FaultKind::kPartition: return Cut(action.target);
    case FaultKind::kFillDisk: return Fill(action.target);
    case FaultKind::kLimitMemory: return LimitMemory(action, true);
    case FaultKind::kHangPod: return HangPod(action, true);
    case FaultKind::kEndContainer: return EndContainer(action.target);
    case FaultKind::kRemoveContainer: return RemoveContainer(action.target);
    case FaultKind::kBreakManifest: return BreakManifest(action.target, true);
    case FaultKind::kTakePort: return TakePort(action.target, true);
    case FaultKind::kFlood: return Flood(action.target, true);
    case FaultKind::kCollect: return Collect();
    case FaultKind::kUpgrade: return Upgrade(action.target, true);
    case FaultKind::kReboot: return Reboot(deps_.paths, deps_.supervisor);
    case FaultKind::kServerAnswers: return deps_.server.Set(action.points[0].term);
    case FaultKind::kEndWatches: return deps_.server.EndWatches(action.points[0].term);
  }
  UNREACHABLE();
}

Status LocalFaults::End(const Action& action) {
  switch (action.kind) {
    case FaultKind::kPause: {
      const auto pid = deps_.supervisor.PidOf(action.target);
      if (!pid.ok() || *pid == 0 || !operate::IsStopped(*pid))
        return OkStatus();  // killing a process ends with the process: nothing to undo
      return deps_.supervisor.Signal(action.target, SIGCONT).status();
    }
    case FaultKind::kDown: return deps_.supervisor.BringUp(action.target);
    case FaultKind::kFailPoint:
    case FaultKind::kSlowRuntime:
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump: return SetPoints(action, false);
    case FaultKind::kPartition: return partition_.Heal(action.target);
    case FaultKind::kFillDisk:
      return unlink((FolderOf(action.target) + kFill).c_str()) == 0 ? OkStatus()
                                                                    : ErrnoStatus(errno);
    case FaultKind::kLimitMemory: return LimitMemory(action, false);
    case FaultKind::kHangPod: return HangPod(action, false);
    case FaultKind::kBreakManifest: return BreakManifest(action.target, false);
    case FaultKind::kTakePort: return TakePort(action.target, false);
    case FaultKind::kFlood: return Flood(action.target, false);
    case FaultKind::kUpgrade: return Upgrade(action.target, false);
    case FaultKind::kServerAnswers: return deps_.server.Unset(action.points[0].term);
    case FaultKind::kKill:
    case FaultKind::kRestart:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kCollect:
    case FaultKind::kEndWatches:
    case FaultKind::kReboot: return OkStatus();
  }
  UNREACHABLE();
}

Status LocalFaults::Again(const Action& action) {
  switch (action.kind) {
    case FaultKind::kFailPoint:
    case FaultKind::kSlowRuntime:
    case FaultKind::kLoseMessages:
    case FaultKind::kDelayMessages:
    case FaultKind::kClockJump:
    case FaultKind::kPartition:
    case FaultKind::kLimitMemory: return Begin(action);
    case FaultKind::kKill:
    case FaultKind::kPause:
    case FaultKind::kDown:
    case FaultKind::kRestart:
    case FaultKind::kFillDisk:
    case FaultKind::kHangPod:
    case FaultKind::kEndContainer:
    case FaultKind::kRemoveContainer:
    case FaultKind::kBreakManifest:
    case FaultKind::kTakePort:
    case FaultKind::kFlood:
    case FaultKind::kCollect:
    case FaultKind::kUpgrade:
    case FaultKind::kReboot:
    case FaultKind::kServerAnswers:  // ApiServer sets the answers again itself
    case FaultKind::kEndWatches: return OkStatus();
  }
  UNREACHABLE();
}

Status LocalFaults::Cut(const std::string& target) {
  if (target == kApiServer) return partition_.CutPort(target, deps_.paths.api_port);
  return partition_.Cut(target, deps_.supervisor.PidOf(target).value_or(0));
}

Status LocalFaults::SetPoints(const Action& action, bool on) {
  if (!on) return points_.Drop(action.target, KeyOf(action));
  const auto& known = point_names_[action.target];
  std::vector<Action::Point> points;
  for (const auto& point : action.points)  // points of calls that this process does not make
    if (known.contains(point.name)) points.push_back(point);
  return points_.Want(action.target, KeyOf(action), points);
}

/// The supervisor starts the process again; the call does not wait.
Status LocalFaults::EndToRestart(const std::string& process) {
  const auto pid = deps_.supervisor.Signal(process, SIGTERM);
  if (pid.ok()) kill(*pid, SIGCONT);  // a paused process takes TERM only after CONT
  return pid.status();
}

Status LocalFaults::Fill(const std::string& name) {
  const std::string path = FolderOf(name) + kFill;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0600);
  if (fd < 0) return Annotate(ErrnoStatus(errno), path);
  struct statvfs usage {};
  off_t size = 0;
  if (fstatvfs(fd, &usage) == 0)
    size = static_cast<off_t>(usage.f_bfree) * static_cast<off_t>(usage.f_frsize);
  for (off_t step = size; step >= 4096;)  // until nothing is left, after the blocks that the file
                                          // itself needs
    if (posix_fallocate(fd, lseek(fd, 0, SEEK_END), step) != 0) step /= 2;
  close(fd);
  return OkStatus();
}

Status LocalFaults::LimitMemory(const Action& action, bool on) {
  ASSIGN_OR_RETURN(const pid_t pid, deps_.supervisor.PidOf(action.target), "limit");
  if (pid == 0) return on ? FailedPrecondition("{} does not run", action.target) : OkStatus();
  rlimit limit{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  if (on) limit.rlim_cur = AddressSpaceOf(pid) + action.bytes;
  return prlimit(pid, RLIMIT_AS, &limit, nullptr) == 0 ? OkStatus() : ErrnoStatus(errno);
}

Status LocalFaults::HangPod(const Action& action, bool on) {
  if (!on) {
    const auto hung = hung_.extract(action.target);
    if (!hung.empty()) kill(hung.mapped(), SIGCONT);
    return OkStatus();
  }
  for (const auto& sandbox : deps_.last.sandboxes) {
    if (sandbox.pod != deps_.paths.FullName(action.target) || !sandbox.ready) continue;
    for (const pid_t shim : process::PidsWith({"containerd-shim", sandbox.id})) {
      if (kill(shim, SIGSTOP) != 0) return ErrnoStatus(errno);
      hung_[action.target] = shim;
      return OkStatus();
    }
  }
  return FailedPrecondition("{} has no sandbox with a shim", action.target);
}

Status LocalFaults::EndContainer(const std::string& pod) {
  for (const auto& c : deps_.last.containers)
    if (c.pod == deps_.paths.FullName(pod) && c.state == SeenContainer::State::kRunning)
      return StopNow(c.id);
  return FailedPrecondition("{} has no running container", pod);
}

/// A running container, else the one that ended last; removed through the runtime, not by the
/// agent.
Status LocalFaults::RemoveContainer(const std::string& pod) {
  const SeenContainer* chosen = nullptr;
  for (const auto& c : deps_.last.containers) {
    if (c.pod != deps_.paths.FullName(pod)) continue;
    const bool runs = c.state == SeenContainer::State::kRunning;
    const bool newer = chosen == nullptr || c.started > chosen->started;
    if (runs || newer) chosen = &c;
    if (runs) break;
  }
  if (chosen == nullptr) return FailedPrecondition("{} has no container", pod);
  if (chosen->state == SeenContainer::State::kRunning)
    RETURN_IF_ERROR(StopNow(chosen->id), "stop {}", chosen->id);
  return RemoveNow(chosen->id);
}

Status LocalFaults::StopNow(const std::string& container) {
  return deps_.runtime.StopContainer(cri::ContainerId(container), 0,
                                     After(deps_.client.clock(), kCallLimit));
}

Status LocalFaults::RemoveNow(const std::string& container) {
  return deps_.runtime.RemoveContainer(cri::ContainerId(container),
                                       After(deps_.client.clock(), kCallLimit));
}

Status LocalFaults::BreakManifest(const std::string& pod, bool on) {
  const std::string path = deps_.paths.ManifestPath(pod);
  if (!on) {
    const auto good = broken_.extract(pod);
    return good.empty() ? OkStatus() : WriteByRename(path, good.mapped());
  }
  const std::string good = ReadAll(path);
  if (good.empty()) return FailedPrecondition("{} has no manifest", pod);
  if (good != kBroken) broken_[pod] = good;
  return WriteByRename(path, kBroken);
}

/// The port of the bus is fixed. Other processes use the taken port as metrics port from their next
/// start.
Status LocalFaults::TakePort(const std::string& process, bool on) {
  const bool bus = process == "nats";
  if (!on) {
    const auto holder = port_holders_.extract(process);
    if (bus || holder.empty()) return OkStatus();
    return ReplaceInScript(process, holder.mapped()->port(), 0);
  }
  if (!bus) {
    ASSIGN_OR_RETURN(auto holder, PortHolder::Take(0), "holder");
    RETURN_IF_ERROR(ReplaceInScript(process, 0, holder->port()), "{}", process);
    port_holders_[process] = std::move(holder);
    return EndToRestart(process);
  }
  const std::string& url = deps_.client.layout().bus.url;
  const auto port = static_cast<uint16_t>(std::strtoul(&url[url.rfind(':') + 1], nullptr, 10));
  RETURN_IF_ERROR(deps_.supervisor.TakeDown(process), "down");
  auto holder = PortHolder::Take(port);
  if (holder.ok()) port_holders_[process] = *std::move(holder);
  RETURN_IF_ERROR(deps_.supervisor.BringUp(process), "up");
  return holder.status();
}

Status LocalFaults::ReplaceInScript(const std::string& process, uint16_t from, uint16_t to) {
  const std::string script = "sv/" + process + "/run";
  std::string text = ReadAll(script);
  const std::string before = fmt::format("--http-address 127.0.0.1:{} ", from);
  const auto at = text.find(before);
  if (at == std::string::npos) return FailedPrecondition("{} has no {}", script, before);
  text.replace(at, before.size(), fmt::format("--http-address 127.0.0.1:{} ", to));
  RETURN_IF_ERROR(WriteByRename(script, text), "{}", script);
  return chmod(script.c_str(), 0755) == 0 ? OkStatus() : ErrnoStatus(errno);
}

StatusOr<pid_t> LocalFaults::Spawn(const std::string& program,
                                   const std::vector<std::string>& words) const {
  std::vector<std::string> all = {program, "--state-dir", deps_.paths.top};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, program.c_str(), &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) return ErrnoStatus(failed);
  return pid;
}

/// Does not wait: a round may take long, and gc may die during it.
Status LocalFaults::Collect() {
  std::erase_if(collecting_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(operate::ProgramPath("splitletctl"), {"gc"}), "collect");
  collecting_.push_back(pid);
  return OkStatus();
}

Status LocalFaults::Flood(const std::string& process, bool on) {
  if (!on) {
    const auto flood = floods_.extract(process);
    if (flood.empty()) return OkStatus();
    kill(flood.mapped(), SIGKILL);
    waitpid(flood.mapped(), nullptr, 0);
    return OkStatus();
  }
  if (floods_.contains(process)) return OkStatus();
  ASSIGN_OR_RETURN(const pid_t pid, Spawn("/proc/self/exe", {"flood", process}), "flood");
  floods_[process] = pid;
  return OkStatus();
}

Status LocalFaults::Upgrade(const std::string& process, bool on) {
  const std::string script = "sv/" + process + "/run";
  if (!on) {
    const auto before = run_scripts_.extract(process);
    if (before.empty()) return OkStatus();
    RETURN_IF_ERROR(WriteByRename(script, before.mapped()), "{}", script);
  } else {
    const std::string text = ReadAll(script);
    const std::string name = "splitlet-" + process;
    const auto end = text.find(name + " ");
    const auto begin = text.rfind(' ', end);
    if (end == std::string::npos || begin == std::string::npos)
      return FailedPrecondition("{} does not name {}", script, name);
    const std::string program = text.substr(begin + 1, end - begin - 1) + name;
    const std::string folder = deps_.paths.work() + "/upgrade";
    std::error_code error;
    stdfs::create_directories(folder, error);
    stdfs::copy_file(program, folder + "/" + name, stdfs::copy_options::overwrite_existing, error);
    if (error) return Annotate(ErrnoStatus(error.value()), program);
    std::string changed = text;
    changed.replace(begin + 1, program.size(), folder + "/" + name);
    run_scripts_.try_emplace(process, text);
    RETURN_IF_ERROR(WriteByRename(script, changed), "{}", script);
  }
  if (chmod(script.c_str(), 0755) != 0) return ErrnoStatus(errno);
  const Status ended = EndToRestart(process);
  // A process that is down uses the new file at its next start.
  return ended.code() == StatusCode::kFailedPrecondition ? OkStatus() : ended;
}

}  // namespace splitlet::chaos
