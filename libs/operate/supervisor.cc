#include "libs/operate/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "libs/base/clock.h"
#include "libs/operate/caller.h"
#include "libs/process/run_program.h"
#include "libs/rpc/rpc.h"

namespace splitlet::operate {
namespace {

/// Runs a command of the supervisor, which may wait for a process to stop.
StatusOr<std::string> RunTool(std::vector<std::string> argv) {
  const std::string verb = argv.size() > 1 ? argv[1] : argv[0];
  return Annotate(process::RunProgram({.argv = std::move(argv), .limit = std::chrono::minutes{5}}),
                  verb);
}

constexpr Duration kPatience = 15s;
constexpr int kPollMs = 20;

bool WaitFor(const std::function<bool()>& condition) {
  const RealClock clock;
  const Deadline deadline = After(clock, kPatience);
  while (!condition()) {
    if (Remaining(clock, deadline) == Duration{0}) return false;
    poll(nullptr, 0, kPollMs);
  }
  return true;
}

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// Services of the local stack, below <top>/sv; one byte written to a pipe is a command.
class Runit final : public Supervisor {
 public:
  std::string Name() const override { return "runit"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    if (Status known = Check(service); !known.ok()) return known;
    const std::string path = Home(service) + "/supervise/pid";
    if (Status may = CheckMay(Use::kRead, path, Name()); !may.ok()) return may;
    const std::string pid = FirstWord(path);
    return pid.empty() ? 0 : static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10));
  }
  bool IsWanted(const std::string& service) override {
    std::ifstream file(Home(service) + "/supervise/status", std::ios::binary);
    std::array<char, kStatusBytes> status{};
    return file.read(status.data(), status.size()) && status[kWantByte] == 'u';
  }
  Status TakeDown(const std::string& service) override {
    RETURN_IF_ERROR(Command(service, "dc"), "take {} down",
                    service);  // a paused process does not receive TERM
    return Await(service, [&service] { return FirstWord(StatPath(service)) == "down"; });
  }
  Status BringUp(const std::string& service) override {
    RETURN_IF_ERROR(Command(service, "u"), "bring {} up", service);
    return Await(service, [this, &service] { return PidOf(service).value_or(0) != 0; });
  }
  Status Restart(const std::string& service) override {
    const auto before = PidOf(service);
    if (!before.ok()) return before.status();
    RETURN_IF_ERROR(Command(service, "tcu"), "restart {}", service);
    return Await(service, [this, &service, &before] {
      const pid_t now = PidOf(service).value_or(0);
      return now != 0 && now != *before;
    });
  }

 private:
  // Format of runsv's status file, which sv reads too.
  static constexpr size_t kStatusBytes = 20, kWantByte = 17;

  static std::string Home(const std::string& service) { return "sv/" + service; }
  static std::string StatPath(const std::string& service) {
    return Home(service) + "/supervise/stat";
  }
  Status Check(const std::string& service) const {
    std::error_code error;
    if (Status may = CheckMay(Use::kRead, Home(service), Name()); !may.ok()) return may;
    if (!std::filesystem::exists(Home(service), error))
      return NotFound("there is no service {} in {}", service,
                      std::filesystem::absolute("sv", error).string());
    return OkStatus();
  }
  static Status Await(const std::string& service, const std::function<bool()>& done) {
    return WaitFor(done)
               ? OkStatus()
               : DeadlineExceeded("{} did not reach that state in {} s", service, kPatience / 1s);
  }
  Status Command(const std::string& service, std::string_view bytes) {
    if (Status known = Check(service); !known.ok()) return known;
    const std::string path = Home(service) + "/supervise/control";
    const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENXIO || errno == ENOENT))
      return FailedPrecondition("runit does not run (make run starts the stack)");
    if (fd < 0 && errno == EACCES) return RefusedBy(Name(), WhoMay(Use::kWrite, path));
    if (fd < 0) return ErrnoStatus(errno);
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    close(fd);
    return written == static_cast<ssize_t>(bytes.size()) ? OkStatus() : ErrnoStatus(errno);
  }
};

