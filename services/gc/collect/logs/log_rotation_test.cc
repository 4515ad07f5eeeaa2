#include "services/gc/collect/logs/log_rotation.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdlib>
#include <ctime>

#include "libs/base/fail_point.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

using LogNames = std::vector<std::string>;

const WallTime kRotationTime = WallFromNanos(1'767'323'045'000'000'000);  // 2026-01-02 03:04:05 UTC

class Utc : public testing::Test {
 protected:
  Utc() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
};
using LogPlan = Utc;

TEST_F(LogPlan, WhatIsRemoved) {
  const struct {
    const char* name;
    LogNames files;
    size_t keep;
    LogNames want;
  } kCases[] = {
      {"nothing of a log that was never rotated", {"0.log", "1.log"}, 3, {}},
      {"the oldest",
       {"0.log", "0.log.20260101-000000.gz", "0.log.20260102-000000", "0.log.20260103-000000.gz"},
       2,
       {"0.log.20260101-000000.gz"}},
      {"all, where none has a place", {"0.log.20260101-000000"}, 0, {"0.log.20260101-000000"}},
      {"what was being compressed, and what is there compressed",
       {"0.log", "0.log.20260101-000000", "0.log.20260101-000000.tmp", "0.log.20260102-000000",
        "0.log.20260102-000000.gz"},
       3,
       {"0.log.20260101-000000.tmp", "0.log.20260102-000000"}},
      {"a half without the file it was made of",
       {"0.log.20260101-000000.tmp"},
       3,
       {"0.log.20260101-000000.tmp"}},
      {"nothing of another container's, and nothing of other names",
       {"1.log.20260101-000000", "0.log.notes", "0.log.20260101-000000.bak", "0.log.2026"},
       0,
       {}},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(LogsToRemove({"0.log", c.files}, c.keep), c.want) << c.name;
}

TEST_F(LogPlan, AllButTheNewestAreCompressed) {
  EXPECT_EQ(LogsToCompress({"0.log",
                            {"0.log", "0.log.20260103-000000", "0.log.20260101-000000",
                             "0.log.20260102-000000.gz"}}),
            (LogNames{"0.log.20260101-000000"}));
  EXPECT_TRUE(LogsToCompress({"0.log", {"0.log", "0.log.20260103-000000"}}).empty());
}

TEST_F(LogPlan, TheNameIsTheTimeAndAlwaysAfterTheOthers) {
  EXPECT_EQ(RotatedName({"0.log", {"0.log"}}, kRotationTime), "0.log.20260102-030405");
  EXPECT_EQ(RotatedName({"0.log", {"0.log.20260102-030404.gz"}}, kRotationTime),
            "0.log.20260102-030405");
  EXPECT_EQ(RotatedName({"0.log", {"0.log.20260102-030405"}}, kRotationTime),
            "0.log.20260102-030406")
      << "twice in a second";
  EXPECT_EQ(RotatedName({"0.log", {"0.log.20261231-235959.gz"}}, kRotationTime),
            "0.log.20270101-000000")
      << "a clock that was set back";
}

TEST_F(LogPlan, AQuickWriterIsLookedAtBeforeItsFileIsFull) {
  const struct {
    const char* name;
    LogGrowth growth;
    Duration want;
  } kCases[] = {
      {"one that writes nothing", {50, 0}, 10s},
      {"one that needs longer than the period", {50, 1}, 10s},
      {"one that is quicker", {50, 25}, 2s},
      {"one that would need many checks a second", {0, 1e6}, 250ms},
      {"one whose file is full and cannot be rotated", {200, 1e6}, 10s},
  };
  for (const auto& c : kCases) EXPECT_EQ(UntilNextInspection(c.growth, 100, 10s), c.want) << c.name;
}

TEST_F(LogPlan, TheGrowthIsThatSinceTheLastInspection) {
  FakeClock clock;
  const Clock::Time then = clock.Now();
  clock.Advance(10s);
  const Clock::Time now = clock.Now();
  const struct {
    const char* name;
    Clock::Time before;
    LogSeen seen;
    LogGrowth want;
  } kCases[] = {
      {"a first inspection shows no growth", {}, {500, false, now}, {500, 0}},
      {"one that has grown", then, {150, false, now}, {150, 10}},
      {"one that has not", then, {50, false, now}, {50, 0}},
      {"one that has become smaller", then, {10, false, now}, {10, 0}},
      {"one that was rotated is empty, and grows on", then, {150, true, now}, {0, 10}},
      {"two inspections at the same time", now, {150, false, now}, {150, 0}},
  };
  for (const auto& c : kCases) EXPECT_EQ(GrowthOf({50, 0}, c.before, c.seen), c.want) << c.name;
}

/// A running container, its log, and the part of gc that rotates it.
struct LogNode {
  explicit LogNode() {
    config.pod_logs_dir = "/var/log/pods";
    config.log_max_bytes = 100;
    config.log_max_files = 3;
    runtime.AddImage("busybox");
    const cri::TestPod pod{.name = "web", .uid = "u1"};
    const Deadline deadline = After(clock, 1min);
    const auto sandbox = runtime.RunPodSandbox(pod.Config(), "", deadline);
    id = *runtime.CreateContainer(*sandbox, pod.ContainerConfig("app", 0), pod.Config(), deadline);
    CHECK(runtime.StartContainer(id, deadline).ok());
    path = runtime.ContainerStatus(id, deadline)->log_path;
    dir = path.substr(0, path.rfind('/'));
  }
  struct Process {
    explicit Process(LogNode& node)
        : owner(node.all.NewOwner("gc")), loop(node.all, owner), strands(loop) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    prometheus::Registry registry;
    GcMetrics metrics{registry};
    std::unique_ptr<LogRotation> rotation;
  };
  void Start() {
    process = std::make_unique<Process>(*this);
    process->loop.Post([this] {
      process->rotation = std::make_unique<LogRotation>(
          LogRotation::Deps{.env = {.clock = clock,
                                    .loop = process->loop,
                                    .strands = process->strands,
                                    .log = log,
                                    .metrics = process->registry},
                            .rotator = {clock, files, runtime,
                                        [this](const std::string& from, const std::string& to) {
                                          return Compress(from, to);
                                        }},
                            .metrics = process->metrics,
                            .is_ours = [this](const std::string&) { return ours; }},
          config);
    });
    all.RunUntilIdle();
    ReportProblem(v1::ContainerRecord::RUNNING);
  }
  void ReportProblem(v1::ContainerRecord::State state) {
    process->loop.Post([this, state] {
      v1::RuntimeRecord record;
      record.mutable_pod()->set_uid("u1");
      auto& container = *record.mutable_pod()->add_containers();
      container.set_id(id.str());
      container.set_state(state);
      container.set_log_path(path);
      process->rotation->OnRuntimeChange("u1", &record);
    });
    all.RunUntilIdle();
  }
  void Kill() {
    all.Drop(process->owner);
    process.reset();
  }
  Status Compress(const std::string& from, const std::string& to) {
    if (!compress_error.ok()) return compress_error;
    ASSIGN_OR_RETURN(const std::string text, files.Read(from, 1 << 20), "read");
    return files.Replace(to, "packed " + text, {});
  }
  /// Writes as the container does, into the file that the runtime has open.
  void Write(size_t bytes) {
    const auto before = files.Read(path, 1 << 20);
    CHECK(files.Replace(path, (before.ok() ? *before : "") + std::string(bytes, 'x'), {}).ok());
  }
  LogNames Logs() {
    LogNames names;
    const auto entries = files.List(dir);
    for (const auto& entry : *entries) names.push_back(entry.name);
    return names;
  }
  uint64_t Size() { return files.Stat(path, false)->size; }
  int Warnings() const {
    int count = 0;
    for (const auto& line : sink.lines())
      count += line.message == "cannot rotate the log of a container, will try again" ? 1 : 0;
    return count;
  }
  std::string Metrics() const {
    return prometheus::TextSerializer().Serialize(process->registry.Collect());
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  fs::FakeFileSystem files{clock};
  cri::FakeRuntime runtime{clock,
                           {.append_file = [this](const std::string& file, const std::string&) {
                             if (!files.Stat(file, false).ok())
                               CHECK(files.Replace(file, "", {}).ok());
                           }}};
  FakeLogSink sink;
  const Log log{sink};
  GcConfig config;
  cri::ContainerId id;
  std::string path, dir;
  bool ours = true;
  Status compress_error;
  std::unique_ptr<Process> process;
};

TEST(LogRotation, ALogThatIsFullIsPutAsideAndOlderOnesAreCompressedAndRemoved) {
  LogNode node;
  node.Start();
  std::vector<LogNames> seen;
  for (int i = 0; i < 4; ++i) {
    node.Write(99);
    node.all.Advance(11s);
    EXPECT_EQ(node.Size(), 99u) << "one byte is missing";
    node.Write(1);
    node.all.Advance(11s);
    EXPECT_EQ(node.Size(), 0u);
    seen.push_back(node.Logs());
  }
  ASSERT_EQ(seen[0].size(), 2u);
  ASSERT_EQ(seen[1].size(), 3u);
  EXPECT_TRUE(seen[1][1].ends_with(".gz"));
  EXPECT_FALSE(seen[1][2].ends_with(".gz")) << "a reader may still have it open";
  ASSERT_EQ(seen[3].size(), 3u) << "with the live one";
  EXPECT_EQ(seen[3][1], seen[2][2] + ".gz");
  EXPECT_EQ(*node.files.Read(node.dir + "/" + seen[3][1], 200), "packed " + std::string(100, 'x'));
  EXPECT_NE(node.Metrics().find("splitlet_gc_log_rotations_total 4"), std::string::npos);
  EXPECT_EQ(node.Warnings(), 0);
}

TEST(LogRotation, AContainerThatWritesAsQuicklyAsItCanIsRotatedSooner) {
  LogNode node;
  node.Start();
  uint64_t longest = 0;
  for (int i = 0; i < 600; ++i) {
    node.all.Advance(100ms);
    longest = std::max(longest, node.Size());
    node.Write(20);  // 200 bytes a second: full after half of one
  }
  EXPECT_LE(longest, 250u) << "the period would leave 2000";
  EXPECT_LE(node.Logs().size(), 3u);
}

TEST(LogRotation, AQuietContainerCostsOneLookEachPeriod) {
  LogNode node;
  node.Start();
  node.all.Advance(60s);
  int looks = 0;
  node.files.SetHook([&](std::string_view operation, const std::string&) {
    EXPECT_EQ(operation, "stat");
    ++looks;
    return OkStatus();
  });
  node.all.Advance(100s);
  EXPECT_EQ(looks, 10);
}

TEST(LogRotation, OnlyLogsOfRunningContainersOfOurs) {
  LogNode node;
  node.ours = false;
  node.Start();
  node.Write(500);
  node.all.Advance(30s);
  EXPECT_EQ(node.Size(), 500u);
  node.ours = true;
  node.all.Advance(10s);
  EXPECT_EQ(node.Size(), 0u);
  node.ReportProblem(v1::ContainerRecord::EXITED);
  node.Write(500);
  node.all.Advance(30s);
  EXPECT_EQ(node.Size(), 500u);
  for (const char* elsewhere : {"/etc/passwd", "/var/log/pods/../../etc/x", "/var/log/pods2/x"}) {
    node.path = elsewhere;
    ASSERT_TRUE(node.files.Replace(node.path, std::string(500, 'x'), {}).ok());
    node.ReportProblem(v1::ContainerRecord::RUNNING);
    node.all.Advance(30s);
    EXPECT_EQ(node.Size(), 500u) << elsewhere << " is not below the root of logs";
  }
}

TEST(LogRotation, AContainerThatCannotBeToldWritesWhereItWrote) {
  LogNode node;
  node.Start();
  const int fault = node.runtime.AddFault(
      {.method = "ReopenContainerLog", .code = StatusCode::kFailedPrecondition});
  node.Write(500);
  node.all.Advance(60s);
  EXPECT_EQ(node.Logs().size(), 1u);
  EXPECT_EQ(node.Size(), 500u);
  EXPECT_EQ(node.Warnings(), 1);
  node.runtime.RemoveFault(fault);
  node.all.Advance(11s);
  EXPECT_EQ(node.Size(), 0u);
  // The answer is lost, but the log was reopened: the rotated file must not replace the new file.
  node.runtime.AddFault({.method = "ReopenContainerLog",
                         .kind = cri::Fault::Kind::kLoseResponse,
                         .code = StatusCode::kUnavailable});
  node.Write(500);
  node.all.Advance(11s);
  EXPECT_EQ(node.Size(), 0u);
  EXPECT_EQ(node.Logs().size(), 3u);
}

TEST(LogRotation, WithoutRoomForCompressedFilesLogsAreStillBounded) {
  LogNode node;
  node.compress_error = ResourceExhausted("No space left on device");
  node.Start();
  for (int i = 0; i < 10; ++i) {
    node.Write(100);
    node.all.Advance(11s);
    EXPECT_EQ(node.Size(), 0u);
  }
  EXPECT_EQ(node.Logs().size(), 3u);
  EXPECT_EQ(node.Warnings(), 1);
  EXPECT_NE(node.Metrics().find("splitlet_gc_errors_total{kind=\"log\"}"), std::string::npos);
}

TEST(LogRotation, ASizeOfZeroSwitchesItOff) {
  LogNode node;
  node.config.log_max_bytes = 0;
  node.Start();
  node.Write(5000);
  node.all.Advance(60s);
  EXPECT_EQ(node.Size(), 5000u);
}

/// Killed at each line that has an effect, the next start finishes.
TEST(LogRotation, KilledAtEachEffectTheNextStartFinishes) {
  for (const std::string point :
       {"gc.remove-log.before", "gc.remove-log.after", "gc.rotate-log.before",
        "gc.rotate-log.after-rename", "gc.rotate-log.after", "gc.compress-log.before",
        "gc.compress-log.after-write", "gc.compress-log.after-rename", "gc.compress-log.after"}) {
    SCOPED_TRACE(point);
    LogNode node;
    node.Start();
    for (int i = 0; i < 2; ++i) {
      node.Write(100);
      node.all.Advance(11s);
    }
    ASSERT_EQ(node.Logs().size(), 3u);
    FailPoints points(
        {.crash = [] { throw exec::Scheduler::CrashedHere{}; }, .delay = [](int64_t) {}});
    ASSERT_TRUE(points.Set(point, "crash").ok());
    bool crashed = false;
    node.all.SetAfterStep([&](const exec::Scheduler::Step&, bool died) { crashed |= died; });
    FailPoints::SetCurrent(&points);
    node.Write(100);
    node.all.Advance(11s);
    FailPoints::SetCurrent(nullptr);
    EXPECT_TRUE(crashed);
    node.Kill();
    node.Start();
    node.all.Advance(25s);
    const LogNames logs = node.Logs();
    ASSERT_EQ(logs.size(), 3u);
    EXPECT_EQ(node.Size(), 0u);
    EXPECT_TRUE(logs[1].ends_with(".gz")) << logs[1];
    EXPECT_FALSE(logs[2].ends_with(".gz") || logs[2].ends_with(".tmp")) << logs[2];
    EXPECT_EQ(*node.files.Read(node.dir + "/" + logs[1], 200), "packed " + std::string(100, 'x'));
    EXPECT_EQ(*node.files.Read(node.dir + "/" + logs[2], 200), std::string(100, 'x'));
  }
}

}  // namespace
}  // namespace splitlet::gc
