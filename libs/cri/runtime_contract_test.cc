// Contract of every runtime behind cri.h: the fake, the client against a server on the fake, and,
// when SPLITLET_CRI_ENDPOINT names one, a real runtime (with the image of SPLITLET_CRI_IMAGE,
// default busybox, that has `sleep`).

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>

#include "libs/base/cancel.h"
#include "libs/cri/convert.h"
#include "libs/cri/event_stream.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/stranded_calls.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/strand_pool.h"
#include "libs/rpc/rpc.h"
#include "tests/fake_cri/server.h"

namespace splitlet::cri {
namespace {

/// A runtime under test, with its roles.
struct Subject {
  virtual ~Subject() = default;
  Reader* reader = nullptr;
  Runner* runner = nullptr;
  Exec* exec = nullptr;
  Remover* remover = nullptr;
  Images* images = nullptr;
  Logs* logs = nullptr;
  Stats* stats = nullptr;
  LongCalls* long_calls = nullptr;
  std::unique_ptr<EventStream> cri_events, containerd_events;
  FakeRuntime* fake = nullptr;  // the fake behind it, if there is one

  template <class T>
  void SetRoles(T& runtime) {
    reader = &runtime;
    runner = &runtime;
    exec = &runtime;
    remover = &runtime;
    images = &runtime;
    logs = &runtime;
    stats = &runtime;
  }
};

struct FakeSubject : Subject {
  FakeSubject() {
    SetRoles(runtime);
    long_calls = &calls;
    fake = &runtime;
  }
  RealClock clock;
  std::unique_ptr<Waiter> waiter = MakeRealWaiter();
  FakeRuntime runtime{clock, {.waiter = waiter.get()}};
  exec::StrandPool strands{{}};
  StrandedCalls calls{runtime, strands};
};

struct EndpointSubject : Subject {
  void Connect(const std::string& endpoint) {
    const auto channel = rpc::ConnectEndpoint(endpoint);
    runtime = std::make_unique<GrpcRuntime>(channel, clock, registry, CallLimits{});
    SetRoles(*runtime);
    long_calls = runtime.get();
    cri_events = MakeCriEventStream(channel, clock);
    containerd_events = MakeContainerdEventStream(channel, clock);
  }
  RealClock clock;
  prometheus::Registry registry;
  std::unique_ptr<GrpcRuntime> runtime;
};

struct ServerSubject : EndpointSubject {
  explicit ServerSubject(fake_cri::EventMode events = fake_cri::EventMode::kCri) {
    static std::atomic<int> number = 0;
    directory =
        std::filesystem::temp_directory_path() / fmt::format("fake-cri-{}-{}", getpid(), number++);
    std::filesystem::create_directory(directory);
    const std::string socket = directory / "cri.sock";
    auto started = fake_cri::Server::Start(behind, {socket, events, {}});
    EXPECT_TRUE(started.ok()) << started.status();
    if (started.ok()) server = *std::move(started);
    Connect("unix://" + socket);
    fake = &behind;
  }
  ~ServerSubject() override {
    server.reset();
    std::filesystem::remove_all(directory);
  }
  std::filesystem::path directory;
  std::unique_ptr<Waiter> waiter = MakeRealWaiter();
  FakeRuntime behind{clock, {.waiter = waiter.get()}};
  std::unique_ptr<fake_cri::Server> server;
};

std::string Image() {
  const char* named = std::getenv("SPLITLET_CRI_IMAGE");
  return named == nullptr ? "docker.io/library/busybox:latest" : named;
}

std::vector<std::string> SubjectNames() {
  std::vector<std::string> names{"fake", "server"};
  if (std::getenv("SPLITLET_CRI_ENDPOINT") != nullptr) names.push_back("endpoint");
  return names;
}

class RuntimeContract : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "fake") subject_ = std::make_unique<FakeSubject>();
    if (GetParam() == "server") subject_ = std::make_unique<ServerSubject>();
    if (const char* endpoint = std::getenv("SPLITLET_CRI_ENDPOINT");
        endpoint != nullptr && GetParam() == "endpoint") {
      auto real = std::make_unique<EndpointSubject>();
      real->Connect(endpoint);
      subject_ = std::move(real);
    }
    if (subject_->fake != nullptr) subject_->fake->AddImage(Image());
    pod_ = {"contract", fmt::format("contract-{}-{}", getpid(), ToNanos(clock_.WallNow()))};
  }
  void TearDown() override {
    const auto left = reader().ListPodSandbox(pod_.uid, Soon());
    ASSERT_TRUE(left.ok()) << left.status();
    for (const auto& sandbox : *left) {
      EXPECT_TRUE(runner().StopPodSandbox(sandbox.id, Soon()).ok());
      EXPECT_TRUE(subject_->remover->RemovePodSandbox(sandbox.id, Soon()).ok());
    }
    if (subject_->fake != nullptr) {
      EXPECT_TRUE(subject_->fake->Violations().empty());
    }
  }
  Reader& reader() { return *subject_->reader; }
  Runner& runner() { return *subject_->runner; }
  Deadline Soon() { return After(clock_, 60s); }
  SandboxId RunSandbox() {
    const auto id = runner().RunPodSandbox(pod_.Config(), "", Soon());
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : SandboxId();
  }
  StatusOr<ContainerId> Create(const SandboxId& sandbox, uint32_t attempt) {
    return runner().CreateContainer(sandbox, pod_.ContainerConfig("app", attempt, Image()),
                                    pod_.Config(), Soon());
  }

  RealClock clock_;
  std::unique_ptr<Subject> subject_;
  TestPod pod_;
};