/// Supervises units splitlet-<process>.service.
class Systemd final : public Supervisor {
 public:
  explicit Systemd(std::string systemctl) : systemctl_(std::move(systemctl)) {}
  std::string Name() const override { return "systemd"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    ASSIGN_OR_RETURN(const std::string out,
                     Run({"show", "--property=LoadState,MainPID", "--value", Unit(service)}),
                     "systemctl");
    if (out.find("not-found") != std::string::npos)
      return NotFound("systemd has no unit {}", Unit(service));
    const auto digit = out.find_first_of("0123456789");
    return digit == std::string::npos
               ? 0
               : static_cast<pid_t>(std::strtol(out.c_str() + digit, nullptr, 10));
  }
  bool IsWanted(const std::string& service) override {
    const auto state = Run({"show", "--property=ActiveState", "--value", Unit(service)});
    return state.ok() && (state->starts_with("active") || state->starts_with("activating"));
  }
  Status TakeDown(const std::string& service) override { return Do("stop", service); }
  Status BringUp(const std::string& service) override { return Do("start", service); }
  Status Restart(const std::string& service) override { return Do("restart", service); }

 private:
  static std::string Unit(const std::string& service) {
    const bool ours = service != "nats" && service != "containerd";
    if (service == "nats") return "splitlet-nats.service";
    return ours ? "splitlet-" + service + ".service" : service + ".service";
  }
  Status Do(const char* verb, const std::string& service) {
    return Run({verb, Unit(service)}).status();
  }
  StatusOr<std::string> Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), systemctl_);
    return RunTool(std::move(arguments));
  }

  const std::string systemctl_;
};

/// Supervises containers of docker compose, found by their labels: those of the project whose
/// folder contains the stack's. Signals go to the process and not to the container, because docker
/// does not restart a container that it was asked to kill.
class Compose final : public Supervisor {
 public:
  explicit Compose(std::string docker) : docker_(std::move(docker)) {}
  std::string Name() const override { return "docker compose"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    const auto container = Find(service);
    if (!container.ok()) return container.status();
    if (!container->runs) return 0;
    // Pids on the host. The container's first process is only the reaper.
    const auto table = Run({"top", container->id, "-eo", "pid,comm"});
    if (!table.ok()) return table.status();
    const std::string wanted = Program(service).substr(0, kCommLimit);
    std::istringstream lines(*table);
    pid_t pid = 0;
    for (std::string line, name; std::getline(lines, line);)
      if (std::istringstream(line) >> pid >> name && name == wanted) return pid;
    return 0;
  }
  bool IsWanted(const std::string& service) override {
    const auto container = Find(service);
    return container.ok() && (container->runs || container->restarts);
  }
  Status TakeDown(const std::string& service) override {
    if (service == kRuntime)
      return Unimplemented("cannot take {} down: all pods would end with its container; use stop",
                           service);
    return Switch("stop", service);
  }
  Status BringUp(const std::string& service) override {
    const Status started = Switch("start", service);
    return started.ok() ? AwaitOther(service, 0) : started;
  }
  /// Keeps the runtime's container, because pods use its namespaces: a script inside restarts
  /// containerd.
  Status Restart(const std::string& service) override {
    const auto before = PidOf(service);
    if (!before.ok()) return before.status();
    const bool stays = service == kRuntime;
    const Status asked = stays ? Signal(service, SIGTERM).status() : Switch("restart", service);
    if (!asked.ok()) return asked;
    if (stays) RETURN_IF_ERROR(Wake(service), "restart {}", service);
    return AwaitOther(service, *before);
  }

 private:
  static constexpr const char* kRuntime = "containerd";
  static constexpr size_t kCommLimit = 15;  // the kernel truncates a program's name to this length
  struct Container {
    std::string id;
    bool runs = false, restarts = false;
  };

  static std::string Program(const std::string& service) {
    if (service == "nats") return "nats-server";
    return service == kRuntime ? service : "splitlet-" + service;
  }

  StatusOr<Container> Find(const std::string& service) {
    const std::string name = service == kRuntime ? "runtime" : service;
    const auto table =
        Run({"ps", "--all", "--no-trunc", "--filter", "label=com.docker.compose.service=" + name,
             "--filter", "label=com.docker.compose.oneoff=False", "--format",
             "{{.ID}}\t{{.Status}}\t{{.Label \"com.docker.compose.project.working_dir\"}}"});
    if (!table.ok()) return table.status();
    std::istringstream lines(*table);
    std::error_code error;
    for (std::string id, status, folder; std::getline(lines, id, '\t') &&
                                         std::getline(lines, status, '\t') &&
                                         std::getline(lines, folder);)
      if (std::filesystem::equivalent(folder, "..", error))
        return Container{.id = id,
                         .runs = status.starts_with("Up"),
                         .restarts = status.starts_with("Restarting")};
    return NotFound("docker has no container {} of the stack in {} (docker compose up makes it)",
                    name, std::filesystem::absolute("..", error).lexically_normal().string());
  }

