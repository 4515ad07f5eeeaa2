#include "tests/simulation/node.h"

#include <algorithm>

#include "libs/base/hash.h"
#include "libs/bus/typed.h"
#include "splitlet/v1/records.pb.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/shell.h"
#include "tests/simulation/volume_truth.h"

namespace splitlet::simulation {
namespace {

constexpr Duration kRestartAfter = 10ms;
constexpr const char* kManifests = "/manifests";

/// Lets the simulation continue during a runtime call.
class SteppingWaiter final : public cri::Waiter {
 public:
  explicit SteppingWaiter(exec::Scheduler& scheduler) : scheduler_(scheduler) {}
  void WaitFor(Duration max, const std::function<bool()>& done) override {
    scheduler_.WaitInStep(scheduler_.clock().Now() + max, done);
  }

 private:
  exec::Scheduler& scheduler_;
};

}  // namespace

/// Errors that follow from a file that is unreadable for a moment.
constexpr std::string_view kOfDisturbedFiles[] = {
    "cannot read saved pods, will retry", "cannot read the files of this process",
    "cannot read saved admissions, will retry",
    "ignoring saved state of a node shutdown that cannot be read"};

/// Errors while the API server cannot be reached.
constexpr std::string_view kOfDisturbedServer[] = {
    "cannot register the node, will retry", "cannot report the node, will retry",
    "cannot renew the lease of the node, will retry",
    "cannot write the CSINode or a CSI driver, will retry"};

/// Keeps the errors that no fault explains; prints all lines if SPLITLET_SIMULATION_LOG is set.
class SimNode::Sink final : public LogSink {
 public:
  explicit Sink(const FakeClock& clock)
      : clock_(clock), shown_(std::getenv("SPLITLET_SIMULATION_LOG") != nullptr) {}
  bool Enabled(LogLevel level) const override { return shown_ || level == LogLevel::kError; }
  void Write(LogLevel level, std::string_view message,
             const std::vector<LogField>& fields) override {
    std::string line =
        fmt::format("{:9.3f} {} {} {}", static_cast<double>(clock_.Now().monotonic.count()) / 1e9,
                    current, "DIWE"[static_cast<int>(level)], message);
    for (const auto& field : fields) line += fmt::format(" {}={}", field.key, field.value);
    if (shown_) fmt::print(stderr, "{}\n", line);
    const bool explained =
        (files_disturbed && std::ranges::count(kOfDisturbedFiles, message) > 0) ||
        (server_disturbed && std::ranges::count(kOfDisturbedServer, message) > 0);
    if (level == LogLevel::kError && !explained) errors.push_back(line);
  }
  std::string current;
  bool files_disturbed = false, server_disturbed = false;
  std::vector<std::string> errors;