TEST_P(RuntimeContract, SaysWhoItIsAndHowItIs) {
  const auto info = reader().Version(Soon());
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_FALSE(info->name.empty());
  EXPECT_EQ(info->api_version, "v1");
  const auto report = reader().RuntimeStatus(Soon());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GE(report->conditions.size(), 2u);
}

TEST_P(RuntimeContract, ASandboxIsListedAndReadBackWhole) {
  const SandboxId id = RunSandbox();
  const auto listed = reader().ListPodSandbox(pod_.uid, Soon());
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().id, id);
  EXPECT_EQ(listed->front().pod_name, pod_.name);
  EXPECT_EQ(listed->front().annotations.at("splitlet.dev/node"), "state/node");
  const auto status = reader().PodSandboxStatus(id, Soon());
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state, SandboxState::kReady);
  EXPECT_FALSE(status->ips.empty());
  EXPECT_FALSE(status->host_network);
  const auto everything = reader().ListPodSandbox("", Soon());
  ASSERT_TRUE(everything.ok());
  EXPECT_GE(everything->size(), 1u);
}

TEST_P(RuntimeContract, ANameThatIsTakenIsAlreadyExists) {
  const SandboxId id = RunSandbox();
  const auto again = runner().RunPodSandbox(pod_.Config(), "", Soon());
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists) << again.status();
  ASSERT_TRUE(Create(id, 0).ok());
  const auto twice = Create(id, 0);
  EXPECT_EQ(twice.status().code(), StatusCode::kAlreadyExists) << twice.status();
  EXPECT_TRUE(Create(id, 1).ok());
}

