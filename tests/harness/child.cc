#include "tests/harness/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "libs/base/status.h"
#include "libs/fs/mount_table.h"

namespace splitlet::harness {
namespace {

// Processes with a sanitizer are several times slower.
constexpr int kSlowness = SPLITLET_SLOWNESS;

// Polling an instrumented process slows it down as much as the caller.
void Nap() { usleep(20'000 * kSlowness); }

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!added.contains(text.substr(0, text.find('=')))) all.push_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

/// Tests and fail points end programs by SIGKILL, stops by SIGTERM.
bool IsCrash(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL && WTERMSIG(status) != SIGTERM;
}

std::vector<std::string> MountsBelow(const std::string& dir) {
  return fs::MountPointsBelow(ReadFile(fs::kMountTable), dir);
}

/// Unmounts the newest mount first. A busy mount is detached from the tree.
void UnmountBelow(const std::string& dir) {
  auto points = MountsBelow(dir);
  std::ranges::reverse(points);
  for (const auto& point : points)
    if (umount2(point.c_str(), UMOUNT_NOFOLLOW) != 0)
      umount2(point.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
}

}  // namespace

// Not by fork, which would copy the page tables of a large instrumented test. setpriv sets the
// parent death signal, which posix_spawn cannot, and then becomes the program.
pid_t Spawn(const Command& command) {
  const std::string output = command.output.empty() ? "/dev/null" : command.output;
  std::vector<std::string> arguments = {"setpriv", "--pdeathsig", "KILL", "--"};
  arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
  auto variables = Environment(command.env);
  const auto argv = Pointers(arguments);
  const auto env = Pointers(variables);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), env.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  CHECK(error == 0, "{} > {}: {}", arguments[0], output, strerror(error));
  return pid;
}

size_t ThreadsOf(pid_t pid) {
  std::error_code gone;
  const std::filesystem::directory_iterator tasks("/proc/" + std::to_string(pid) + "/task", gone);
  return gone ? 0 : static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

int RunToEnd(const Command& command, Duration limit) {
  const pid_t pid = Spawn(command);
  int status = 0;
  const bool ended =
      WaitFor(limit, [pid, &status] { return waitpid(pid, &status, WNOHANG) == pid; });
  if (!ended) {
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The parent death signal comes when the spawning thread ends, so the watcher, which lives as long
// as the keeper, starts all programs.
Keeper::Keeper() : watcher_([this](const std::stop_token& stop) { Watch(stop); }) {}

Keeper::~Keeper() {
  watcher_.request_stop();
  watcher_.join();
  for (auto& [name, kept] : kept_) {
    if (kept.pid == 0) continue;
    kill(kept.pid, SIGCONT);
    kill(-kept.pid, SIGKILL);
    waitpid(kept.pid, nullptr, 0);
  }
}

void Keeper::Start(const std::string& name, Command command) {
  {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[name];
    kept.command = std::move(command);
    kept.wanted = true;
    kept.restarts = -1;
  }
  CHECK(WaitFor(10s, [this, &name] { return PidOf(name) != 0; }), "{} does not start", name);
}

void Keeper::Stop(const std::string& name, Duration grace) {
  {
    const std::lock_guard lock(mutex_);
    Kept& kept = kept_[name];
    kept.wanted = false;
    if (kept.pid != 0) kill(kept.pid, SIGTERM);
  }
  if (WaitFor(grace, [this, &name] { return PidOf(name) == 0; })) return;
  Signal(name, SIGKILL);
  CHECK(WaitFor(10s, [this, &name] { return PidOf(name) == 0; }), "{} does not die", name);
}

void Keeper::Signal(const std::string& name, int signal) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  if (found != kept_.end() && found->second.pid != 0) kill(found->second.pid, signal);
}

pid_t Keeper::PidOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  return found == kept_.end() ? 0 : found->second.pid;
}

int Keeper::RestartsOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(name);
  return found == kept_.end() ? 0 : found->second.restarts;
}

std::string Keeper::Crashes() const {
  const std::lock_guard lock(mutex_);
  return crashes_;
}

void Keeper::Watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Reap();
    usleep(5'000);
  }
}

void Keeper::Reap() {
  const std::lock_guard lock(mutex_);
  for (auto& [name, kept] : kept_) {
    int status = 0;
    if (kept.pid != 0 && waitpid(kept.pid, &status, WNOHANG) == kept.pid) {
      kept.pid = 0;
      if (IsCrash(status)) crashes_ += fmt::format("{}: signal {}\n", name, WTERMSIG(status));
    }
    if (kept.pid == 0 && kept.wanted) {
      kept.pid = Spawn(kept.command);
      ++kept.restarts;
    }
  }
}

bool WaitFor(Duration limit, const std::function<bool()>& condition) {
  const RealClock clock;
  const auto end = clock.Now() + limit * kSlowness;
  while (!condition()) {
    if (clock.Now() >= end) return condition();
    Nap();
  }
  return true;
}

bool HoldsFor(Duration limit, const std::function<bool()>& condition) {
  const RealClock clock;
  const auto end = clock.Now() + limit;
  while (clock.Now() < end) {
    if (!condition()) return false;
    Nap();
  }
  return true;
}

TempDir::TempDir(const std::string& prefix) {
  const char* parent = std::getenv("TMPDIR");
  std::string pattern = fmt::format("{}/{}.XXXXXX", parent != nullptr ? parent : "/tmp", prefix);
  CHECK(mkdtemp(pattern.data()) != nullptr, "mkdtemp {}", pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  if (std::getenv("SPLITLET_KEEP_TEST_DIRS") != nullptr) return;
  // Pods outlive the processes of their node, and so do their mounts. Removing the tree would empty
  // the mounted places and then fail at the mount points.
  UnmountBelow(path_);
  std::error_code error;
  if (const auto left = MountsBelow(path_); !left.empty()) {
    std::cerr << path_ << " is left behind, " << left.front() << " is mounted\n";
    return;
  }
  std::filesystem::remove_all(path_, error);
  if (error) std::cerr << path_ << " is left behind: " << error.message() << "\n";
}

void WriteFile(const std::string& path, const std::string& content) {
  // The prefix hides the file from readers of manifests, which skip hidden files.
  const std::filesystem::path target(path);
  const auto beside = target.parent_path() / ("." + target.filename().string() + ".new");
  std::filesystem::create_directories(target.parent_path());
  std::ofstream(beside, std::ios::binary | std::ios::trunc) << content;
  std::filesystem::rename(beside, target);
}

std::string Identifier(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace splitlet::harness
