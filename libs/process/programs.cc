#include "libs/process/programs.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include "libs/fs/state_id.h"

namespace splitlet::process {

namespace {

constexpr uint64_t kMaxMarkId = 64;

/// In the environment of each program: "<mark>\n<owner>\n<what>".
constexpr const char* kMarkVariable = "SPLITLET_PROGRAM";

std::string MarkOf(const std::string& mark, const ProgramKey& key) {
  return fmt::format("{}\n{}\n{}", mark, key.owner, key.what);
}

/// The key in a process's environment, if it carries this mark.
std::optional<ProgramKey> KeyIn(const std::string& environment, const std::string& mark) {
  const std::string begin = fmt::format("{}={}\n", kMarkVariable, mark);
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string one = environment.substr(at, end - at);
    at = end + 1;
    if (!one.starts_with(begin)) continue;
    const size_t line = one.find('\n', begin.size());
    if (line == std::string::npos) return std::nullopt;
    return ProgramKey{one.substr(begin.size(), line - begin.size()), one.substr(line + 1)};
  }
  return std::nullopt;
}

/// A daemon that a program started leads a session of its own; it is left running.
bool IsOfItsParentsSession(pid_t pid) { return getpgid(pid) != getsid(pid); }

/// Processes of a pod with hostPID are visible here too.
bool IsInAPod(pid_t pid, const std::string& proc) {
  return ReadProcFile(pid, "cgroup", proc).find("kubepods") != std::string::npos;
}

bool IsMarkId(const std::string& id) {
  return !id.empty() && id.find_first_not_of("0123456789abcdef-") == std::string::npos;
}

}  // namespace

ProgramMark MakeProgramMark(fs::FileSystem& files, const std::string& folder) {
  const std::string path = folder + "/program-mark";
  const auto known = files.Read(path, kMaxMarkId);
  if (known.ok() && IsMarkId(*known)) return {folder + " " + *known, OkStatus()};
  const auto fresh = fs::RandomStateId(files);
  if (!fresh.ok()) return {folder, fresh.status()};
  Status kept = known.status();
  if (known.ok() || kept.code() == StatusCode::kNotFound)
    kept = files.Replace(path, *fresh, {.mode = 0600});
  return {folder + " " + *fresh, Annotate(kept, path)};
}

RealPrograms::RealPrograms(Options options)
    : options_(std::move(options)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(wake_.ok(), "an eventfd");
  FindLeft();
}

RealPrograms::~RealPrograms() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [key, entry] : entries_)
      if (entry.running != nullptr) entry.running->Kill();
  }
  Wake();
  if (watcher_.joinable()) watcher_.join();
}

void RealPrograms::FindLeft() {
  const std::lock_guard lock(mutex_);
  const std::string& proc = options_.proc;
  const bool in_a_pod = IsInAPod(getpid(), proc);
  size_t found = 0;
  for (const pid_t pid : AllPids(proc)) {
    if (found == options_.most_left) break;
    if (!IsOfOurNamespaceAndUser(pid, proc) || !IsOfItsParentsSession(pid)) continue;
    if (!in_a_pod && IsInAPod(pid, proc)) continue;
    fs::Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (!process.ok()) continue;
    const auto key = KeyIn(ReadProcFile(pid, "environ", proc), options_.mark);
    if (!key) continue;
    entries_[*key].left.push_back(std::move(process));
    ++found;
  }
  if (!entries_.empty()) EnsureWatched();
}

std::optional<StatusOr<std::string>> RealPrograms::Run(const ProgramKey& key,
                                                       const Program& program) {
  const std::lock_guard lock(mutex_);
  if (const auto known = entries_.find(key); known != entries_.end()) {
    Entry& entry = known->second;
    entry.dropped = false;
    if (!entry.deadline && entry.runs()) {
      entry.deadline = options_.clock.Now() + program.limit;
      entry.program = program;
      Wake();
    }
    if (!entry.given) return std::nullopt;
    auto given = *entry.given;
    entry.dropped = true;
    if (!entry.runs()) entries_.erase(known);
    return given;
  }
  Entry& entry = entries_[key];
  entry.program = program;
  entry.program.cancel = nullptr;
  entry.program.env[kMarkVariable] = MarkOf(options_.mark, key);
  auto running = Running::Start(entry.program);
  if (!running.ok()) {
    entries_.erase(key);
    return running.status();
  }
  entry.running = *std::move(running);
  entry.deadline = options_.clock.Now() + program.limit;
  EnsureWatched();
  return std::nullopt;
}