TEST_P(RuntimeContract, AContainerLivesFromCreatedToExited) {
  const SandboxId sandbox = RunSandbox();
  const auto id = Create(sandbox, 0);
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(reader().ContainerStatus(*id, Soon())->state, ContainerState::kCreated);
  ASSERT_TRUE(runner().StartContainer(*id, Soon()).ok());
  const auto running = reader().ContainerStatus(*id, Soon());
  ASSERT_TRUE(running.ok()) << running.status();
  EXPECT_EQ(running->state, ContainerState::kRunning);
  EXPECT_GT(running->started_at_ns, 0);
  EXPECT_EQ(running->annotations.at("io.kubernetes.container.hash"), "8e45cbd0");
  EXPECT_TRUE(running->log_path.ends_with("/app/0.log"));
  const auto listed = reader().ListContainers({.pod_uid = pod_.uid}, Soon());
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().sandbox_id, sandbox);
  EXPECT_FALSE(runner().StartContainer(*id, Soon()).ok());
  ASSERT_TRUE(runner().StopContainer(*id, 1, Soon()).ok());
  const auto dead = reader().ContainerStatus(*id, Soon());
  EXPECT_EQ(dead->state, ContainerState::kExited);
  EXPECT_NE(dead->exit_code, 0);
  EXPECT_GE(dead->finished_at_ns, dead->started_at_ns);
  EXPECT_TRUE(runner().StopContainer(*id, 1, Soon()).ok());
}

TEST_P(RuntimeContract, LongCallsAnswerWhenTheyAreDone) {
  const SandboxId sandbox = RunSandbox();
  const auto id = Create(sandbox, 0);
  ASSERT_TRUE(id.ok()) << id.status();
  ASSERT_TRUE(runner().StartContainer(*id, Soon()).ok());
  const auto stop = [&] {
    std::promise<Status> stopped;
    subject_->long_calls->BeginStopContainer(
        *id, 1, Soon(), [&stopped](const Status& status) { stopped.set_value(status); });
    return stopped.get_future().get();
  };
  EXPECT_TRUE(stop().ok());
  EXPECT_EQ(reader().ContainerStatus(*id, Soon())->state, ContainerState::kExited);
  EXPECT_TRUE(subject_->remover->RemoveContainer(*id, Soon()).ok());
  EXPECT_TRUE(stop().ok()) << "it is gone";
}

TEST_P(RuntimeContract, NewerContainersAreListedFirst) {
  const SandboxId sandbox = RunSandbox();
  const ContainerId first = *Create(sandbox, 0), second = *Create(sandbox, 1);
  const auto listed = reader().ListContainers({.sandbox_id = sandbox}, Soon());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->at(0).id, second);
  EXPECT_EQ(listed->at(1).id, first);
}

TEST_P(RuntimeContract, RemovingAndStoppingWhatIsGoneIsOk) {
  const SandboxId sandbox = RunSandbox();
  const auto id = Create(sandbox, 0);
  ASSERT_TRUE(id.ok());
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(subject_->remover->RemoveContainer(*id, Soon()).ok());
    EXPECT_TRUE(runner().StopContainer(*id, 1, Soon()).ok());
  }
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(runner().StopPodSandbox(sandbox, Soon()).ok());
    EXPECT_TRUE(subject_->remover->RemovePodSandbox(sandbox, Soon()).ok());
  }
  EXPECT_TRUE(runner().StopPodSandbox(sandbox, Soon()).ok());
  EXPECT_EQ(reader().ContainerStatus(*id, Soon()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(reader().PodSandboxStatus(sandbox, Soon()).status().code(), StatusCode::kNotFound);
}

TEST_P(RuntimeContract, AStoppedSandboxIsNotReadyAndEndsItsContainers) {
  const SandboxId sandbox = RunSandbox();
  const ContainerId id = *Create(sandbox, 0);
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  ASSERT_TRUE(runner().StopPodSandbox(sandbox, Soon()).ok());
  EXPECT_EQ(reader().PodSandboxStatus(sandbox, Soon())->state, SandboxState::kNotReady);
  EXPECT_EQ(reader().ContainerStatus(id, Soon())->state, ContainerState::kExited);
}

TEST_P(RuntimeContract, CommandsRunInRunningContainersOnly) {
  const ContainerId id = *Create(RunSandbox(), 0);
  EXPECT_FALSE(subject_->exec->ExecSync(id, {{"true"}, 5s}, Soon()).ok());
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  const auto result = subject_->exec->ExecSync(id, {{"true"}, 5s}, Soon());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
}

TEST_P(RuntimeContract, HoweverMuchACommandPrintsItsCodeIsRight) {
  const ContainerId id = *Create(RunSandbox(), 0);
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  if (subject_->fake != nullptr)
    subject_->fake->SetExec("", "", ExecResult{3, "begin" + std::string(3 << 20, 'x') + "end", ""});
  ExecCommand command{
      {"sh", "-c", "printf begin; head -c 3145728 /dev/zero | tr '\\0' x; printf end; exit 3"},
      30s};
  command.keep = {.bytes = 7};
  for (const auto& [last, want] : {std::pair(false, "beginxx"), std::pair(true, "xxxxend")}) {
    command.keep.last = last;
    const auto result = subject_->exec->ExecSync(id, command, Soon());
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->exit_code, 3);
    EXPECT_EQ(result->out, want);
    EXPECT_EQ(result->err, "");
  }
}

