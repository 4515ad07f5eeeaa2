#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <list>
#include <thread>
#include <utility>

#include "libs/daemon/event_record.h"
#include "libs/daemon/event_recorder.h"
#include "libs/daemon/http_server.h"
#include "libs/daemon/lock_file.h"
#include "libs/daemon/log_sink.h"
#include "libs/daemon/metrics.h"
#include "libs/daemon/metrics_port.h"
#include "libs/daemon/metrics_text.h"
#include "libs/daemon/process_health.h"
#include "libs/daemon/restart_count.h"
#include "libs/daemon/supervisor.h"
#include "libs/exec/fake_exec.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/real_file_system.h"
#include "splitlet/v1/services.pb.h"
#include "tests/harness/child.h"

namespace splitlet::daemon {
namespace {

using harness::TempDir;

// Lock.

TEST(Lock, TheSecondStartIsRefusedWithThePidOfTheFirst) {
  const TempDir dir;
  auto first = LockFile::Take(dir / "state/pleg.lock");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = LockFile::Take(dir / "state/pleg.lock");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(second.status()),
            fmt::format("{} is held by process {}: this runs already with the same state directory",
                        dir / "state/pleg.lock", getpid()));
}

TEST(Lock, ItIsFreeAgainWhenItsHolderIsGone) {
  const TempDir dir;
  { ASSERT_TRUE(LockFile::Take(dir / "pleg.lock").ok()); }
  EXPECT_TRUE(LockFile::Take(dir / "pleg.lock").ok());
}

TEST(Lock, AFolderThatCannotBeMadeIsAnError) {
  const TempDir dir;
  std::ofstream(dir / "file") << "x";
  EXPECT_FALSE(LockFile::Take(dir / "file/pleg.lock").ok());
}

TEST(Lock, ALinkOrASecondNameOfAFileIsNotTaken) {
  const TempDir dir;
  std::ofstream(dir / "precious") << "content";
  std::filesystem::create_symlink(dir / "precious", dir / "link.lock");
  std::filesystem::create_hard_link(dir / "precious", dir / "hard.lock");
  std::filesystem::create_symlink(dir / "nothing", dir / "dangling.lock");
  for (const char* name : {"link.lock", "hard.lock", "dangling.lock"})
    EXPECT_FALSE(LockFile::Take(dir / name).ok()) << name;
  EXPECT_EQ(std::filesystem::file_size(dir / "precious"), 7u);
  EXPECT_FALSE(std::filesystem::exists(dir / "nothing"));
}

constexpr const char* kEndpoint = "unix:///run/containerd/containerd.sock";

TEST(Lock, OfTheRuntimeIsOneForEachSocketAndProcess) {
  const TempDir dir;
  const auto first = RuntimeLock::Take(kEndpoint, "gc", dir.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(RuntimeLock::Take(kEndpoint, "gc", dir.path()).ok());
  EXPECT_TRUE(RuntimeLock::Take(kEndpoint, "pod-worker", dir.path()).ok());
  EXPECT_TRUE(RuntimeLock::Take("unix:///run/crio/crio.sock", "gc", dir.path()).ok());
}

TEST(Lock, OfTheRuntimeIsInAFolderThatIsOursAndNoLink) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "elsewhere");
  std::filesystem::create_directory_symlink(dir / "elsewhere", dir / "splitlet");
  EXPECT_FALSE(RuntimeLock::Take(kEndpoint, "gc", dir.path()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir / "elsewhere"));
  std::filesystem::remove(dir / "splitlet");
  std::filesystem::create_directory(dir / "splitlet");
  ASSERT_EQ(chmod((dir / "splitlet").c_str(), 0777), 0);
  EXPECT_EQ(RuntimeLock::Take(kEndpoint, "gc", dir.path()).status().code(),
            StatusCode::kFailedPrecondition);
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((dir / "splitlet").c_str(), 0700), 0);
    ASSERT_EQ(chown((dir / "splitlet").c_str(), 12345, 12345), 0);
    EXPECT_EQ(RuntimeLock::Take(kEndpoint, "gc", dir.path()).status().code(),
              StatusCode::kFailedPrecondition);
  }
}

