#include "kubelet/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "kubelet/child_table.h"
#include "libs/daemon/supervisor.h"
#include "libs/fs/fd.h"

namespace splitlet::kubelet {
namespace {

constexpr int kCannotRun = 127;
constexpr Duration kLongestPoll = std::chrono::minutes{1};
constexpr size_t kMaxMessage = 4096;

void Say(const std::string& line) {
  const std::string text = "splitlet-kubelet: " + line + "\n";
  std::fputs(text.c_str(), stderr);
}

sigset_t Signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, one);
  return set;
}

StatusOr<fs::Fd> ListenForMessages(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return InvalidArgument("{} is too long", path);
  std::memcpy(address.sun_path, path.data(), path.size());
  fs::Fd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return ErrnoStatus(errno);
  const int on = 1;
  unlink(path.c_str());
  if (setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
      bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return ErrnoStatus(errno);
  return fd;
}

struct Message {
  pid_t pid = 0;
  std::string text;
};

/// nullopt: no message is waiting.
std::optional<Message> Receive(int fd) {
  std::array<char, kMaxMessage> text{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  iovec piece{.iov_base = text.data(), .iov_len = text.size()};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t length = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0) return std::nullopt;
  Message message{0, std::string(text.data(), static_cast<size_t>(length))};
  const cmsghdr* const part = CMSG_FIRSTHDR(&header);
  if (part != nullptr && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
    ucred who{};
    std::memcpy(&who, CMSG_DATA(part), sizeof(who));
    message.pid = who.pid;
  }
  return message;
}

/// Runs between fork and exec of a single-threaded process. Does not return.
[[noreturn]] void Become(const SupervisedProgram& program, const SuperviseOptions& options,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCannotRun);  // the parent died just before
  setpgid(0, 0);                               // Ctrl-C must reach only the parent
  const sigset_t signals = Signals();
  sigprocmask(SIG_UNBLOCK, &signals, nullptr);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS"})
    unsetenv(name);
  if (program.notifies) {
    setenv("NOTIFY_SOCKET", options.notify_path.c_str(), 1);
    const auto limit = std::chrono::duration_cast<std::chrono::microseconds>(options.watchdog);
    setenv("WATCHDOG_USEC", std::to_string(limit.count()).c_str(), 1);
  }
  // In a container the process may lack the capability to drop others.
  if (const Status confined = Confine(program.confinement); !confined.ok())
    Say(fmt::format("cannot reduce the privileges of {}, starting it with more: {}", program.name,
                    splitlet::Message(confined)));
  std::vector<std::string> words = program.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  Say(fmt::format("{}: {}", words[0], std::strerror(errno)));
  _exit(kCannotRun);
}

class Supervision {
 public:
  Supervision(const Clock& clock, const std::vector<SupervisedProgram>& programs,
              const SuperviseOptions& options)
      : clock_(clock),
        programs_(programs),
        options_(options),
        table_(clock, Children(programs), options.watchdog) {}