TEST_P(RuntimeContract, ACommandCanBeRunWithoutWaitingForIt) {
  const ContainerId id = *Create(RunSandbox(), 0);
  const auto run = [&] {
    std::promise<StatusOr<ExecResult>> ended;
    subject_->long_calls->BeginExecSync(
        id, {{"true"}, 5s}, Soon(),
        [&ended](StatusOr<ExecResult> result) { ended.set_value(std::move(result)); });
    return ended.get_future().get();
  };
  EXPECT_FALSE(run().ok()) << "it does not run yet";
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  const auto result = run();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit_code, 0);
}

TEST_P(RuntimeContract, AnImageThatIsPulledHasAReference) {
  if (subject_->fake == nullptr) GTEST_SKIP() << "a real runtime may reach no registry";
  std::promise<StatusOr<std::string>> pulled;
  subject_->long_calls->BeginPullImage(
      {"busybox:new", pod_.Config()}, Soon(),
      [&pulled](StatusOr<std::string> ref) { pulled.set_value(std::move(ref)); });
  const auto ref = pulled.get_future().get();
  ASSERT_TRUE(ref.ok()) << ref.status();
  const auto image = subject_->images->ImageStatus({"busybox:new"}, Soon());
  ASSERT_TRUE(image.ok() && image->has_value());
}

TEST_P(RuntimeContract, ImagesAreFoundByNameAndId) {
  const auto found = subject_->images->ImageStatus({Image()}, Soon());
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_TRUE(subject_->images->ImageStatus({(*found)->id, {{"a", "1"}}}, Soon())->has_value());
  if (subject_->fake != nullptr) {
    EXPECT_EQ(subject_->fake->ImageAnnotations(), (StringMap{{"a", "1"}}));
  }
  EXPECT_FALSE(
      subject_->images->ImageStatus({"splitlet.test/no-such-image:1"}, Soon())->has_value());
  EXPECT_GE(subject_->images->ListImages(Soon())->size(), 1u);
  EXPECT_GE(subject_->images->ImageFsInfo(Soon())->images.size(), 1u);
  EXPECT_TRUE(subject_->remover->RemoveImage("splitlet.test/no-such-image:1", Soon()).ok());
}

TEST_P(RuntimeContract, TheImageOfSandboxesIsKnown) {
  const auto named = subject_->images->SandboxImage(Soon());
  ASSERT_TRUE(named.ok()) << named.status();
  const auto images = subject_->images->ListImages(Soon());
  ASSERT_TRUE(images.ok()) << images.status();
  const bool pinned =
      std::any_of(images->begin(), images->end(), [](const auto& image) { return image.pinned; });
  EXPECT_TRUE(!named->empty() || pinned);
}