TEST(Lock, OfTheRuntimeIsThatOfEarlierVersionsTooUnlessItIsAStrangers) {
  const TempDir dir;
  std::string old;
  {
    ASSERT_TRUE(RuntimeLock::Take(kEndpoint, "gc", dir.path()).ok());
    for (const auto& entry : std::filesystem::directory_iterator(dir.path()))
      if (!entry.is_directory()) old = entry.path();
  }
  EXPECT_TRUE(old.ends_with("-gc")) << old;
  const auto earlier = LockFile::Take(old);
  ASSERT_TRUE(earlier.ok());
  EXPECT_FALSE(RuntimeLock::Take(kEndpoint, "gc", dir.path()).ok());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(old.c_str(), 12345, 12345), 0);
    EXPECT_TRUE(RuntimeLock::Take(kEndpoint, "gc", dir.path()).ok());
  }
}

// Logs.

const LogOrigin kOrigin{"pleg", 1234};
const WallTime kNoon{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} +
                     std::chrono::hours{12} + std::chrono::microseconds{42}};

TEST(LogFormat, TextIsLikeKlog) {
  const std::vector<LogField> fields = {KV("pod", "default/web"), KV("attempt", 3)};
  EXPECT_EQ(
      FormatText({LogLevel::kInfo, "sandbox created", fields}, kOrigin, kNoon),
      R"(I1121 12:00:00.000042    1234 pleg] "sandbox created" pod="default/web" attempt="3")");
}

TEST(LogFormat, JsonHasMillisecondsAndNoLevelOnErrors) {
  const std::vector<LogField> fields = {KV("pod", "default/web")};
  const std::string start = R"({"ts":1795262400000.042,"logger":"pleg","msg":"it broke")";
  EXPECT_EQ(FormatJson({LogLevel::kError, "it broke", fields}, kOrigin, kNoon),
            start + R"(,"pod":"default/web"})");
  EXPECT_EQ(FormatJson({LogLevel::kInfo, "it broke", {}}, kOrigin, kNoon), start + R"(,"v":0})");
  EXPECT_EQ(FormatJson({LogLevel::kDebug, "it broke", {}}, kOrigin, kNoon), start + R"(,"v":4})");
}

TEST(LogFormat, NoByteBreaksTheLine) {
  const struct {
    const char* name;
    std::string text;
    const char* want;
  } kCases[] = {
      {"quotes and backslashes", "a\"b\\c", R"("a\"b\\c")"},
      {"line breaks", "a\nb\r\t", R"("a\nb\r\t")"},
      {"control characters", std::string("a\0\x1b", 3), R"("a\u0000\u001b")"},
      {"UTF-8", "\xC3\xA4\xE2\x82\xAC", "\"\xC3\xA4\xE2\x82\xAC\""},
      {"a lone byte", "a\xFF", "\"a\xEF\xBF\xBD\""},
      {"half of a sequence", "\xE2\x82", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"a surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
  };
  for (const auto& c : kCases) EXPECT_EQ(Quoted(c.text), c.want) << c.name;
}

TEST(StderrLog, RemembersTheLastErrorOnly) {
  FakeClock clock;
  StderrSink sink(clock, {.origin = kOrigin});
  const Log log(sink);
  log.Info("fine");
  EXPECT_EQ(sink.last_error().text, "");
  log.Error("it broke", {KV("pod", "a")});
  log.Warn("degraded");
  EXPECT_EQ(sink.last_error().text, R"("it broke" pod="a")");
  EXPECT_EQ(sink.last_error().at, clock.WallNow());
  EXPECT_FALSE(sink.Enabled(LogLevel::kDebug));
}

/// While it exists, stderr is a pipe that no process reads.
class StoppedReader {
 public:
  StoppedReader() : saved_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe2(pipe_.data(), O_CLOEXEC), 0);
    EXPECT_GE(dup2(pipe_[1], STDERR_FILENO), 0);
  }
  ~StoppedReader() { Resume(); }
  /// Reads all that comes from now on, and lets stderr be what it was.
  void Resume() {
    if (pipe_[1] < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(std::exchange(pipe_[1], -1));
    reader_ = std::thread([this] {
      std::array<char, 4096> part{};
      while (read(pipe_[0], part.data(), part.size()) > 0) {
      }
    });
  }
  void Join() {
    if (reader_.joinable()) reader_.join();
    close(pipe_[0]);
  }

 private:
  int saved_;
  std::array<int, 2> pipe_{-1, -1};
  std::thread reader_;
};

