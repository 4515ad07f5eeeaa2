#include "libs/process/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

#include "libs/base/one_line.h"
#include "libs/fs/fd.h"

namespace splitlet::process {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMaxErrorText = 512;

struct Pair {
  fs::Fd ours, theirs;
};

StatusOr<Pair> MakeSocketPair() {
  std::array<int, 2> ends{};
  // A socket, and no pipe: writing to one that was closed is an error, and no signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return ErrnoStatus(errno);
  return Pair{fs::Fd(ends[0]), fs::Fd(ends[1])};
}

StatusOr<Pair> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno);
  return Pair{fs::Fd(ends[0]), fs::Fd(ends[1])};
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& more) {
  std::vector<std::string> out;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text(*one);
    if (!more.contains(std::string(text.substr(0, text.find('='))))) out.emplace_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::string FirstWords(const std::string& text) {
  std::string_view said(text);
  said = said.substr(0, std::min(said.size(), kMaxErrorText));
  return OneLine(said.substr(0, said.find_last_not_of(" \r\n") + 1));
}

/// In a process group of its own, with no signal blocked or ignored.
StatusOr<pid_t> Spawn(const Program& program, const std::array<int, 3>& ends) {
  auto words = program.argv;
  auto env = Environment(program.env);
  const auto argv = Pointers(words), envp = Pointers(env);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i)
    posix_spawn_file_actions_adddup2(&actions, ends.at(static_cast<size_t>(i)), i);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, pipe_alone;
  sigemptyset(&none);
  sigemptyset(&pipe_alone);
  sigaddset(&pipe_alone, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipe_alone);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return ErrnoStatus(error);
  return pid;
}

/// One that runs: fed, read and waited for.
class Run {
 public:
  Run(const Program& program, pid_t pid, std::array<fs::Fd, 3> ends)
      : program_(program),
        pid_(pid),
        ended_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
        ends_(std::move(ends)),
        cancelled_(eventfd(0, EFD_CLOEXEC)),
        deadline_(SteadyClock::now() + program.limit) {
    for (const auto& end : ends_) fcntl(end.get(), F_SETFL, O_NONBLOCK);
    if (program.cancel != nullptr)
      listening_ = program.cancel->Add([fd = cancelled_.get()] { eventfd_write(fd, 1); });
  }
  ~Run() {
    if (program_.cancel != nullptr) program_.cancel->Remove(listening_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  StatusOr<std::string> ToEnd() {
    Status trouble = ended_.ok() && cancelled_.ok() ? OkStatus() : ErrnoStatus(errno);
    while (trouble.ok() && !over_) trouble = Turn();
    if (!trouble.ok()) kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
    if (!trouble.ok()) return trouble;
    if (program_.exit_code != nullptr)
      *program_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(out_);
    const std::string how = WIFEXITED(status)
                                ? fmt::format("exit code {}", WEXITSTATUS(status))
                                : fmt::format("killed by signal {}", WTERMSIG(status));
    const std::string said = FirstWords(err_.empty() && !program_.secret_output ? out_ : err_);
    return said.empty() ? Unavailable("{}", how) : Unavailable("{}: {}", how, said);
  }

 private:
  Status Turn() {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - SteadyClock::now());
    if (left.count() <= 0)
      return DeadlineExceeded("no end after {} s",
                              std::chrono::ceil<std::chrono::seconds>(program_.limit).count());
    std::array<pollfd, 5> polled = {{{ends_[0].get(), POLLOUT, 0},
                                     {ends_[1].get(), POLLIN, 0},
                                     {ends_[2].get(), POLLIN, 0},
                                     {ended_.get(), POLLIN, 0},
                                     {cancelled_.get(), POLLIN, 0}}};
    if (poll(polled.data(), polled.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return ErrnoStatus(errno);
    if (polled[4].revents != 0) return Cancelled("given up");
    if (polled[0].revents != 0) Feed();
    if (polled[2].revents != 0) Drain(ends_[2], err_, kMaxErrorText);
    if (polled[1].revents != 0 || polled[3].revents != 0) {
      if (!Drain(ends_[1], out_, program_.max_output_bytes))
        return ResourceExhausted("it printed more than {} bytes", program_.max_output_bytes);
    }
    over_ = polled[3].revents != 0;
    if (over_) Drain(ends_[2], err_, kMaxErrorText);
    return OkStatus();
  }

  /// One that does not want to know all of it has that right.
  void Feed() {
    const ssize_t sent = send(ends_[0].get(), program_.input.data() + fed_,
                              program_.input.size() - fed_, MSG_NOSIGNAL);
    if (sent > 0) fed_ += static_cast<size_t>(sent);
    const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
    if (!again && (sent <= 0 || fed_ == program_.input.size())) ends_[0] = fs::Fd(-1);
  }

  /// What can be read now. False: there was more than `most`, which is dropped.
  static bool Drain(fs::Fd& end, std::string& text, size_t most) {
    std::array<char, 4096> buffer{};
    bool fits = true;
    while (end.ok()) {
      const ssize_t n = read(end.get(), buffer.data(), buffer.size());
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) end = fs::Fd(-1);
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) continue;
      const size_t kept = std::min(static_cast<size_t>(n), most - text.size());
      text.append(buffer.data(), kept);
      fits = fits && kept == static_cast<size_t>(n);
      if (!fits) break;
    }
    return fits;
  }

  const Program& program_;
  const pid_t pid_;
  fs::Fd ended_;
  std::array<fs::Fd, 3> ends_;  // of its stdin, stdout and stderr
  fs::Fd cancelled_;
  int listening_ = 0;
  const SteadyClock::time_point deadline_;
  size_t fed_ = 0;
  std::string out_, err_;
  bool over_ = false;
};

}  // namespace

StatusOr<std::string> RunProgram(const Program& program) {
  CHECK(!program.argv.empty(), "a program to run");
  ASSIGN_OR_RETURN(auto in, MakeSocketPair(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(auto out, MakePipe(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(auto err, MakePipe(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(const pid_t pid,
                   Spawn(program, {in.theirs.get(), out.theirs.get(), err.theirs.get()}), "{}",
                   program.argv[0]);
  for (Pair* pair : {&in, &out, &err}) pair->theirs = fs::Fd(-1);
  Run run(program, pid, {std::move(in.ours), std::move(out.ours), std::move(err.ours)});
  auto printed = run.ToEnd();
  if (!printed.ok()) return Annotate(printed.status(), program.argv[0]);
  return printed;
}

}  // namespace splitlet::process
