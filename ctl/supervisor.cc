#include "ctl/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "ctl/command.h"
#include "libs/base/clock.h"
#include "libs/rpc/rpc.h"

namespace splitlet::ctl {
namespace {

constexpr Duration kPatience = 15s;
constexpr int kLookMs = 20;

bool WaitFor(const std::function<bool()>& condition) {
  const RealClock clock;
  const Deadline deadline = After(clock, kPatience);
  while (!condition()) {
    if (Remaining(clock, deadline) == Duration{0}) return false;
    poll(nullptr, 0, kLookMs);
  }
  return true;
}

std::string FirstWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// Services of the local stack, below <top>/sv; a byte in a pipe is a command.
class Runit final : public Supervisor {
 public:
  std::string Name() const override { return "runit"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    RETURN_IF_ERROR(Check(service), "runit");
    const std::string pid = FirstWord(Home(service) + "/supervise/pid");
    return pid.empty() ? 0 : static_cast<pid_t>(std::strtol(pid.c_str(), nullptr, 10));
  }
  Status TakeDown(const std::string& service) override {
    RETURN_IF_ERROR(Command(service, "dc"), "take {} down", service);  // a paused one hears no TERM
    return Await(service, [this, &service] { return FirstWord(StatPath(service)) == "down"; });
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
  static std::string Home(const std::string& service) { return "sv/" + service; }
  static std::string StatPath(const std::string& service) {
    return Home(service) + "/supervise/stat";
  }
  static Status Check(const std::string& service) {
    std::error_code error;
    if (!std::filesystem::exists(Home(service), error))
      return NotFound("there is no service {} in {}", service,
                      std::filesystem::absolute("sv", error).string());
    return OkStatus();
  }
  static Status Await(const std::string& service, const std::function<bool()>& done) {
    return WaitFor(done)
               ? OkStatus()
               : DeadlineExceeded("{} did not get there in {} s", service, kPatience / 1s);
  }
  Status Command(const std::string& service, std::string_view bytes) {
    RETURN_IF_ERROR(Check(service), "runit");
    const std::string path = Home(service) + "/supervise/control";
    const int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && (errno == ENXIO || errno == ENOENT))
      return FailedPrecondition("runit does not run (make run starts the stack)");
    if (fd < 0) return ErrnoStatus(errno);
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    close(fd);
    return written == static_cast<ssize_t>(bytes.size()) ? OkStatus() : ErrnoStatus(errno);
  }
};

/// Units splitlet-<process>.service.
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
    return RunCommand(std::move(arguments));
  }

  const std::string systemctl_;
};

/// Nobody known: the process that listens on the socket is all there is.
class Unsupervised final : public Supervisor {
 public:
  explicit Unsupervised(std::string run_dir) : run_dir_(std::move(run_dir)) {}
  std::string Name() const override { return "no supervisor"; }

  StatusOr<pid_t> PidOf(const std::string& service) override {
    const std::string path = rpc::SocketPath(run_dir_, service);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
      return InvalidArgument("the path of the socket is too long: {}", path);
    std::memcpy(address.sun_path, path.data(), path.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return ErrnoStatus(errno);
    ucred peer{};
    socklen_t size = sizeof(peer);
    const bool known =
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    close(fd);
    return known ? peer.pid : 0;
  }
  Status TakeDown(const std::string& service) override { return No("take down", service); }
  Status BringUp(const std::string& service) override { return No("bring up", service); }
  Status Restart(const std::string& service) override { return Signal(service, SIGTERM).status(); }

 private:
  static Status No(const char* what, const std::string& service) {
    return Unimplemented("cannot {} {}: no supervisor that is known runs it (runit or systemd)",
                         what, service);
  }
  const std::string run_dir_;
};

}  // namespace

StatusOr<pid_t> Supervisor::Signal(const std::string& service, int signal) {
  ASSIGN_OR_RETURN(const pid_t pid, PidOf(service), "{}", Name());
  if (pid <= 0) return FailedPrecondition("{} does not run", service);
  if (kill(pid, signal) != 0)
    return Annotate(ErrnoStatus(errno), fmt::format("signal {} (pid {})", service, pid));
  return pid;
}

std::unique_ptr<Supervisor> FindSupervisor(const Layout& layout, const std::string& systemctl) {
  std::error_code error;
  if (!layout.top.empty() && std::filesystem::is_directory("sv", error))
    return std::make_unique<Runit>();
  const bool systemd =
      systemctl != "systemctl" || std::filesystem::is_directory("/run/systemd/system", error);
  if (layout.top.empty() && systemd) return std::make_unique<Systemd>(systemctl);
  return std::make_unique<Unsupervised>(layout.run_dir);
}

bool IsStopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'T';
}

}  // namespace splitlet::ctl
