#include <grpcpp/grpcpp.h>
#include <prometheus/registry.h>

#include <condition_variable>
#include <future>
#include <mutex>

#include "libs/bus/fake_bus.h"
#include "libs/cri/stranded_calls.h"
#include "libs/exec/loop_thread.h"
#include "libs/exec/on_loop.h"
#include "libs/exec/periodic.h"
#include "libs/exec/strand_pool.h"
#include "libs/rpc/client.h"
#include "services/pod-worker/api/rpc.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"
#include "splitlet/v1/services.grpc.pb.h"

/// pod-worker on real threads, as many as the process has: what hangs in the runtime holds up
/// nothing else.

namespace splitlet::pod_worker {
namespace {

constexpr Duration kPatience = 60s;
constexpr size_t kMany = 100;
constexpr size_t kThreads = 8;
constexpr const char* kNoneHeld = "no thread is held";

/// What happened so far; tests wait for it.
class Board {
 public:
  void Note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
    changed_.notify_all();
  }
  size_t Count(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
  }
  bool WaitFor(const std::string& what, size_t times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return counts_[what] >= times; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, size_t> counts_;
};

/// Events by "<reason> <UID>".
class NotedEvents final : public daemon::EventRecorder {
 public:
  explicit NotedEvents(Board& board) : board_(board) {}
  void Record(daemon::PodEvent event) override { board_.Note(event.reason + " " + event.uid); }

 private:
  Board& board_;
};

/// Calls that hang; looks rarely, since there are hundreds.
class NotedWaiter final : public cri::Waiter {
 public:
  explicit NotedWaiter(Board& board) : board_(board) {}
  void WaitFor(Duration max, const std::function<bool()>& done) override {
    board_.Note("hangs");
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto end = clock_.Now() + max;
    while (!done() && clock_.Now() < end) never.wait_for(lock, 200ms);
  }

 private:
  Board& board_;
  RealClock clock_;
};

class Threads : public testing::Test {
 protected:
  /// Of the loop; all of it lives there.
  struct Node {
    explicit Node(Threads& test)
        : source_bus(test.network_, "config-source", test.loop_),
          loop_bus(test.network_, "sync-loop", test.loop_),
          worker_bus(test.network_, "pod-worker", test.loop_),
          desired(*bus::Own<v1::DesiredRecord>(source_bus, "desired")),
          workers(*bus::ViewOf<v1::WorkerRecord>(loop_bus, "workers")),
          log(test.sink_),
          service(Deps{.env = {.clock = test.clock_,
                               .loop = test.loop_,
                               .strands = test.strands_,
                               .log = log,
                               .metrics = test.registry_},
                       .runtime_strands = test.runtime_strands_,
                       .bus = worker_bus,
                       .table = *bus::Own<v1::WorkerRecord>(worker_bus, "workers"),
                       .desired = *bus::ViewOf<v1::DesiredRecord>(worker_bus, "desired"),
                       .podstatus = *bus::ViewOf<v1::PodStatusRecord>(worker_bus, "podstatus"),
                       .runtime = {.reader = test.runtime_,
                                   .runner = test.runtime_,
                                   .remover = test.runtime_,
                                   .images = test.runtime_,
                                   .long_calls = test.long_calls_,
                                   .read_tail = nullptr},
                       .disk = {.files = test.files_,
                                .mounts = test.mounts_,
                                .ownership = test.ownership_,
                                .read_within = nullptr},
                       .owner = test.owner_,
                       .events = test.events_,
                       .http = test.http_},
                  test.config_) {}
    bus::FakeBus source_bus, loop_bus, worker_bus;
    bus::Table<v1::DesiredRecord> desired;
    bus::View<v1::WorkerRecord> workers;
    const Log log;
    PodWorkerService service;
  };

  Threads() {
    config_.node = {.name = "node-1",
                    .annotation = "state-1/node-1",
                    .pod_logs_dir = "/logs/pods",
                    .pod_roots = {"/state/pods", "/kubelet"}};
    config_.run_dir = "/run";
    config_.state_dir = "/state";
    config_.parallel_pulls = 0;
    config_.registry_qps = 0;
    runtime_.AddImage("busybox:1.36");
    loop_thread_ = std::thread([this] { loop_.Run(); });
    OnLoop([this] {
      retry_ = std::make_unique<exec::Periodic>(loop_, 20ms, [this] {
        runtime_strands_.Retry();
        if (runtime_strands_.load().busy == 0) board_.Note(kNoneHeld);
      });
      node_ = std::make_unique<Node>(*this);
      node_->desired.SetComplete({{"file", "api"}, clock_.Now(), {}});
      node_->workers.OnChange([this](const auto& change) {
        if (change.after != nullptr && change.after->state() == v1::FINISHED)
          board_.Note("finished " + change.after->uid());
      });
      node_->service.Start();
    });
  }
  ~Threads() override {
    OnLoop([this] { node_->service.BeginStop(); });
    runtime_.ClearFaults();
    runtime_strands_.Stop();
    strands_.Stop();
    runtime_threads_.Stop();
    OnLoop([this] {
      retry_.reset();
      node_.reset();
      loop_.Stop();
    });
    loop_thread_.join();
  }

