#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "libs/exec/loop_thread.h"
#include "libs/exec/on_loop.h"
#include "libs/exec/strand_pool.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/real_file_system.h"
#include "libs/rpc/rpc.h"
#include "services/config-source/config_source_fixture.h"
#include "services/config-source/rpc.h"
#include "services/config-source/sources/http/curl_fetcher.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "tests/harness/child.h"

/// config-source on real files, inotify, threads and gRPC; and the fetcher against a server.

namespace splitlet::config_source {
namespace {

using harness::TempDir;

/// The whole process without bus and supervisor. State of the loop is used on the loop only.
class RealProcess {
 public:
  RealProcess() {
    std::filesystem::create_directory(dir / "m");
    thread_ = std::thread([this] { loop_.Run(); });
    OnLoop([this] { Make(); });
    auto started = rpc::StartServer(
        {.socket_path = dir / "rpc.sock", .services = process_->GrpcServices()}, log_);
    CHECK(started.ok(), "{}", started.status());
    server_ = *std::move(started);
    channel_ = rpc::Connect(dir / "rpc.sock");
    stub_ = v1::ConfigSource::NewStub(channel_);
  }
  ~RealProcess() {
    server_->Stop(1s);
    strands_.Stop();
    loop_.Stop();
    thread_.join();
    process_.reset();
    workers_.reset();
    bus_.reset();
    other_bus_.reset();
  }

  void OnLoop(const std::function<void()>& f) { exec::OnLoop(loop_, f); }
  /// Writes in place, as an editor or `cp` does.
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir / ("m/" + name)) << text;
  }
  /// As of a source that has nothing while the loop is too busy to answer.
  v1::Source FileSourceState() {
    v1::Sources sources;
    rpc::ClientCall call(clock_, After(clock_, 5s));
    const grpc::Status status = stub_->GetSources(&call.context(), {}, &sources);
    EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::UNAVAILABLE)
        << status.error_message();
    return sources.sources_size() == 1 ? sources.sources(0) : v1::Source();
  }
  StatusOr<v1::GetDesiredReply> GetPod(const std::string& uid) {
    v1::GetDesiredRequest request;
    request.set_uid(uid);
    v1::GetDesiredReply reply;
    rpc::ClientCall call(clock_, After(clock_, 5s));
    const Status status = rpc::FromGrpc(stub_->GetPod(&call.context(), request, &reply));
    if (!status.ok()) return status;
    return reply;
  }
  bool WaitFor(const std::function<bool()>& condition) {
    const auto end = clock_.Now() + 30s;
    while (clock_.Now() < end) {
      if (condition()) return true;
      std::this_thread::yield();
    }
    return false;
  }
  std::string Scrape() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }

  TempDir dir;

 private:
  void Make() {
    bus_ = std::make_unique<bus::FakeBus>(*network_, "config-source", loop_);
    other_bus_ = std::make_unique<bus::FakeBus>(*network_, "pod-worker", loop_);
    workers_ = std::make_unique<bus::Table<v1::WorkerRecord>>(
        *bus::Own<v1::WorkerRecord>(*other_bus_, "workers"));
    bus::Completeness complete;
    complete.scopes = {std::string(bus::kAll)};
    workers_->SetComplete(complete);
    ConfigSourceConfig config{
        .node_name = "node-a", .static_pod_path = dir / "m", .records_directory = dir / "records"};
    const exec::Env env{
        .clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = registry_};
    const auto metrics = std::make_shared<ConfigMetrics>(registry_);
    auto sources = MakeSources({.env = env,
                                .files = files_,
                                .watcher = fs::MakeInotifyWatcher(),
                                .fetcher = MakeCurlFetcher(clock_),
                                .metrics = metrics},
                               config);
    process_ = ServeConfigSource(
        loop_, std::make_unique<ConfigSourceService>(ConfigSourceDeps{
                   .env = env,
                   .metrics = metrics,
                   .records = std::make_shared<fs::RecordStore>(
                       files_, clock_, fs::RecordStore::Options{config.records_directory}),
                   .sources = std::move(sources),
                   .table = *bus::Own<v1::DesiredRecord>(*bus_, "desired"),
                   .workers = *bus::ViewOf<v1::WorkerRecord>(*bus_, "workers"),
                   .events = events_}));
    process_->Start();
  }

  RealClock clock_;
  FakeLogSink sink_;
  const Log log_{sink_};
  daemon::FakeEventRecorder events_;
  prometheus::Registry registry_;
  fs::RealFileSystem files_;
  exec::LoopThread loop_{clock_};
  exec::StrandPool strands_{{}};
  std::unique_ptr<bus::FakeBusNetwork> network_ = std::make_unique<bus::FakeBusNetwork>(clock_, 1);
  std::unique_ptr<bus::FakeBus> bus_, other_bus_;
  std::unique_ptr<bus::Table<v1::WorkerRecord>> workers_;
  std::unique_ptr<daemon::Service> process_;
  std::thread thread_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::ConfigSource::Stub> stub_;
};