TEST_P(RuntimeContract, LogsAreOpenedAnewWhileTheContainerRuns) {
  const ContainerId id = *Create(RunSandbox(), 0);
  EXPECT_FALSE(subject_->logs->ReopenContainerLog(id, Soon()).ok());
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  const Status reopened = subject_->logs->ReopenContainerLog(id, Soon());
  EXPECT_TRUE(reopened.ok()) << reopened;
  ASSERT_TRUE(runner().StopContainer(id, 1, Soon()).ok());
  EXPECT_FALSE(subject_->logs->ReopenContainerLog(id, Soon()).ok());
  EXPECT_FALSE(subject_->logs->ReopenContainerLog(ContainerId("none"), Soon()).ok());
}

TEST_P(RuntimeContract, RunningContainersAreMeasured) {
  const ContainerId id = *Create(RunSandbox(), 0);
  ASSERT_TRUE(runner().StartContainer(id, Soon()).ok());
  const auto all = subject_->stats->ListContainerStats(Soon());
  ASSERT_TRUE(all.ok()) << all.status();
  const auto own = std::ranges::find(*all, id, &ContainerStats::id);
  ASSERT_NE(own, all->end());
  // The layer's root counts as one inode; containerd starts counting some seconds after the start.
  EXPECT_GT(own->writable_layer_inodes.value_or(1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeContract, ::testing::ValuesIn(SubjectNames()),
                         [](const auto& test) { return test.param; });

TEST(Convert, TheSandboxImageIsReadFromWhatContainerdSaysOfItself) {
  const struct {
    const char* name;
    const char* config;
    const char* want;
  } kCases[] = {
      {"named", R"({"containerd": {"x": 1}, "sandboxImage": "registry.k8s.io/pause:3.6"})",
       "registry.k8s.io/pause:3.6"},
      {"not named", R"({"containerd": {"sandboxImage": "no"}})", ""},
      {"no text", R"({"sandboxImage": 7})", ""},
      {"no object", R"(["sandboxImage"])", ""},
      {"no JSON", R"({"sandboxImage": )", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(SandboxImageIn(c.config), c.want) << c.name;
}

TEST(Convert, SharesAndQuotaAreThousandthsOfACpu) {
  const struct {
    const char* name;
    int64_t shares, quota, period, memory;
    ContainerResources want;
  } kCases[] = {
      {"as asked", 102, 50'000, 100'000, 1 << 20, {100, 500, 1 << 20}},
      {"the least shares", 2, 0, 100'000, 0, {2, 0, 0}},
      {"no limit", 1024, -1, 100'000, 0, {1000, 0, 0}},
      {"no period", 1024, 50'000, 0, 0, {1000, 0, 0}},
      {"nonsense", -5, -7, -1, -1, {}},
      {"more than there can be",
       INT64_MAX,
       INT64_MAX,
       1,
       INT64_MAX,
       {(int64_t{1} << 50) * 1000 / 1024, (int64_t{1} << 50) * 1000, INT64_MAX}},
  };
  for (const auto& c : kCases) {
    runtime::v1::LinuxContainerResources resources;
    resources.set_cpu_shares(c.shares);
    resources.set_cpu_quota(c.quota);
    resources.set_cpu_period(c.period);
    resources.set_memory_limit_in_bytes(c.memory);
    EXPECT_EQ(FromProto(resources), c.want) << c.name;
  }
}

// Tests of the client only.

class ClientTest : public ::testing::Test {
 protected:
  RealClock clock_;
};

TEST_F(ClientTest, ADeadlineEndsAHangAndOtherCodesPass) {
  ServerSubject subject;
  subject.fake->AddFault({.method = "Version", .kind = Fault::Kind::kHang, .times = 1});
  EXPECT_EQ(subject.reader->Version(After(clock_, 100ms)).status().code(),
            StatusCode::kDeadlineExceeded);
  subject.fake->ClearFaults();  // the fault is still unused if connecting took all the time
  subject.fake->AddFault({.method = "Version", .code = StatusCode::kPermissionDenied, .times = 1});
  EXPECT_EQ(subject.reader->Version(After(clock_, 10s)).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_TRUE(subject.reader->Version(After(clock_, 10s)).ok());
}

TEST_F(ClientTest, ACancelledCallEndsEarly) {
  ServerSubject subject;
  subject.fake->AddFault({.method = "Version", .kind = Fault::Kind::kHang});
  Deadline deadline = After(clock_, 60s);
  deadline.cancel = std::make_shared<CancelToken>();
  std::thread canceller([&] {
    while (subject.fake->Hanging() == 0) std::this_thread::yield();
    deadline.cancel->Cancel();
  });
  EXPECT_EQ(subject.reader->Version(deadline).status().code(), StatusCode::kCancelled);
  canceller.join();
}

TEST_F(ClientTest, AClientThatGivesUpEndsCallsThatRunAndThoseThatCome) {
  ServerSubject subject;
  subject.fake->AddFault({.method = "Version", .kind = Fault::Kind::kHang});
  std::thread stopper([&] {
    while (subject.fake->Hanging() == 0) std::this_thread::yield();
    subject.runtime->GiveUp();
  });
  EXPECT_EQ(subject.reader->Version(After(clock_, 60s)).status().code(), StatusCode::kCancelled);
  stopper.join();
  EXPECT_EQ(subject.reader->ListContainers({}, After(clock_, 60s)).status().code(),
            StatusCode::kCancelled);
}

TEST_F(ClientTest, ALongCallIsCancelledAlone) {
  ServerSubject subject;
  subject.fake->AddFault({.method = "StopContainer", .kind = Fault::Kind::kHang});
  Deadline deadline = After(clock_, 60s);
  deadline.cancel = std::make_shared<CancelToken>();
  std::promise<Status> stopped;
  subject.runtime->BeginStopContainer(
      ContainerId("c"), 30, deadline,
      [&stopped](const Status& status) { stopped.set_value(status); });
  while (subject.fake->Hanging() == 0) std::this_thread::yield();
  deadline.cancel->Cancel();
  EXPECT_EQ(stopped.get_future().get().code(), StatusCode::kCancelled);
}

TEST_F(ClientTest, EveryLongCallIsAnsweredBeforeTheClientEnds) {
  ServerSubject subject;
  subject.fake->AddFault({.method = "PullImage", .kind = Fault::Kind::kHang});
  std::atomic<int> cancelled = 0;
  const auto pull = [&] {
    subject.runtime->BeginPullImage({"i", {}}, After(clock_, 60s),
                                    [&cancelled](const StatusOr<std::string>& ref) {
                                      if (ref.status().code() == StatusCode::kCancelled)
                                        ++cancelled;
                                    });
  };
  for (int i = 0; i < 3; ++i) pull();
  while (subject.fake->Hanging() < 3) std::this_thread::yield();
  subject.runtime->EndLongCalls();
  EXPECT_EQ(cancelled, 3);
  pull();
  subject.runtime->EndLongCalls();
  EXPECT_EQ(cancelled, 4) << "one that comes afterwards too";
}

TEST_F(ClientTest, CallsAreCounted) {
  ServerSubject subject;
  EXPECT_TRUE(subject.reader->Version(After(clock_, 10s)).ok());
  EXPECT_FALSE(subject.reader->ContainerStatus(ContainerId("none"), After(clock_, 10s)).ok());
  const std::string text = prometheus::TextSerializer().Serialize(subject.registry.Collect());
  for (const char* line :
       {"kubelet_runtime_operations_total{operation_type=\"version\"} 1",
        "kubelet_runtime_operations_total{operation_type=\"container_status\"} 1",
        "kubelet_runtime_operations_errors_total{operation_type=\"container_status\"} 1",
        "kubelet_runtime_operations_duration_seconds_count{operation_type=\"version\"} 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("errors_total{operation_type=\"version\"}"), std::string::npos);
}

/// The callbacks of a stream, recorded from its thread.
class Gathered {
 public:
  EventSource::Callbacks Callbacks() {
    return {
        .on_open = [this] { Note("open"); },
        .on_event =
            [this](const ContainerEvent& e) {
              Note(fmt::format("event {} {}", static_cast<int>(e.kind), e.pod_uid));
            },
        .on_end =
            [this](const Status& status) { Note("end " + std::string(CodeName(status.code()))); }};
  }
  bool WaitFor(const std::string& line) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, 20s, [&] { return std::find(lines_.begin(), lines_.end(), line) != lines_.end(); });
  }

 private:
  void Note(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

TEST_F(ClientTest, EventStreamsTellUntilTheyEndOrAreStopped) {
  const struct {
    const char* name;
    fake_cri::EventMode mode;
    bool cri;
    const char* uid;
  } kCases[] = {
      {"CRI's stream names the pod", fake_cri::EventMode::kCri, true, "uid-1"},
      {"containerd's does not", fake_cri::EventMode::kContainerd, false, ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    ServerSubject subject(c.mode);
    StreamThread stream(std::move(c.cri ? subject.cri_events : subject.containerd_events), clock_);
    Gathered gathered;
    stream.Start(gathered.Callbacks(), 10s);
    ASSERT_TRUE(gathered.WaitFor("open"));
    // A stream counts as open after a silent while, and the server may be that slow.
    const Deadline soon = After(clock_, 20s);
    while (subject.fake->Streams() == 0 && Remaining(clock_, soon) > 0ms) std::this_thread::yield();
    subject.fake->AddUnmanagedPod({"uid-1", "web", "default", {"app"}, {}});
    const auto told = [&](ContainerEvent::Kind kind) {
      return gathered.WaitFor(fmt::format("event {} {}", static_cast<int>(kind), c.uid));
    };
    if (c.cri) {
      EXPECT_TRUE(told(ContainerEvent::Kind::kCreated));
    }
    EXPECT_TRUE(told(ContainerEvent::Kind::kStarted));
    ASSERT_TRUE(subject.fake->ExitContainer("uid-1", "app", 0).ok());
    EXPECT_TRUE(told(ContainerEvent::Kind::kStopped));
    subject.fake->EndStreams(Unavailable("enough"));
    EXPECT_TRUE(gathered.WaitFor("end UNAVAILABLE"));
    Gathered again;
    stream.Start(again.Callbacks(), 10s);
    ASSERT_TRUE(again.WaitFor("open"));
    stream.Stop();
    EXPECT_TRUE(again.WaitFor("end CANCELLED"));
  }
}

TEST_F(ClientTest, AStreamThatIsNotThereIsUnimplemented) {
  ServerSubject subject(fake_cri::EventMode::kNone);
  for (auto* stream : {&subject.cri_events, &subject.containerd_events}) {
    EXPECT_EQ((*stream)
                  ->Follow(
                      After(clock_, 10s), [] {}, [](const ContainerEvent&) {})
                  .code(),
              StatusCode::kUnimplemented);
  }
}

/// The answer of CRI-O 1.36 without enable_pod_events.
TEST_F(ClientTest, AStreamThatEndsAsItBeginsIsUnimplementedAndTheSettingIsNamed) {
  ServerSubject subject(fake_cri::EventMode::kCriOff);
  bool opened = false;
  const Status ended = subject.cri_events->Follow(
      After(clock_, 10s), [&opened] { opened = true; }, [](const ContainerEvent&) {});
  EXPECT_EQ(ended.code(), StatusCode::kUnimplemented) << ended;
  EXPECT_NE(Message(ended).find("enable_pod_events = true in [crio.runtime]"), std::string::npos)
      << ended;
  EXPECT_FALSE(opened);
}

}  // namespace
}  // namespace splitlet::cri
