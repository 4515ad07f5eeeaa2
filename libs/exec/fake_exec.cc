#include "libs/exec/fake_exec.h"

#include <algorithm>

#include "libs/base/status.h"

namespace splitlet::exec {

Scheduler::Owner Scheduler::NewOwner(std::string name) {
  owners_[++last_owner_].name = std::move(name);
  return last_owner_;
}

void Scheduler::Drop(Owner owner) {
  Process& process = owners_.at(owner);
  process.alive = false;
  // Taken out first: the tasks' captures may cancel timers of this owner when they are destroyed.
  const auto dropped = std::exchange(process.lanes, {});
}

void Scheduler::Reboot() {
  CHECK(running_ == nullptr, "a step cannot reboot the machine");
  std::vector<std::map<std::string, Lane>> dropped;  // destroyed last, as in Drop
  for (auto& [owner, process] : owners_) {
    process.not_before = Duration{0};
    dropped.push_back(std::exchange(process.lanes, {}));
  }
}

bool Scheduler::alive(Owner owner) const { return owners_.at(owner).alive; }
void Scheduler::Pause(Owner owner) { owners_.at(owner).paused = true; }
void Scheduler::Resume(Owner owner) { owners_.at(owner).paused = false; }

void Scheduler::Delay(Owner owner, Duration duration) {
  Process& process = owners_.at(owner);
  process.not_before = std::max(process.not_before, clock_.Now().monotonic + duration);
}

void Scheduler::Charge(Duration duration) {
  CHECK(running_ != nullptr, "only a step can be charged");
  clock_.Advance(duration);
  charged_ += duration;
}

uint64_t Scheduler::Add(Owner owner, const std::string& lane, Duration at, Task task) {
  Process& process = owners_.at(owner);
  const uint64_t number = ++last_number_;
  if (process.alive) process.lanes[lane].tasks.emplace(Order{at, number}, std::move(task));
  return number;
}

void Scheduler::Cancel(Owner owner, uint64_t number) {
  const auto lane = owners_.at(owner).lanes.find("");
  if (lane == owners_.at(owner).lanes.end()) return;
  auto& tasks = lane->second.tasks;
  const auto it = std::find_if(tasks.begin(), tasks.end(),
                               [number](const auto& t) { return t.first.second == number; });
  if (it == tasks.end()) return;
  const Task dropped = std::move(it->second);
  tasks.erase(it);
}

template <typename F>
void Scheduler::ForEachReady(Duration by, const F& f) const {
  for (const auto& [owner, process] : owners_) {
    if (!process.alive || process.paused) continue;
    for (const auto& [name, lane] : process.lanes) {
      if (lane.tasks.empty() || lane.running) continue;
      const Order& head = lane.tasks.begin()->first;
      const Duration at = std::max({head.first, lane.free_at, process.not_before});
      if (at <= by) f(Ready{owner, &name, {at, head.second}});
    }
  }
}

Scheduler::Ready Scheduler::First(Duration by) const {
  Ready first;
  ForEachReady(by, [&first](const Ready& ready) {
    if (first.lane == nullptr || ready.order < first.order) first = ready;
  });
  return first;
}

Scheduler::Ready Scheduler::AnyOf(Duration by) const {
  std::vector<Ready> all;
  ForEachReady(by, [&all](const Ready& ready) { all.push_back(ready); });
  return all.empty() ? Ready{} : all[random_->Below(all.size())];
}

void Scheduler::Run(const Ready& ready) {
  Process& process = owners_.at(ready.owner);
  const auto at = process.lanes.find(*ready.lane);
  Lane& lane = at->second;
  const Task task = std::move(lane.tasks.begin()->second);
  lane.tasks.erase(lane.tasks.begin());
  lane.running = true;
  const Step step{ready.owner, process.name, at->first};
  ++steps_;
  if (before_) before_(step);
  running_ = &step;
  charged_ = Duration{0};
  ++depth_;
  bool crashed = false;
  try {
    task();
  } catch (const CrashedHere&) {
    crashed = true;
    Drop(ready.owner);
  }
  running_ = nullptr;
  --depth_;
  const auto it = process.lanes.find(step.strand);  // gone when the step dropped its owner
  if (it != process.lanes.end()) {
    it->second.running = false;
    it->second.free_at = clock_.Now().monotonic;
    // A lane whose time is charged keeps being busy; an idle strand is forgotten.
    if (charged_ == Duration{0} && it->second.tasks.empty()) process.lanes.erase(it);
  }
  clock_.Advance(-charged_);
  if (after_) after_(step, crashed);
}

bool Scheduler::WaitInStep(Clock::Time until, const std::function<bool()>& done) {
  CHECK(running_ != nullptr, "only a step can wait");
  const Step* const waiting = std::exchange(running_, nullptr);
  bool held = done();
  while (!held && alive(waiting->owner)) {
    if (!RunOne()) {
      const Clock::Time next = NextDue();
      const Clock::Time now = clock_.Now();
      if (now >= until) break;
      clock_.Advance((next && next < until ? next : until) - now);
    }
    held = done();
  }
  // Time that the wait charged has passed for all lanes; the end of the step does not undo it.
  charged_ = Duration{0};
  running_ = waiting;
  if (!alive(waiting->owner)) throw CrashedHere{};
  return held;
}

bool Scheduler::RunOne() {
  CHECK(running_ == nullptr, "a step cannot run another");
  const Duration now = clock_.Now().monotonic;
  const Ready next = random_ != nullptr ? AnyOf(now) : First(now);
  if (next.lane == nullptr) return false;
  Run(next);
  return true;
}

void Scheduler::RunUntilIdle() {
  const uint64_t before = steps_;
  while (RunOne()) CHECK(steps_ - before < kMaxStepsAtOnce, "tasks post each other without end");
}

Clock::Time Scheduler::NextDue() const {
  const Clock::Time now = clock_.Now();
  const Ready first = First(Duration::max());
  if (first.lane == nullptr) return {};
  return {now.boot, std::max(now.monotonic, first.order.first)};
}

void Scheduler::Advance(Duration duration) {
  const Clock::Time end = clock_.Now() + duration;
  RunUntilIdle();
  for (Clock::Time next = NextDue(); next && next <= end; next = NextDue()) {
    clock_.Advance(next - clock_.Now());
    RunUntilIdle();
  }
  clock_.Advance(end - clock_.Now());
}

FakeLoop::FakeLoop(FakeClock& clock)
    : own_(std::make_unique<Scheduler>(clock)), scheduler_(*own_), owner_(own_->NewOwner("test")) {}

FakeLoop::FakeLoop(Scheduler& scheduler, Scheduler::Owner owner)
    : scheduler_(scheduler), owner_(owner) {}

FakeLoop::~FakeLoop() { scheduler_.Drop(owner_); }

void FakeLoop::Post(Task task) {
  scheduler_.Add(owner_, "", scheduler_.clock_.Now().monotonic, std::move(task));
}

TimerId FakeLoop::RunAfter(Duration delay, Task task) {
  const Duration at = scheduler_.clock_.Now().monotonic + std::max(delay, Duration{0});
  return scheduler_.Add(owner_, "", at, std::move(task));
}

void FakeLoop::CancelTimer(TimerId timer) {
  if (timer != 0) scheduler_.Cancel(owner_, timer);
}

bool FakeLoop::IsCurrent() const {
  const Scheduler::Step* step = scheduler_.running_;
  return step == nullptr || (step->owner == owner_ && step->strand.empty());
}

void FakeStrands::Run(const std::string& key, Task task) {
  scheduler_.Add(owner_, "strand " + key, scheduler_.clock_.Now().monotonic, std::move(task));
}

size_t FakeStrands::Pending(const std::string& key) const {
  const auto& lanes = scheduler_.owners_.at(owner_).lanes;
  const auto it = lanes.find("strand " + key);
  return it == lanes.end() ? 0 : it->second.tasks.size() + (it->second.running ? 1 : 0);
}

}  // namespace splitlet::exec