TEST(RealParts, AManifestIsSeenChangedAndGone) {
  RealProcess process;
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().complete(); }));
  process.Write("web.yaml", Manifest("web", "nginx:1", "fixed"));
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().pods() == 1; }));
  ASSERT_TRUE(process.WaitFor([&] {
    const auto reply = process.GetPod("fixed");
    return reply.ok() && reply->known() && reply->record().state() == v1::DesiredRecord::WANTED;
  }));
  process.Write("bad.yaml", "kind: Pod\n");
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().problems_size() == 1; }));
  EXPECT_TRUE(process.GetPod("fixed").ok()) << "it is known, whatever is incomplete";
  EXPECT_EQ(process.GetPod("unknown").status().code(), StatusCode::kUnavailable);
  std::filesystem::remove(process.dir / "m/bad.yaml");
  std::filesystem::remove(process.dir / "m/web.yaml");
  ASSERT_TRUE(process.WaitFor([&] {
    const auto reply = process.GetPod("fixed");
    return reply.ok() && reply->known() && reply->record().state() == v1::DesiredRecord::REMOVED;
  }));
  const auto unknown = process.GetPod("unknown");
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->known());
}

TEST(RealParts, ADirectoryThatIsMadeAgainIsWatchedAgain) {
  RealProcess process;
  process.Write("a.yaml", Manifest("a"));
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().pods() == 1; }));
  std::filesystem::rename(process.dir / "m", process.dir / "away");
  ASSERT_TRUE(process.WaitFor([&] { return !process.FileSourceState().complete(); }));
  std::filesystem::create_directory(process.dir / "m");
  process.Write("a.yaml", Manifest("a"));
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().complete(); }));
  process.Write("b.yaml", Manifest("b"));
  EXPECT_TRUE(process.WaitFor([&] { return process.FileSourceState().pods() == 2; }));
}

TEST(RealParts, FiveHundredManifestsArriveTogether) {
  RealProcess process;
  for (int i = 0; i < 500; ++i)
    process.Write(fmt::format("p{}.yaml", i), Manifest(fmt::format("p{}", i)));
  EXPECT_TRUE(process.WaitFor([&] {
    const auto source = process.FileSourceState();
    return source.complete() && source.pods() == 500;
  }));
}

TEST(RealParts, AScrapeHasTheNamesThatDashboardsUse) {
  RealProcess process;
  ASSERT_TRUE(process.WaitFor([&] { return process.FileSourceState().complete(); }));
  const std::string scrape = process.Scrape();
  std::set<std::string> names;
  for (size_t at = 0; (at = scrape.find("# TYPE ", at)) != std::string::npos; ++at)
    names.insert(scrape.substr(at + 7, scrape.find('\n', at) - at - 7));
  EXPECT_EQ(
      names,
      (std::set<std::string>{
          "splitlet_config_fact_errors_total counter", "splitlet_config_operations_total counter",
          "splitlet_config_pods gauge", "splitlet_config_problems gauge",
          "splitlet_config_put_errors_total counter",
          "splitlet_config_read_duration_seconds histogram", "splitlet_config_removed_pods gauge",
          "splitlet_config_source_complete gauge", "splitlet_config_source_watched gauge"}));
  EXPECT_NE(scrape.find("splitlet_config_source_complete{source=\"file\"} 1"), std::string::npos);
  EXPECT_NE(scrape.find("splitlet_config_operations_total{operation=\"ADD\",source=\"file\"} 0"),
            std::string::npos)
      << scrape;
}