 private:
  const FakeClock& clock_;
  const bool shown_;
};

Process::Process(SimNode& node, const std::string& name)
    : shell_(std::make_shared<Shell>(node, name)) {}

LogSink& SimNode::sink() { return *sink_; }

const std::vector<std::string>& SimNode::UnexplainedErrors() const { return sink_->errors; }

SimNode::SimNode(uint64_t seed)
    : random_(seed),
      scheduler_(clock_),
      files_(clock_),
      network_(clock_, seed),
      sink_(std::make_unique<Sink>(clock_)),
      world_(scheduler_, scheduler_.NewOwner("world")) {
  waiter_ = std::make_unique<SteppingWaiter>(scheduler_);
  runtime_ = std::make_unique<cri::FakeRuntime>(
      clock_,
      cri::FakeRuntime::Options{.waiter = waiter_.get(),
                                .intercept = [this](std::string_view method, const std::string&) {
                                  return OnRuntimeCall(method);
                                }});
  runtime_->AddImage("busybox:1");
  runtime_->SetPull("app:0", {.takes = 8s});
  runtime_->SetPull("app:1", {.takes = 20s});
  runtime_->SetImageFs({.mountpoint = "/images", .used_bytes = 1 << 20, .inodes_used = 1});
  CHECK(files_.MakeDirs("/images", 0755).ok());
  for (const auto& disk : {kLocalDisk, kHostDisk}) {
    CHECK(files_.MakeDirs(disk, 0755).ok());
    CHECK(files_.Replace(disk + "/" + kKept, "1", {}).ok());
  }
  runtime_->SetEvents(false);
  runtime_->SetBehaviour("", "crashing", {{.exit_after = 2s, .exit_code = 1}});
  runtime_->SetBehaviour("", "job", {{.exit_after = 5s, .exit_code = 0}});
  runtime_->SetBehaviour("", "once", {{.exit_after = 5s, .exit_code = 0}});
  scheduler_.SetRandom(&random_);
  scheduler_.SetBeforeStep([this](const auto& step) { BeforeStep(step); });
  scheduler_.SetAfterStep([this](const auto& step, bool crashed) { AfterStep(step, crashed); });
  CHECK(files_.MakeDirs(kManifests, 0755).ok());
  CHECK(files_.Replace("/sys/devices/system/cpu/online", "0-3\n", {}).ok());
  CHECK(files_.Replace("/proc/meminfo", "MemTotal: 8388608 kB\n", {}).ok());
  files_.SetHook([this](std::string_view operation, const std::string& path) {
    return OnFile(operation, path);
  });
  WatchStatus();
}

SimNode::~SimNode() {
  scheduler_.SetBeforeStep(nullptr);
  scheduler_.SetAfterStep(nullptr);
  FailPoints::SetCurrent(nullptr);
  for (auto& [name, process] : running_) scheduler_.Drop(process->shell().owner);
  running_.clear();
  graveyard_.clear();
}

void SimNode::JoinCluster(uint64_t seed) {
  CHECK(files_.Replace("/proc/sys/kernel/random/boot_id", "boot-1\n", {}).ok());
  api_ = std::make_unique<ApiServer>(
      ApiServer::Deps{.scheduler = scheduler_,
                      .runtime = *runtime_,
                      .node_name = "sim",
                      .seed = seed,
                      .report = [this](const std::string& what) { Report(what); }});
}

void SimNode::Report(const std::string& what) {
  if (violations_.empty())
    violations_.push_back(fmt::format("after step {} at {} s: {}", scheduler_.steps(),
                                      clock_.Now().monotonic / 1s, what));
}

void SimNode::OnEvent(const daemon::PodEvent& event) {
  if (event.reason == "FailedMount" &&
      event.message.find("No space left on device") != std::string::npos)
    told_of_room_.insert(event.uid);
  const auto found = running_.find("status");
  if (api_ == nullptr || found == running_.end()) return;
  Process* const status = found->second.get();
  status->shell().loop.Post([status, event] { status->OnEvent(event); });
}

void SimNode::StartAll() {
  for (const auto& [name, maker] : makers_) StartProcess(name);
}

void SimNode::StartProcess(const std::string& name) {
  auto process = makers_.at(name)(*this);
  Process* const started = process.get();
  running_[name] = std::move(process);
  started->shell().loop.Post([started] { started->Start(); });
}

void SimNode::Kill(const std::string& name) {
  const auto found = running_.find(name);
  if (found == running_.end()) return;
  scheduler_.Drop(found->second->shell().owner);
  OnDead(name);
}

void SimNode::OnDead(const std::string& name) {
  const auto found = running_.find(name);
  if (found == running_.end()) return;
  ++crashes_;
  if (name == "pod-worker") pulls_under_way_ = 0;
  if (name == "gc") OnGcDied();
  found->second->shell().bus.Leave();
  graveyard_.push_back(std::move(found->second));
  running_.erase(found);
  world_.RunAfter(kRestartAfter, [this, name] { StartProcess(name); });
}

void SimNode::BeforeStep(const exec::Scheduler::Step& step) {
  FailPoints* points = nullptr;
  const auto found = running_.find(step.name);
  if (found != running_.end() && found->second->shell().owner == step.owner)
    points = &found->second->shell().fail_points;
  fail_point_stack_.push_back(points);
  FailPoints::SetCurrent(points);
  sink_->current = step.name;
  digest_ = Fnv1a64(
      fmt::format("{} {} {} {}", digest_, step.name, step.strand, clock_.Now().monotonic.count()));
}

void SimNode::AfterStep(const exec::Scheduler::Step& step, bool crashed) {
  fail_point_stack_.pop_back();
  FailPoints::SetCurrent(fail_point_stack_.empty() ? nullptr : fail_point_stack_.back());
  if (crashed) {
    const auto found = running_.find(step.name);
    if (found != running_.end() && found->second->shell().owner == step.owner) OnDead(step.name);
  }
  CheckStep();
  if (scheduler_.depth() == 0) graveyard_.clear();
}

Status SimNode::Exchange(const std::string& process, const Deadline& deadline,
                         const std::function<void(Process&)>& ask,
                         const std::function<bool()>& answered) {
  const auto found = running_.find(process);
  if (found == running_.end()) return Unavailable("{} is not there", process);
  Process* const target = found->second.get();
  const auto owner = target->shell().owner;
  const bool request_lost = disturb_runtime_ && Chance(0.02);
  const bool reply_lost = disturb_runtime_ && Chance(0.02);
  if (!request_lost) target->shell().loop.Post([ask, target] { ask(*target); });
  const auto over = [&] { return answered() || !scheduler_.alive(owner); };
  const bool ended = scheduler_.WaitInStep(deadline.at, over);
  if (!ended) return DeadlineExceeded("no answer from {}", process);
  if (!answered()) return Unavailable("{} died", process);
  if (reply_lost) return Unavailable("the answer of {} was lost", process);
  return OkStatus();
}

Status SimNode::OnRuntimeCall(std::string_view method) {
  if (scheduler_.depth() == 0) return OkStatus();
  const bool slow = runtime_slow_ || Chance(0.05);
  const Duration takes =
      slow ? Duration{1ms} * static_cast<int64_t>(random_.Below(runtime_slow_ ? 3000 : 100))
           : Duration{0};
  if (takes > Duration{0}) scheduler_.WaitInStep(clock_.Now() + takes, [] { return false; });
  if (runtime_failures_ > 0 && Chance(runtime_failures_))
    return Unavailable("{} failed as planned", method);
  return OkStatus();
}

std::string SimNode::AnyProcess() {
  auto it = makers_.begin();
  std::advance(it, static_cast<long>(random_.Below(makers_.size())));
  return it->first;
}

void SimNode::RunFor(Duration duration, const FaultPlan& plan) {
  const auto end = clock_.Now() + duration;
  sink_->files_disturbed = sink_->files_disturbed || plan.disturb_files;
  sink_->server_disturbed = sink_->server_disturbed || plan.disturb_server;
  // As tasks of the simulation, so that both also happen during calls.
  auto act = std::make_shared<std::function<void()>>();
  *act = [this, plan, end, weak = std::weak_ptr(act)] {
    if (clock_.Now() >= end) return;
    if (!plan.keep_pods && Chance(0.3)) ChangeManifests(plan);
    if (!plan.keep_pods && api_ != nullptr) api_->ChangePods(/*rough=*/plan.disturb_server);
    Disturb(plan);
    if (const auto again = weak.lock())
      world_.RunAfter(Duration{1ms} * static_cast<int64_t>(1 + random_.Below(2000)),
                      [again] { (*again)(); });
  };
  world_.Post([act] { (*act)(); });
  while (clock_.Now() < end) {
    scheduler_.Advance(100ms);
    if (watch_ends_) WatchEnds();
  }
}

void SimNode::HealAndSettle(std::optional<Duration> time) {
  disturb_runtime_ = false;
  runtime_failures_ = 0;
  runtime_slow_ = false;
  files_unreadable_ = false;
  room_.reset();
  runtime_->ClearFaults();
  runtime_->SetDown(false);
  if (api_ != nullptr) api_->Heal();
  if (api_ != nullptr && !api_->server().Has("/api/v1/nodes/sim")) Kill("status");
  network_.SetFaults({});
  network_.SetUp(true);
  for (auto& [name, process] : running_) {
    network_.SetConnected(name, true);
    scheduler_.Resume(process->shell().owner);
    process->shell().fail_points.Clear("");
  }
  for (auto& [name, wanted] : wanted_) {
    wanted.away = false;
    PutManifest(name);
  }
  const auto end = clock_.Now() + time.value_or(7min);
  while (clock_.Now() < end) {
    scheduler_.Advance(1s);
    WatchRuns();
  }
}

}  // namespace splitlet::simulation