  /// A paused process does not receive TERM.
  Status Wake(const std::string& service) {
    const Status awake = Signal(service, SIGCONT).status();
    return awake.code() == StatusCode::kFailedPrecondition ? OkStatus() : awake;
  }
  Status Switch(const char* verb, const std::string& service) {
    const auto container = Find(service);
    if (!container.ok()) return container.status();
    RETURN_IF_ERROR(Wake(service), "{}", verb);
    return Run({verb, container->id}).status();
  }
  Status AwaitOther(const std::string& service, pid_t before) {
    const bool came = WaitFor([this, &service, before] {
      const pid_t now = PidOf(service).value_or(0);
      return now != 0 && now != before;
    });
    return came ? OkStatus()
                : DeadlineExceeded("{} did not come up in {} s", service, kPatience / 1s);
  }
  StatusOr<std::string> Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), docker_);
    auto out = RunTool(std::move(arguments));
    const bool refused =
        !out.ok() && Message(out.status()).find("permission denied") != std::string::npos;
    if (refused)
      return PermissionDenied("no permission to speak to the docker daemon: run as root");
    return out;
  }

  const std::string docker_;
};

/// Without a known supervisor: only the process that listens on the socket is known.
class Unsupervised final : public Supervisor {
 public:
  explicit Unsupervised(std::string run_dir) : run_dir_(std::move(run_dir)) {}
  std::string Name() const override { return "no supervisor"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    const auto listener = rpc::ListenerOf(rpc::SocketPath(run_dir_, service));
    if (listener.status().code() == StatusCode::kUnavailable) return 0;
    if (listener.status().code() == StatusCode::kPermissionDenied)
      return RefusedBy(service, WhoMay(Use::kConnect, rpc::SocketPath(run_dir_, service)));
    if (!listener.ok()) return listener.status();
    if (listener->pid == 0)
      return FailedPrecondition(
          "{} listens, but its process is not visible here: run splitletctl on the host", service);
    return listener->pid;
  }
  bool IsWanted(const std::string&) override { return false; }
  Status TakeDown(const std::string& service) override { return No("take down", service); }
  Status BringUp(const std::string& service) override { return No("bring up", service); }
  Status Restart(const std::string& service) override { return Signal(service, SIGTERM).status(); }

 private:
  static Status No(const char* what, const std::string& service) {
    return Unimplemented(
        "cannot {} {}: it has no known supervisor (runit, systemd, docker compose)", what, service);
  }
  const std::string run_dir_;
};

}  // namespace

StatusOr<pid_t> Supervisor::Signal(const std::string& service, int signal) {
  const auto found = PidOf(service);
  if (found.status().code() == StatusCode::kPermissionDenied) return found.status();
  ASSIGN_OR_RETURN(const pid_t pid, found, "{}", Name());
  if (pid <= 0) return FailedPrecondition("{} does not run", service);
  if (kill(pid, signal) == 0) return pid;
  if (errno == EPERM)
    return RefusedBy(service, fmt::format("its process {} is another user's", pid));
  return Annotate(ErrnoStatus(errno), fmt::format("signal {} (pid {})", service, pid));
}

std::unique_ptr<Supervisor> FindSupervisor(const Layout& layout,
                                           const SupervisorPrograms& programs) {
  std::error_code error;
  if (layout.compose) return std::make_unique<Compose>(programs.docker);
  if (!layout.top.empty() && std::filesystem::is_directory("sv", error))
    return std::make_unique<Runit>();
  const bool systemd = programs.systemctl != "systemctl" ||
                       std::filesystem::is_directory("/run/systemd/system", error);
  if (layout.top.empty() && systemd) return std::make_unique<Systemd>(programs.systemctl);
  return std::make_unique<Unsupervised>(layout.run_dir);
}

bool IsStopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'T';
}

}  // namespace splitlet::operate