bool RealPrograms::Knows(const ProgramKey& key) const {
  const std::lock_guard lock(mutex_);
  return entries_.contains(key);
}

bool RealPrograms::Forget(const ProgramKey& key) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(key);
  if (known == entries_.end()) return true;
  if (known->second.runs()) {
    Kill(known->second);
    known->second.dropped = true;
    return false;
  }
  entries_.erase(known);
  return true;
}

void RealPrograms::Kill(const Entry& entry) {
  if (entry.running != nullptr) entry.running->Kill();
  for (const auto& process : entry.left)
    syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

void RealPrograms::EnsureWatched() {
  if (watching_ || stopping_) return Wake();
  if (watcher_.joinable()) watcher_.join();
  watching_ = true;
  watcher_ = std::thread([this] { Watch(); });
}

void RealPrograms::Wake() const { eventfd_write(wake_.get(), 1); }

void RealPrograms::OnEnded(Entry& entry, StatusOr<std::string> given) {
  if (!given.ok() && !entry.program.argv.empty())
    given = Annotate(given.status(), entry.program.argv[0]);
  if (!entry.given) entry.given = std::move(given);
  entry.running.reset();
  entry.left.clear();
}

/// True: on_ended must be called.
bool RealPrograms::OnPolled(Entry& entry, const pollfd* polled) {
  if (entry.running == nullptr) {
    for (size_t i = entry.left.size(); i-- > 0;)
      if (polled[i].revents != 0) entry.left.erase(entry.left.begin() + static_cast<ptrdiff_t>(i));
    if (!entry.left.empty()) return false;
    OnEnded(entry,
            Aborted("started before a restart of this process; it ended with an unknown result"));
    return true;
  }
  std::array<pollfd, Running::kPolled> own{};
  std::copy_n(polled, own.size(), own.begin());
  const Status trouble = entry.running->OnPolled(own);
  if (!trouble.ok() && !entry.given) {
    entry.running->Kill();
    entry.given = Annotate(trouble, entry.program.argv[0]);
  }
  if (!entry.running->over()) return !trouble.ok();
  OnEnded(entry, entry.running->End());
  return true;
}

bool RealPrograms::GiveUpLate(Entry& entry) const {
  if (entry.given || !entry.deadline || options_.clock.Now() < *entry.deadline) return false;
  Kill(entry);
  entry.given = Annotate(NoEndInTime(entry.program), entry.program.argv[0]);
  return true;
}

void RealPrograms::Watch() {
  std::unique_lock lock(mutex_);
  while (!stopping_ &&
         std::ranges::any_of(entries_, [](const auto& each) { return each.second.runs(); }))
    WatchOnce(lock);
  watching_ = false;
}

/// Keeps keys instead of entries during the wait, because entries come and go without the lock.
void RealPrograms::WatchOnce(std::unique_lock<std::mutex>& lock) {
  struct Polled {
    ProgramKey key;
    size_t at, count;
  };
  std::vector<Polled> of;
  std::vector<pollfd> polled = {{wake_.get(), POLLIN, 0}};
  std::optional<Clock::Time> until;
  for (const auto& [key, entry] : entries_) {
    if (!entry.runs()) continue;
    const size_t at = polled.size();
    if (entry.running != nullptr) {
      for (const auto& each : entry.running->Wants()) polled.push_back(each);
    } else {
      for (const auto& process : entry.left) polled.push_back({process.get(), POLLIN, 0});
    }
    of.push_back({key, at, polled.size() - at});
    if (entry.deadline && !entry.given)
      until = std::min(until.value_or(*entry.deadline), *entry.deadline);
  }
  int wait = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - options_.clock.Now());
    wait = static_cast<int>(std::max<int64_t>(left.count(), 0));
  }
  lock.unlock();
  poll(polled.data(), polled.size(), wait);
  lock.lock();
  eventfd_t woken = 0;
  if (polled[0].revents != 0) eventfd_read(wake_.get(), &woken);
  std::vector<std::string> ended;
  for (const auto& [key, at, count] : of) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) continue;
    Entry& entry = found->second;
    bool over = OnPolled(entry, &polled[at]);
    if (entry.runs()) over = GiveUpLate(entry) || over;
    if (over) ended.push_back(key.owner);
    if (entry.dropped && !entry.runs()) entries_.erase(found);
  }
  lock.unlock();
  for (const auto& owner : ended) options_.on_ended(owner);
  lock.lock();
}

}  // namespace splitlet::process