TEST(StderrLog, AReaderThatHasStoppedHoldsUpNobodyAndLosesTheOldestLines) {
  const RealClock clock;
  StoppedReader stopped;
  {
    StderrSink sink(clock, {.origin = kOrigin, .patience = 1ms});
    const Log log(sink);
    const std::string kilobyte(1000, 'x');
    for (int i = 0; i < 1000; ++i) log.Info(kilobyte);
    for (int i = 0; i < 1000; ++i) log.Error(kilobyte);
    EXPECT_GT(sink.dropped(), 1000u);
    EXPECT_LT(sink.dropped(), 2000u);
    stopped.Resume();
  }
  stopped.Join();
}

TEST(StderrLog, ALineIsBounded) {
  const std::string text =
      FormatText({LogLevel::kInfo, std::string(100'000, 'a'), {KV("b", std::string(100'000, 'b'))}},
                 kOrigin, WallTime{});
  EXPECT_LT(text.size(), 10'000u);
}

using StderrLogDeathTest = testing::Test;

TEST(StderrLogDeathTest, LastWordsOutliveASigkill) {
  EXPECT_EXIT(
      {
        const RealClock clock;
        StderrSink sink(clock, {.origin = kOrigin, .patience = 10s});
        Log(sink).Info("said before");
        Log(sink).Error("last words");
        kill(getpid(), SIGKILL);
      },
      testing::KilledBySignal(SIGKILL), "said before.*\n.*last words");
}

// HTTP.

/// Sends `request` and reads until the server closes.
std::string Exchange(const std::string& address, const std::string& request) {
  const auto port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string reply;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = recv(fd, part.data(), part.size(), 0)) > 0;)
      reply.append(part.data(), static_cast<size_t>(got));
  }
  close(fd);
  return reply;
}

std::unique_ptr<HttpServer> EchoServer() {
  auto server = StartHttpServer("127.0.0.1:0", [](const std::string& path) {
    return path == "/ok" ? HttpReply{.body = "fine\n"}
                         : HttpReply{.status = 404, .body = "no " + path + "\n"};
  });
  EXPECT_TRUE(server.ok()) << server.status();
  return server.ok() ? std::move(*server) : nullptr;
}

TEST(Http, AnswersAndForgetsTheQuery) {
  const auto server = EchoServer();
  ASSERT_NE(server, nullptr);
  const std::string reply =
      Exchange(server->address(), "GET /ok?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 OK\r\n")) << reply;
  EXPECT_TRUE(reply.ends_with("\r\n\r\nfine\n")) << reply;
  EXPECT_TRUE(Exchange(server->address(), "GET /x HTTP/1.0\r\n\r\n")
                  .starts_with("HTTP/1.1 404 Not Found\r\n"));
}