  void OnLoop(const std::function<void()>& f) { exec::OnLoop(loop_, f); }
  /// Now or soon: a busy machine takes a while to bring the tasks to their end.
  bool NoThreadIsHeld() { return board_.WaitFor(kNoneHeld, board_.Count(kNoneHeld) + 1); }

  static std::string Uid(const std::string& kind, size_t i) {
    return fmt::format("{}-{}", kind, i);
  }
  static kube::Pod Pod(const std::string& uid, const std::string& image = "busybox:1.36") {
    auto pod = TestPod{.name = uid, .uid = uid, .source = "api", .grace = 3600}.Make();
    pod.mutable_spec()->mutable_containers(0)->set_image(image);
    return pod;
  }
  /// Its answer waits for config_source_answers_.
  static v1::UpdatePodRequest GrantThatWaits(int i) {
    v1::UpdatePodRequest request;
    request.set_uid(Uid("new", static_cast<size_t>(i)));
    request.set_incarnation(1);
    request.set_pod(Pod(request.uid()).SerializeAsString());
    return request;
  }
  void Put(const kube::Pod& pod, v1::DesiredRecord::State state) {
    v1::DesiredRecord record;
    record.set_uid(pod.metadata().uid());
    record.set_name(pod.metadata().name());
    record.set_namespace_(pod.metadata().namespace_());
    record.set_source("api");
    record.set_incarnation(1);
    record.set_generation(1);
    record.set_state(state);
    record.set_pod(pod.SerializeAsString());
    EXPECT_TRUE(node_->desired.Put(record.uid(), record).ok());
  }
  void Run(const kube::Pod& pod) {
    v1::UpdatePodRequest request;
    request.set_uid(pod.metadata().uid());
    request.set_incarnation(1);
    request.set_generation(1);
    request.set_source("api");
    request.set_pod(pod.SerializeAsString());
    OnLoop([&] {
      Put(pod, v1::DesiredRecord::WANTED);
      // Asked again until the files are read.
      Ask(request);
    });
  }
  void Ask(const v1::UpdatePodRequest& request) {
    node_->service.OnUpdatePod(request, [this, request](const Status& status) {
      if (!status.ok()) loop_.RunAfter(10ms, [this, request] { Ask(request); });
    });
  }
  void Remove(const kube::Pod& pod) {
    OnLoop([&] { Put(pod, v1::DesiredRecord::REMOVED); });
  }