  Status Run() {
    const sigset_t signals = Signals();
    if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return ErrnoStatus(errno);
    signals_ = fs::Fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.ok()) return ErrnoStatus(errno);
    ASSIGN_OR_RETURN(messages_, ListenForMessages(options_.notify_path), "{}",
                     options_.notify_path);
    ASSIGN_OR_RETURN(period_, daemon::WatchdogPeriod(), "environment");
    fed_ = clock_.Now();
    while (!stopping_) Turn();
    Stop();
    unlink(options_.notify_path.c_str());
    return OkStatus();
  }

 private:
  static std::vector<ChildTable::Child> Children(const std::vector<SupervisedProgram>& programs) {
    std::vector<ChildTable::Child> children;
    for (const SupervisedProgram& program : programs)
      children.push_back({program.name, program.notifies});
    return children;
  }

  void Turn() {
    for (const std::string& name : table_.Due()) Start(name);
    Feed();
    Wait(Timeout());
    for (const pid_t pid : table_.Silent()) {
      Say(fmt::format("process {} sent no watchdog message for {} s, killing it", pid,
                      options_.watchdog / 1s));
      kill(pid, SIGKILL);
    }
    if (reported_ready_ || !table_.AllReady()) return;
    reported_ready_ = true;
    Notify("READY=1");
    Say("ready");
  }

  void Start(const std::string& name) {
    const auto program = std::ranges::find(programs_, name, &SupervisedProgram::name);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) Become(*program, options_, parent);
    if (pid > 0) return table_.OnStarted(name, pid);
    Say(fmt::format("cannot start {}: {}", name, std::strerror(errno)));
    table_.OnCannotStart(name);
  }

  static void Notify(std::string_view message) {
    const Status sent = daemon::NotifySupervisor(message);
    if (!sent.ok()) Say(fmt::format("cannot notify systemd of {}: {}", message, sent));
  }

  void Feed() {
    if (!period_ || clock_.Now() - fed_ < *period_) return;
    fed_ = clock_.Now();
    Notify("WATCHDOG=1");
  }

  Duration Timeout() const {
    Clock::Time next = clock_.Now() + kLongestPoll;
    if (const Clock::Time due = table_.NextDue(); due && due < next) next = due;
    if (period_) next = std::min(next, fed_ + *period_);
    return std::max(next - clock_.Now(), Duration{0});
  }

  void Wait(Duration limit) {
    const int lock = options_.lock == nullptr || stopping_ ? -1 : options_.lock->watch();
    std::array<pollfd, 3> polled = {
        {{signals_.get(), POLLIN, 0}, {messages_.get(), POLLIN, 0}, {lock, POLLIN, 0}}};
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(limit);
    poll(polled.data(), polled.size(), static_cast<int>(millis.count()));
    while (const auto message = Receive(messages_.get()))
      table_.OnMessage(message->pid, message->text);
    ReadSignals();
    Reap();
    if (lock < 0 || !options_.lock->IsContended()) return;
    Say("another process has opened or removed the lock file, ending");
    stopping_ = true;
  }

  void ReadSignals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (stopping_) _exit(1);  // a second signal; the kernel sends TERM to the programs
      stopping_ = true;
    }
  }

  void Reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      Duration again{0};
      const std::string name = table_.OnEnded(pid, &again);
      if (name.empty() || stopping_) continue;
      Say(fmt::format("{} ended ({} {}), starting it again in {} ms", name,
                      WIFSIGNALED(status) ? "signal" : "exit code",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), again / 1ms));
    }
  }

  void Stop() {
    Notify("STOPPING=1");
    for (const bool last : {false, true}) {
      std::vector<std::string> names;
      for (const SupervisedProgram& program : programs_)
        if (program.last == last) names.push_back(program.name);
      End(names);
    }
  }

  void Signal(const std::vector<std::string>& names, int signal) const {
    for (const std::string& name : names)
      if (const pid_t pid = table_.PidOf(name); pid != 0) kill(pid, signal);
  }

  void End(const std::vector<std::string>& names) {
    const auto gone = [this, &names] {
      return std::ranges::all_of(
          names, [this](const std::string& name) { return table_.PidOf(name) == 0; });
    };
    Signal(names, SIGTERM);
    Signal(names, SIGCONT);  // a stopped process takes TERM only after CONT
    const Deadline limit = After(clock_, options_.patience);
    while (!gone() && Remaining(clock_, limit) > Duration{0}) Wait(Remaining(clock_, limit));
    if (gone()) return;
    Signal(names, SIGKILL);
    while (!gone()) Wait(kLongestPoll);
  }

  const Clock& clock_;
  const std::vector<SupervisedProgram>& programs_;
  const SuperviseOptions& options_;
  ChildTable table_;
  fs::Fd signals_{-1}, messages_{-1};
  std::optional<Duration> period_;
  Clock::Time fed_;
  bool reported_ready_ = false, stopping_ = false;
};

}  // namespace

Status Supervise(const Clock& clock, const std::vector<SupervisedProgram>& programs,
                 const SuperviseOptions& options) {
  return Supervision(clock, programs, options).Run();
}

}  // namespace splitlet::kubelet