TEST(Http, RefusesWhatItIsNotFor) {
  const auto server = EchoServer();
  ASSERT_NE(server, nullptr);
  const std::string post = Exchange(
      server->address(), "POST /ok HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 ")) << post;
  const std::string head =
      Exchange(server->address(), "HEAD /ok HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_NE(head.find("Content-Length: 5\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n")) << head;
  const std::string endless(1 << 20, 'a'), chunked = "Transfer-Encoding: chunked\r\n\r\n";
  const std::pair<std::string, const char*> kCases[] = {
      {"GET /" + endless, "431"},
      {"GET / HTTP/1.1\r\nA: " + endless, "431"},
      {"GET / HTTP/1.1\r\n" + chunked + "1;" + endless, "400"},
      {"GET / HTTP/1.1\r\n" + chunked + "0\r\na: " + endless, "400"},
      {"GET / HTTP/1.1\r\nContent-Length: 2000\r\n\r\n" + endless, "413"},
      {"nonsense\r\n\r\n", "400"},
  };
  for (const auto& [sent, code] : kCases)
    EXPECT_TRUE(
        Exchange(server->address(), sent).starts_with(std::string("HTTP/1.1 ") + code + " "))
        << sent.substr(0, 70);
  EXPECT_TRUE(Exchange(server->address(), "GET /ok HTTP/1.0\r\n\r\n").ends_with("fine\n"))
      << "it still serves";
}

