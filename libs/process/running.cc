#include "libs/process/running.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/base/one_line.h"

namespace splitlet::process {

namespace {

constexpr size_t kMaxErrorText = 512;

struct Pair {
  fs::Fd ours, theirs;
};

StatusOr<Pair> MakeSocketPair() {
  std::array<int, 2> ends{};
  // A socket instead of a pipe, because writing to a closed socket is an error and not a signal.
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

/// Starts the program in its own process group, with no signal blocked or ignored.
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

}  // namespace

StatusOr<std::unique_ptr<Running>> Running::Start(const Program& program) {
  CHECK(!program.argv.empty(), "a program to run");
  ASSIGN_OR_RETURN(auto in, MakeSocketPair(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(auto out, MakePipe(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(auto err, MakePipe(), "{}", program.argv[0]);
  ASSIGN_OR_RETURN(const pid_t pid,
                   Spawn(program, {in.theirs.get(), out.theirs.get(), err.theirs.get()}), "{}",
                   program.argv[0]);
  std::unique_ptr<Running> running(
      new Running(program, pid, {std::move(in.ours), std::move(out.ours), std::move(err.ours)}));
  if (running->ended_.ok()) return running;
  const Status why = ErrnoStatus(errno);
  running->Kill();
  return Annotate(why, program.argv[0]);
}

Running::Running(const Program& program, pid_t pid, std::array<fs::Fd, 3> ends)
    : program_(program),
      pid_(pid),
      ended_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))),
      ends_(std::move(ends)) {
  for (const auto& end : ends_) fcntl(end.get(), F_SETFL, O_NONBLOCK);
}

/// A killed program that hangs in the kernel is left to its next parent.
Running::~Running() {
  if (!reaped_) waitpid(pid_, nullptr, WNOHANG);
}

std::array<pollfd, Running::kPolled> Running::Wants() const {
  return {{{ends_[0].get(), POLLOUT, 0},
           {ends_[1].get(), POLLIN, 0},
           {ends_[2].get(), POLLIN, 0},
           {ended_.get(), POLLIN, 0}}};
}

Status Running::OnPolled(const std::array<pollfd, kPolled>& polled) {
  if (polled[0].revents != 0) Feed();
  if (polled[2].revents != 0) Drain(ends_[2], err_, kMaxErrorText);
  if (polled[1].revents != 0 || polled[3].revents != 0) {
    if (!Drain(ends_[1], out_, program_.max_output_bytes))
      return ResourceExhausted("its output exceeds {} bytes", program_.max_output_bytes);
  }
  over_ = polled[3].revents != 0;
  if (over_) Drain(ends_[2], err_, kMaxErrorText);
  return OkStatus();
}

void Running::Kill() {
  killed_ = true;
  kill(-pid_, SIGKILL);
}

StatusOr<std::string> Running::End() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  reaped_ = true;
  if (program_.exit_code != nullptr && !killed_)
    *program_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(out_);
  const std::string how = WIFEXITED(status) ? fmt::format("exit code {}", WEXITSTATUS(status))
                                            : fmt::format("killed by signal {}", WTERMSIG(status));
  const std::string said = FirstWords(err_.empty() && !program_.secret_output ? out_ : err_);
  return said.empty() ? Unavailable("{}", how) : Unavailable("{}: {}", how, said);
}

/// A program may close its stdin early.
void Running::Feed() {
  const ssize_t sent = send(ends_[0].get(), program_.input.data() + fed_,
                            program_.input.size() - fed_, MSG_NOSIGNAL);
  if (sent > 0) fed_ += static_cast<size_t>(sent);
  const bool again = sent < 0 && (errno == EAGAIN || errno == EINTR);
  if (!again && (sent <= 0 || fed_ == program_.input.size())) ends_[0] = fs::Fd(-1);
}

/// Reads available bytes. False: there were more than `most`, and the rest is dropped.
bool Running::Drain(fs::Fd& end, std::string& text, size_t most) {
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

}  // namespace splitlet::process