/// Answers every request with one text, and keeps the request.
class TestServer {
 public:
  TestServer() {
    listen_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::bind(listen_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    CHECK(::listen(listen_, 8) == 0);
    socklen_t length = sizeof(address);
    CHECK(::getsockname(listen_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TestServer() {
    ::shutdown(listen_, SHUT_RDWR);
    thread_.join();
    ::close(listen_);
  }
  std::string Url() const { return fmt::format("http://127.0.0.1:{}/pods", port_); }
  void Answer(const std::string& head, const std::string& body) {
    const std::lock_guard lock(mutex_);
    answer_ = fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", head,
                          body.size(), body);
  }
  std::string last_request() {
    const std::lock_guard lock(mutex_);
    return request_;
  }

 private:
  void Serve() {
    while (true) {
      const int connection = ::accept(listen_, nullptr, nullptr);
      if (connection < 0) return;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(connection, buffer, sizeof(buffer), 0);
        if (n <= 0) break;
        request.append(buffer, static_cast<size_t>(n));
      }
      std::string answer;
      {
        const std::lock_guard lock(mutex_);
        request_ = request;
        answer = answer_;
      }
      size_t sent = 0;
      while (sent < answer.size()) {
        const ssize_t n =
            ::send(connection, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += static_cast<size_t>(n);
      }
      ::close(connection);
    }
  }

  int listen_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::string answer_, request_;
  std::thread thread_;
};

/// The contract of a fetcher, fake or real.
void CheckFetcher(HttpFetcher& fetcher, const Clock& clock, const std::string& url,
                  const std::function<void(int, std::string, std::string)>& answer) {
  const HttpRequest request{url, {{"X-A", {"1", "2"}}}, 100};
  answer(200, "OK", "hello");
  auto reply = fetcher.Get(request, After(clock, 10s));
  ASSERT_TRUE(reply.ok()) << ToString(reply.status());
  EXPECT_EQ(reply->code, 200);
  EXPECT_EQ(reply->body, "hello");
  answer(404, "Not Found", "gone");
  reply = fetcher.Get(request, After(clock, 10s));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->code, 404);
  EXPECT_EQ(reply->status, "404 Not Found");
  answer(200, "OK", "");
  reply = fetcher.Get(request, After(clock, 10s));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply->body, "");
  answer(200, "OK", std::string(99, 'x'));
  EXPECT_TRUE(fetcher.Get(request, After(clock, 10s)).ok());
  answer(200, "OK", std::string(100, 'x'));
  const auto too_long = fetcher.Get(request, After(clock, 10s));
  EXPECT_EQ(too_long.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(too_long.status()), "the read limit is reached");
}

TEST(FetcherContract, TheFakeKeepsIt) {
  const RealClock clock;
  FakeHttpFetcher fetcher;
  CheckFetcher(
      fetcher, clock, "http://x", [&](int code, const std::string& status, std::string body) {
        fetcher.Answer(HttpReply{code, fmt::format("{} {}", code, status), std::move(body)});
      });
}

TEST(FetcherContract, LibcurlKeepsIt) {
  const RealClock clock;
  TestServer server;
  const auto fetcher = MakeCurlFetcher(clock);
  CheckFetcher(*fetcher, clock, server.Url(),
               [&](int code, const std::string& status, const std::string& body) {
                 server.Answer(fmt::format("{} {}", code, status), body);
               });
  EXPECT_NE(server.last_request().find("X-A: 1\r\n"), std::string::npos);
  EXPECT_NE(server.last_request().find("X-A: 2\r\n"), std::string::npos);
}

TEST(CurlFetcher, FollowsRedirectsUpToTen) {
  const RealClock clock;
  TestServer server;
  server.Answer("302 Found\r\nLocation: /pods", "");
  const auto reply = MakeCurlFetcher(clock)->Get({server.Url(), {}, 100}, After(clock, 10s));
  EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
}

TEST(CurlFetcher, HeadersGoToNoOtherPlace) {
  const RealClock clock;
  TestServer first, other;
  const auto fetcher = MakeCurlFetcher(clock);
  const HttpRequest request{first.Url(), {{"X-Token", {"hunter2"}}}, 100};
  other.Answer("200 OK", "from the other");
  first.Answer("302 Found\r\nLocation: " + other.Url() + "/pods", "");
  const auto reply = fetcher->Get(request, After(clock, 10s));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->body, "from the other");
  EXPECT_NE(first.last_request().find("hunter2"), std::string::npos);
  EXPECT_EQ(other.last_request().find("hunter2"), std::string::npos);
}

TEST(CurlFetcher, APlaceIsSchemeHostAndPort) {
  const std::pair<const char*, const char*> kCases[] = {
      {"https://Host/a", "https://host:443"},    {"HTTP://u:p@host?x", "http://host:80"},
      {"http://host:8080/", "http://host:8080"}, {"http://[::1]/", "http://[::1]:80"},
      {"http://[::1]:81", "http://[::1]:81"},    {"nothing", ""},
  };
  for (const auto& [url, want] : kCases) EXPECT_EQ(http::PlaceOf(url), want) << url;
}

TEST(CurlFetcher, AServerThatIsAwayIsUnavailable) {
  const RealClock clock;
  std::string url;
  {
    TestServer server;
    url = server.Url();
  }
  const auto reply = MakeCurlFetcher(clock)->Get({url, {}, 100}, After(clock, 10s));
  EXPECT_EQ(reply.status().code(), StatusCode::kUnavailable);
}

TEST(CurlFetcher, NeverWaitsBeyondItsDeadline) {
  const RealClock clock;
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(silent, 1), 0);
  socklen_t length = sizeof(address);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const auto url = fmt::format("http://127.0.0.1:{}/", ntohs(address.sin_port));
  const auto reply = MakeCurlFetcher(clock)->Get({url, {}, 100}, After(clock, 100ms));
  EXPECT_EQ(reply.status().code(), StatusCode::kDeadlineExceeded);
  ::close(silent);
}

}  // namespace
}  // namespace splitlet::config_source