/// A connection that says nothing, as any user of the machine can make.
class Idle {
 public:
  explicit Idle(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }
  ~Idle() { close(fd_); }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

TEST(Http, WhoSaysNothingKeepsNobodyOut) {
  const auto server = EchoServer();
  std::list<Idle> idle;
  for (int i = 0; i < 200; ++i) idle.emplace_back(server->address());
  EXPECT_TRUE(
      Exchange(server->address(), "GET /ok HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
          .ends_with("fine\n"));
}

TEST(MetricsPort, OneThatIsTakenIsTriedAgain) {
  const harness::TempDir dir("port");
  FakeLogSink sink;
  const Log log(sink);
  fs::RealFileSystem files;
  auto squatter = EchoServer();
  const auto handler = [](const std::string&) { return HttpReply{.body = "ours\n"}; };
  MetricsPort port({.address = squatter->address(), .file = dir / "http.addr"}, handler, files,
                   log);
  EXPECT_FALSE(port.Try().ok());
  EXPECT_FALSE(port.Try().ok());
  EXPECT_FALSE(port.listens());
  EXPECT_EQ(port.trouble(),
            "--http-address: listen on " + squatter->address() + ": Address already in use");
  EXPECT_EQ(sink.lines().size(), 1u) << "logged once";
  EXPECT_FALSE(std::filesystem::exists(dir / "http.addr"));
  const std::string address = squatter->address();
  squatter = nullptr;
  EXPECT_TRUE(port.Try().ok());
  EXPECT_EQ(port.trouble(), "");
  EXPECT_EQ(port.address(), address);
  EXPECT_EQ(harness::ReadFile(dir / "http.addr"), address + "\n");
  EXPECT_TRUE(Exchange(address, "GET /ok HTTP/1.0\r\n\r\n").ends_with("ours\n"));
  MetricsPort nowhere({.address = "nowhere", .file = dir / "http.addr"}, handler, files, log);
  EXPECT_EQ(nowhere.Try().code(), StatusCode::kInvalidArgument);
}

TEST(MetricsText, NumbersAreShortestAndReadBack) {
  const std::pair<double, const char*> kCases[] = {
      {0, "0"},
      {0.25, "0.25"},
      {119.20928955078125, "119.20928955078125"},
      {1.0 / 3, "0.3333333333333333"},
      {999999, "999999"},
      {1e6, "1e+06"},
      {123456789, "1.23456789e+08"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {-2.5, "-2.5"},
      {5e-324, "5e-324"},
      {std::numeric_limits<double>::infinity(), "+Inf"},
      {-std::numeric_limits<double>::infinity(), "-Inf"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
  };
  for (const auto& [value, text] : kCases) {
    EXPECT_EQ(NumberText(value), text);
    if (value == value) {
      EXPECT_EQ(std::strtod(text, nullptr), value);
    }
  }
}

TEST(MetricsText, FamiliesAreAsPrometheusReadsThem) {
  prometheus::Registry registry;
  prometheus::BuildCounter()
      .Name("a_total")
      .Help("of \\ and\nlines")
      .Register(registry)
      .Add({{"x", "q\"b\\n\n"}})
      .Increment(3);
  prometheus::BuildHistogram()
      .Name("h")
      .Help("")
      .Register(registry)
      .Add({{"x", "y"}}, prometheus::Histogram::BucketBoundaries{119.20928955078125})
      .Observe(2);
  prometheus::BuildGauge().Name("g").Help("gauge").Register(registry).Add({}).Set(0.5);
  const std::string text = MetricsText(registry.Collect());
  for (const char* wanted :
       {"# HELP a_total of \\\\ and\\nlines\n# TYPE a_total counter\na_total{x=\"q\\\"b\\\\n\\n\"} "
        "3\n",
        "# TYPE h histogram\nh_bucket{x=\"y\",le=\"119.20928955078125\"} 1\n"
        "h_bucket{x=\"y\",le=\"+Inf\"} 1\nh_sum{x=\"y\"} 2\nh_count{x=\"y\"} 1\n",
        "# HELP g gauge\n# TYPE g gauge\ng 0.5\n"})
    EXPECT_NE(text.find(wanted), std::string::npos) << wanted << text;
}

TEST(Http, BadAddressesAreNamed) {
  const auto handler = [](const std::string&) { return HttpReply{}; };
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "host:1", "127.0.0.1:1x"}) {
    const auto server = StartHttpServer(address, handler);
    ASSERT_FALSE(server.ok()) << address;
    EXPECT_TRUE(Message(server.status()).starts_with("--http-address: ")) << server.status();
  }
  const auto server = EchoServer();
  EXPECT_FALSE(StartHttpServer(server->address(), handler).ok()) << "the port is taken";
}

TEST(Scraping, EveryProcessHasTheseMetrics) {
  prometheus::Registry registry;
  const Metrics metrics(registry, "pleg", "1.2.3");
  const std::string text = Scrape(registry);
  for (const char* line :
       {"splitlet_build_info{process=\"pleg\",version=\"1.2.3\"} 1\n", "splitlet_process_ready 0\n",
        "splitlet_process_restarts 0\n", "splitlet_bus_connected 0\n",
        "splitlet_loop_lag_seconds_count 0\n", "splitlet_loop_last_turn_age_seconds 0\n",
        "splitlet_pool_threads 0\n", "splitlet_pool_busy_threads 0\n",
        "splitlet_pool_waiting_strands 0\n", "splitlet_events_sent_total 0\n",
        "splitlet_events_dropped_total 0\n", "# TYPE process_cpu_seconds_total counter\n",
        "# TYPE process_resident_memory_bytes gauge\n", "# TYPE process_open_fds gauge\n",
        "# TYPE process_start_time_seconds gauge\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST(Scraping, FailPointsAndLogLinesAreCounted) {
  FakeClock clock;
  prometheus::Registry registry;
  Metrics metrics(registry, "pleg", "1.2.3");
  StderrSink sink(clock, {.origin = {"pleg", 1}, .level = LogLevel::kInfo});
  Log(sink).Warn("for the test");
  Log(sink).Debug("not written");
  FailPoints points({.crash = [] {}, .delay = [](int64_t) {}});
  ASSERT_TRUE(points.SetAll("a.b=delay(1ms);c.d=off").ok());
  points.Lock();
  points.Hit("a.b");
  points.Hit("a.b");
  metrics.Update(sink, points);
  metrics.Update(sink, points);
  const std::string text = Scrape(registry);
  for (const char* line : {"splitlet_fail_points_armed 1\n", "splitlet_fail_points_locked 1\n",
                           "splitlet_fail_point_hits_total{point=\"a.b\"} 2\n",
                           "splitlet_log_lines_total{level=\"warn\"} 1\n",
                           "splitlet_log_lines_total{level=\"debug\"} 0\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  EXPECT_EQ(text.find("point=\"c.d\""), std::string::npos) << "only what acted has a row";
}

// Restart count.

TEST(RestartCount, AreCountedWithinOneBoot) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  const std::string path = "/run/pleg/starts";
  const auto start = [&] {
    return CountStart(files, clock, path).value_or(RestartCount{99, "error"});
  };
  EXPECT_EQ(start().before, 0U);
  EXPECT_EQ(start().before, 1U);
  clock.SetBoot(77);
  EXPECT_EQ(start().before, 0U) << "another boot counts from 0";
  ASSERT_TRUE(files.Replace(path, "nonsense", {}).ok());
  EXPECT_EQ(start().before, 0U) << "a broken file counts as none";
}

TEST(RestartCount, KnowWhatEndedTheOneBefore) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  const std::string path = "/run/pleg/starts";
  const auto start = [&] {
    return CountStart(files, clock, path).value_or(RestartCount{99, "error"});
  };
  EXPECT_EQ(start().reason, "boot");
  EXPECT_EQ(start().reason, "died");
  ASSERT_TRUE(RecordStop(files, clock, path).ok());
  const RestartCount after_stop = start();
  EXPECT_EQ(after_stop.reason, "stopped");
  EXPECT_EQ(after_stop.before, 2U);
  EXPECT_EQ(start().reason, "died") << "a stop counts once";
  ASSERT_TRUE(RecordStop(files, clock, path).ok());
  clock.SetBoot(77);
  EXPECT_EQ(start().reason, "boot") << "whatever ended it in another boot";
}

// ProcessHealth.

TEST(ProcessHealth, AHungLoopIsNotLiveAndNotReady) {
  FakeClock clock;
  ProcessHealth health(clock);
  EXPECT_TRUE(health.Live().ready);
  EXPECT_EQ(health.Ready().reason, "starting");
  health.Set({.turned_at = clock.Now(), .health = {}});
  EXPECT_TRUE(health.Ready().ready);
  clock.Advance(ProcessHealth::kLiveLimit);
  EXPECT_TRUE(health.Live().ready) << "at the limit";
  clock.Advance(1s);
  EXPECT_FALSE(health.Live().ready);
  EXPECT_EQ(health.Ready().reason, "the event loop has not turned for 11 s");
}

// Events.

struct RecorderFixture {
  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  Status answer = OkStatus();
  std::vector<size_t> batches;
  size_t sent = 0, dropped = 0;
  BatchingRecorder recorder{{.loop = loop,
                             .strands = strands,
                             .send =
                                 [this](const std::vector<PodEvent>& events) {
                                   batches.push_back(events.size());
                                   return answer;
                                 },
                             .on_sent = [this](size_t n) { sent += n; },
                             .on_dropped = [this](size_t n) { dropped += n; }}};
  void Record(size_t count) {
    for (size_t i = 0; i < count; ++i)
      recorder.Record({.reason = "Pulled", .name = std::to_string(i)});
  }
};

TEST(Recorder, EventsGoInBatches) {
  RecorderFixture f;
  f.Record(250);
  f.loop.Advance(1s);
  EXPECT_EQ(f.batches, (std::vector<size_t>{100, 100, 50}));
  EXPECT_EQ(f.sent, 250U);
  f.loop.Advance(10s);
  EXPECT_EQ(f.batches.size(), 3U) << "nothing is sent without events";
}

TEST(Recorder, AnEventNamesItsContainerAsAKubeletDoes) {
  EXPECT_EQ(FieldPathOf({}), "");
  EXPECT_EQ(FieldPathOf({.container = "app"}), "spec.containers{app}");
  EXPECT_EQ(FieldPathOf({.container = "i", .init_container = true}), "spec.initContainers{i}");
  EXPECT_EQ(FieldPathOf({.container = "e", .ephemeral_container = true}),
            "spec.ephemeralContainers{e}");
}

TEST(Events, TheStepOfAStartIsInTheRecord) {
  using Step = PodEvent::Step;
  EXPECT_EQ(RecordOf({}).step(), v1::EventRecord::OTHER) << "so that a reader sees it is known";
  EXPECT_EQ(RecordOf({.step = Step::kPullBegan}).step(), v1::EventRecord::PULL_BEGAN);
  EXPECT_EQ(RecordOf({.step = Step::kPullEnded}).step(), v1::EventRecord::PULL_ENDED);
}

TEST(Events, OneOfTheNodeStandsInDefaultAndNamesItTwice) {
  const auto event = NodeEvent("node-a", {.reason = "Rebooted", .message = "m", .warning = true});
  const auto record = RecordOf(event);
  EXPECT_EQ(record.kind(), "Node");
  EXPECT_EQ(record.namespace_(), "default");
  EXPECT_EQ(record.name(), "node-a");
  EXPECT_EQ(record.uid(), "node-a");
  EXPECT_EQ(record.type() + " " + record.reason() + " " + record.message(), "Warning Rebooted m");
  EXPECT_EQ(record.component(), "kubelet");
  EXPECT_EQ(record.field_path(), "");
  EXPECT_EQ(RecordOf(NodeEvent("node-a", {})).type(), "Normal");
}

TEST(Recorder, WhileStatusIsAwayTheBoundHoldsAndLossIsCounted) {
  RecorderFixture f;
  f.answer = Unavailable("away");
  f.Record(BatchingRecorder::kMaxWaiting + 7);
  EXPECT_EQ(f.dropped, 7U);
  f.loop.Advance(5s);
  EXPECT_EQ(f.sent, 0U);
  f.answer = OkStatus();
  f.loop.Advance(10s);
  EXPECT_EQ(f.sent, BatchingRecorder::kMaxWaiting) << "what waited is sent when status is back";
  EXPECT_EQ(f.dropped, 7U);
}

TEST(Recorder, WhatStatusRefusesIsDropped) {
  RecorderFixture f;
  f.answer = InvalidArgument("no");
  f.Record(3);
  f.loop.Advance(1s);
  EXPECT_EQ(f.dropped, 3U);
  f.answer = OkStatus();
  f.Record(1);
  f.loop.Advance(1s);
  EXPECT_EQ(f.sent, 1U);
}

// Supervisor.

class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    close(fd_);
    unsetenv("NOTIFY_SOCKET");
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  std::string Receive() const {
    std::array<char, 100> text{};
    const ssize_t got = recv(fd_, text.data(), text.size(), MSG_DONTWAIT);
    return got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : "";
  }

 private:
  int fd_;
};

TEST(Supervisor, IsToldBySocketWhenThereIsOne) {
  unsetenv("NOTIFY_SOCKET");
  EXPECT_TRUE(NotifySupervisor("READY=1").ok()) << "no supervisor is no error";
  const TempDir dir;
  const NotifySocket socket(dir / "notify");
  EXPECT_TRUE(NotifySupervisor("READY=1").ok());
  EXPECT_EQ(socket.Receive(), "READY=1");
}

TEST(Supervisor, TheWatchdogIsHalfItsLimitAndNeverHasty) {
  const struct {
    const char* name;
    const char* usec;
    const char* pid;
    int64_t want_ms;  // -1: an error; 0: none
  } kCases[] = {
      {"none is asked for", nullptr, nullptr, 0},
      {"ten seconds", "10000000", nullptr, 5000},
      {"of another process", "10000000", "1", 0},
      {"two seconds are too short", "2000000", nullptr, -1},
      {"no number", "abc", nullptr, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    c.usec != nullptr ? setenv("WATCHDOG_USEC", c.usec, 1) : unsetenv("WATCHDOG_USEC");
    c.pid != nullptr ? setenv("WATCHDOG_PID", c.pid, 1) : unsetenv("WATCHDOG_PID");
    const auto period = WatchdogPeriod();
    EXPECT_EQ(period.ok(), c.want_ms >= 0);
    if (period.ok()) {
      EXPECT_EQ(period->value_or(Duration{0}) / 1ms, c.want_ms);
    }
  }
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

}  // namespace
}  // namespace splitlet::daemon