  Board board_;
  RealClock clock_;
  fs::FakeFileSystem files_{clock_};
  fs::FakeMounts mounts_{files_};
  fs::FakeOwnership ownership_{files_};
  http::FakeCaller http_;
  NotedWaiter waiter_{board_};
  cri::FakeRuntime runtime_{clock_, {.waiter = &waiter_}};
  bus::FakeBusNetwork network_{clock_, 1};
  FakeLogSink sink_;
  NotedEvents events_{board_};
  std::promise<void> config_source_answers_;
  peers::FakeDesiredOwner owner_{
      [](const std::string&, const Deadline&) { return true; },
      [answers = config_source_answers_.get_future().share()](
          const std::string& uid, const Deadline&) -> StatusOr<peers::DesiredOwner::Record> {
        if (!uid.starts_with("new-")) return Unavailable("its view will show it");
        answers.wait();
        return nullptr;
      }};
  prometheus::Registry registry_;
  Config config_;
  exec::LoopThread loop_{clock_};
  exec::StrandPool strands_{exec::StrandPool::Options{}};
  exec::StrandPool runtime_strands_{{.max_threads = kThreads, .slow_threads = 512}};
  exec::StrandPool runtime_threads_{{.max_threads = 1024}};  // those of the runtime itself
  cri::StrandedCalls long_calls_{runtime_, runtime_threads_};
  std::unique_ptr<exec::Periodic> retry_;
  std::unique_ptr<Node> node_;
  std::thread loop_thread_;
};

TEST_F(Threads, StopsAndPullsHoldNone) {
  for (size_t i = 0; i < kMany; ++i) Run(Pod(Uid("stop", i)));
  for (size_t i = 0; i < kMany; ++i) ASSERT_TRUE(board_.WaitFor("Started " + Uid("stop", i)));
  using enum cri::Fault::Kind;
  runtime_.AddFault({.method = "StopContainer", .kind = kHang});
  runtime_.AddFault({.method = "PullImage", .kind = kHang});
  for (size_t i = 0; i < kMany; ++i) {
    Remove(Pod(Uid("stop", i)));
    Run(Pod(Uid("pull", i), fmt::format("far:{}", i)));
  }
  ASSERT_TRUE(board_.WaitFor("hangs", 2 * kMany));
  EXPECT_TRUE(NoThreadIsHeld()) << runtime_strands_.load().busy << " are held by what hangs";

  const auto other = Pod("other");
  Run(other);
  EXPECT_TRUE(board_.WaitFor("Started other"));
  EXPECT_EQ(runtime_.Hanging(), 2 * kMany) << "and they hang still";
  runtime_.ClearFaults();
  for (size_t i = 0; i < kMany; ++i) {
    EXPECT_TRUE(board_.WaitFor("finished " + Uid("stop", i)));
    EXPECT_TRUE(board_.WaitFor("Started " + Uid("pull", i)));
  }
}

TEST_F(Threads, GrantsThatWaitLeaveRoomForLists) {
  const auto first = Pod("first");
  Run(first);
  ASSERT_TRUE(board_.WaitFor("Started first"));
  const auto service = MakeRpc(loop_, node_->service);
  auto& calls = dynamic_cast<v1::PodWorker::Service&>(*service);
  constexpr int kCalls = kMaxWaitingCalls + 8;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCalls; ++i)
    callers.emplace_back([this, &calls, i] {
      const auto request = GrantThatWaits(i);
      grpc::ServerContext context;
      v1::UpdatePodReply reply;
      const auto code = calls.UpdatePod(&context, &request, &reply).error_code();
      board_.Note(code == grpc::RESOURCE_EXHAUSTED ? "refused" : "answered");
    });
  EXPECT_TRUE(board_.WaitFor("refused", kCalls - kMaxWaitingCalls));
  EXPECT_EQ(board_.Count("answered"), 0u);
  grpc::ServerContext context;
  v1::ListWorkersReply list;
  EXPECT_TRUE(calls.ListWorkers(&context, nullptr, &list).ok());
  EXPECT_EQ(list.workers_size(), 1);
  config_source_answers_.set_value();
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(board_.Count("answered"), size_t{kMaxWaitingCalls});
}

TEST_F(Threads, AGrantThatIsGivenUpTakesNoPlaceFromOthers) {
  const auto service = MakeRpc(loop_, node_->service);
  const auto server = grpc::ServerBuilder().RegisterService(service.get()).BuildAndStart();
  const auto stub = v1::PodWorker::NewStub(server->InProcessChannel({}));
  std::vector<std::thread> callers;
  for (int i = 0; i < kMaxWaitingCalls; ++i)
    callers.emplace_back([this, &stub, i] {
      const auto request = GrantThatWaits(i);
      rpc::ClientCall call(clock_, After(clock_, 300ms));
      v1::UpdatePodReply reply;
      EXPECT_FALSE(stub->UpdatePod(&call.context(), request, &reply).ok());
    });
  for (auto& caller : callers) caller.join();
  const auto code = [this, &stub] {
    rpc::ClientCall call(clock_, After(clock_, kPatience));
    v1::ReleaseHoldReply reply;
    return stub->ReleaseHold(&call.context(), {}, &reply).error_code();
  };
  // Long before the server would have given them up by itself.
  const auto end = clock_.Now() + 10s;
  auto last = code();
  while (last == grpc::RESOURCE_EXHAUSTED && clock_.Now() < end) last = code();
  EXPECT_EQ(last, grpc::OK);
  config_source_answers_.set_value();
  server->Shutdown();
}

TEST_F(Threads, HundredsOfCallsThatHangHoldUpNoOtherPod) {
  for (size_t i = 0; i < kMany; ++i) Run(Pod(Uid("stop", i)));
  for (size_t i = 0; i < kMany; ++i) ASSERT_TRUE(board_.WaitFor("Started " + Uid("stop", i)));
  for (size_t i = 0; i < kMany; ++i) {
    using enum cri::Fault::Kind;
    runtime_.AddFault({.method = "StopContainer", .pod = Uid("stop", i), .kind = kHang});
    runtime_.AddFault({.method = "PullImage", .pod = Uid("pull", i), .kind = kHang});
    runtime_.AddFault({.method = "RunPodSandbox", .pod = Uid("net", i), .kind = kHang});
    Remove(Pod(Uid("stop", i)));
    Run(Pod(Uid("pull", i), fmt::format("far:{}", i)));
    Run(Pod(Uid("net", i)));
  }
  ASSERT_TRUE(board_.WaitFor("hangs", 3 * kMany));

  const auto other = Pod("other");
  Run(other);
  EXPECT_TRUE(board_.WaitFor("Started other"));
  Remove(other);
  EXPECT_TRUE(board_.WaitFor("finished other"));
  EXPECT_EQ(runtime_.Hanging(), 3 * kMany) << "and they hang still";

  runtime_.ClearFaults();
  for (size_t i = 0; i < kMany; ++i) {
    EXPECT_TRUE(board_.WaitFor("finished " + Uid("stop", i)));
    EXPECT_TRUE(board_.WaitFor("Started " + Uid("pull", i)));
    EXPECT_TRUE(board_.WaitFor("Started " + Uid("net", i)));
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
