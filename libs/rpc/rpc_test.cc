#include "libs/rpc/rpc.h"

#include <grpc/support/time.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <latch>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "libs/base/cancel.h"
#include "libs/base/fake_span_sink.h"
#include "libs/base/trace.h"
#include "libs/rpc/call_limits.h"
#include "libs/rpc/call_metrics.h"
#include "libs/rpc/guard.h"
#include "splitlet/v1/services.grpc.pb.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::rpc {
namespace {

using harness::TempDir;

/// SetFault does what its name says; GetProcess says who asks; ListFaults blocks until let go.
class TestAdmin final : public v1::Admin::Service {
 public:
  grpc::Status GetProcess(grpc::ServerContext* context, const v1::GetProcessRequest*,
                          v1::ProcessInfo* info) override {
    const Peer peer = PeerOf(*context);
    info->set_pid(peer.pid);
    info->set_restarts(peer.uid);
    info->set_name(TraceparentOf(*context));
    left = TimeLeft(*context, 1h);
    return grpc::Status::OK;
  }
  grpc::Status SetFault(grpc::ServerContext*, const v1::SetFaultRequest* request,
                        v1::FaultList*) override {
    return ToGrpc(NotFound("no {}", request->name()));
  }
  grpc::Status ListFaults(grpc::ServerContext* context, const v1::ListFaultsRequest*,
                          v1::FaultList*) override {
    if (on_list) {
      on_list(*context);
      return grpc::Status::OK;
    }
    ++blocked;
    blocked.notify_all();
    while (!released && !context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::OK;
  }
  void Release() { released = true; }
  std::atomic<int> blocked = 0;
  std::atomic<bool> released = false;
  std::atomic<Duration> left = Duration{0};                   // to the caller of GetProcess
  std::function<void(grpc::ServerContext& context)> on_list;  // set: ListFaults does this instead
};

struct World {
  World() { options.services = {&admin}; }
  ~World() { admin.Release(); }
  void Start() {
    auto started = StartServer(options, Log(sink));
    ASSERT_TRUE(started.ok()) << ToString(started.status());
    server = *std::move(started);
  }
  StatusOr<v1::ProcessInfo> GetProcess(Duration limit, const std::string& traceparent = {}) {
    ClientCall call(clock, After(clock, limit), traceparent);
    v1::ProcessInfo info;
    const Status status = FromGrpc(stub->GetProcess(&call.context(), {}, &info));
    if (!status.ok()) return status;
    return info;
  }
  Status ListFaults(const Deadline& deadline) {
    ClientCall call(clock, deadline);
    v1::FaultList list;
    return FromGrpc(stub->ListFaults(&call.context(), {}, &list));
  }
  TempDir dir;
  FakeLogSink sink;
  RealClock clock;
  TestAdmin admin;
  ServerOptions options{.socket_path = SocketPath(dir.path(), "pleg")};
  std::unique_ptr<Server> server;
  std::shared_ptr<grpc::Channel> channel = Connect(options.socket_path);
  std::unique_ptr<v1::Admin::Stub> stub = v1::Admin::NewStub(channel);
};

TEST(Rpc, StatusesKeepTheirCodeAndText) {
  for (int code = 0; code <= 16; ++code) {
    const Status status = MakeStatus(static_cast<StatusCode>(code), code == 0 ? "" : "why");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
}

TEST(Rpc, AMessageFromAPeerIsTextAndBounded) {
  const Status status =
      FromGrpc({grpc::StatusCode::UNKNOWN, "exec \"\xFF\": " + std::string(100'000, 'x')});
  EXPECT_EQ(status.code(), StatusCode::kUnknown);
  EXPECT_TRUE(Message(status).starts_with("exec \"\uFFFD\": x"));
  EXPECT_EQ(Message(status).size(), 16u << 10);
}

TEST(Rpc, TheHandlerKnowsWhoCallsAndTheTrace) {
  World world;
  world.Start();
  const auto info = world.GetProcess(10s, "00-abc-def-01");
  ASSERT_TRUE(info.ok()) << ToString(info.status());
  EXPECT_EQ(info->pid(), getpid());
  EXPECT_EQ(info->restarts(), geteuid());
  EXPECT_EQ(info->name(), "00-abc-def-01");
}

std::map<SpanKind, SpanRecord> ByKind(const FakeSpanSink& sink) {
  std::map<SpanKind, SpanRecord> spans;
  for (SpanRecord& span : sink.spans()) spans[span.kind] = std::move(span);
  return spans;
}

TEST(Rpc, TheHandlerKnowsHowLongItsCallerWaits) {
  World world;
  world.Start();
  ASSERT_TRUE(world.GetProcess(1min).ok());
  EXPECT_GT(world.admin.left.load(), 0s);
  EXPECT_LE(world.admin.left.load(), 1min);
  ASSERT_TRUE(world.GetProcess(10h).ok());
  EXPECT_EQ(world.admin.left.load(), 1h);
  EXPECT_EQ(TimeLeft(grpc::ServerContext(), 30s), 30s) << "it waits for ever";
}

TEST(Rpc, ACallOfASampledTraceIsAStepOnEitherSide) {
  const RealClock clock;
  const auto kept = std::make_shared<FakeSpanSink>(clock);
  const SpanSinkScope scope(kept);
  World world;
  world.Start();
  Random random(1);
  const std::string before = MakeTraceparent(random, true);
  const auto info = world.GetProcess(10s, before);
  ASSERT_TRUE(info.ok()) << ToString(info.status());
  auto spans = ByKind(*kept);
  ASSERT_EQ(spans.size(), 2U);
  const SpanRecord& client = spans[SpanKind::kClient];
  const SpanRecord& server = spans[SpanKind::kServer];
  EXPECT_EQ(client.name, "splitlet.v1.Admin/GetProcess");
  EXPECT_EQ(client.parent_id, SpanIdOf(before));
  EXPECT_EQ(server.parent_id, client.span_id);
  EXPECT_EQ(server.trace_id, TraceIdOf(before));
  EXPECT_EQ(info->name(), Traceparent(server.trace_id, server.span_id, true))
      << "what the handler sees";
  EXPECT_TRUE(world.GetProcess(10s, MakeTraceparent(random, false)).ok());
  EXPECT_EQ(kept->spans().size(), 2U) << "not sampled";
}

TEST(Rpc, CallsAreCountedOnEitherSide) {
  prometheus::Registry ours, theirs;
  CallMetrics client(ours), server(theirs);
  World world;
  world.options.metrics = &server;
  world.stub = v1::Admin::NewStub(Connect(world.options.socket_path, &client));
  EXPECT_FALSE(world.GetProcess(10ms).ok()) << "no server answers";
  world.Start();
  EXPECT_TRUE(world.GetProcess(20s).ok());
  world.server->Stop(5s);
  const auto text = [](const prometheus::Registry& registry) {
    return prometheus::TextSerializer().Serialize(registry.Collect());
  };
  for (const char* line :
       {R"(client_calls_total{code="OK",method="Admin/GetProcess"} 1)",
        R"(client_calls_total{code="DEADLINE_EXCEEDED",method="Admin/GetProcess"} 1)",
        R"(client_duration_seconds_count{method="Admin/GetProcess"} 2)"})
    EXPECT_NE(text(ours).find(std::string("splitlet_rpc_") + line), std::string::npos)
        << line << text(ours);
  for (const char* line : {R"(server_calls_total{code="OK",method="Admin/GetProcess"} 1)",
                           R"(server_duration_seconds_count{method="Admin/GetProcess"} 1)"})
    EXPECT_NE(text(theirs).find(std::string("splitlet_rpc_") + line), std::string::npos)
        << line << text(theirs);
}

TEST(Rpc, AnErrorOfTheHandlerArrivesUnchanged) {
  World world;
  world.Start();
  ClientCall call(world.clock, After(world.clock, 10s));
  v1::SetFaultRequest request;
  request.set_name("such point");
  v1::FaultList list;
  EXPECT_EQ(FromGrpc(world.stub->SetFault(&call.context(), request, &list)),
            NotFound("no such point"));
}

TEST(Rpc, ACallWaitsForItsServerUntilTheDeadline) {
  World world;
  EXPECT_EQ(world.GetProcess(50ms).status().code(), StatusCode::kDeadlineExceeded);
  std::jthread caller([&] { EXPECT_TRUE(world.GetProcess(20s).ok()); });
  world.Start();
}

TEST(Rpc, ARestartedServerIsFoundAgain) {
  World world;
  for (int i = 0; i < 3; ++i) {
    world.Start();
    EXPECT_TRUE(world.GetProcess(20s).ok());
    world.server = nullptr;
    // Until the client knows, a call would still go out on the old connection.
    EXPECT_TRUE(world.channel->WaitForStateChange(
        GRPC_CHANNEL_READY,
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_seconds(20, GPR_TIMESPAN))));
    EXPECT_FALSE(std::filesystem::exists(world.options.socket_path));
  }
}

TEST(Rpc, ADeadSocketFileIsTakenOver) {
  World world;
  std::filesystem::create_directory(world.dir.path() + "/pleg");
  harness::ListeningSocket(world.options.socket_path).Close();
  ASSERT_TRUE(std::filesystem::exists(world.options.socket_path));
  world.Start();
  EXPECT_TRUE(world.GetProcess(10s).ok());
}

TEST(Rpc, AListenerIsToldByItsSocket) {
  World world;
  const std::string& path = world.options.socket_path;
  EXPECT_EQ(ListenerOf(path).status().code(), StatusCode::kUnavailable);
  world.Start();
  const auto listener = ListenerOf(path);
  ASSERT_TRUE(listener.ok()) << ToString(listener.status());
  EXPECT_EQ(listener->pid, getpid());
  EXPECT_EQ(listener->uid, geteuid());
  EXPECT_EQ(ListenerOf(path + std::string(120, 'x')).status().code(), StatusCode::kInvalidArgument);
}

TEST(Rpc, AListenerWithAFullQueueIsThere) {
  const TempDir dir;
  const std::string path = dir.path() + "/full.sock";
  harness::ListeningSocket full(path, 0);
  EXPECT_EQ(ListenerOf(path).value_or(Peer{}).pid, getpid());
  const auto second = ListenerOf(path);
  ASSERT_TRUE(second.ok()) << ToString(second.status());
  EXPECT_EQ(second->pid, 0);
  full.Close();
  EXPECT_EQ(ListenerOf(path).status().code(), StatusCode::kUnavailable);
}

TEST(Rpc, TheSocketIsForOwnerAndGroup) {
  World world;
  world.Start();
  struct stat info {};
  ASSERT_EQ(stat(world.options.socket_path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST(Rpc, APathThatDoesNotFitIsAnError) {
  World world;
  world.options.socket_path = world.dir.path() + "/" + std::string(120, 'x');
  EXPECT_EQ(StartServer(world.options, Log(world.sink)).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(Rpc, AUserWhoIsNotAllowedIsRefusedAndLoggedOnce) {
  World world;
  world.options.allowed_uids = {geteuid() + 12345};
  world.Start();
  const Status refused = PermissionDenied(
      "user {} is not served, whatever its groups: this process serves the users {}", geteuid(),
      geteuid() + 12345);
  EXPECT_EQ(world.GetProcess(1min).status(), refused) << "no waiting";
  EXPECT_EQ(world.GetProcess(1min).status(), refused);
  v1::SetFaultRequest large;
  large.set_name(std::string(1 << 20, 'x'));
  ClientCall call(world.clock, After(world.clock, 1min));
  v1::FaultList list;
  EXPECT_EQ(FromGrpc(world.stub->SetFault(&call.context(), large, &list)), refused)
      << "a request that does not fit the window";
  const auto lines = world.sink.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].message, "refused a connection");
}

/// Answers one item; only to see that it is not asked.
class TestTables final : public v1::Tables::Service {
 public:
  grpc::Status List(grpc::ServerContext*, const v1::ListRequest*,
                    grpc::ServerWriter<v1::ListItem>* writer) override {
    ++lists;
    writer->Write({});
    return grpc::Status::OK;
  }
  std::atomic<int> lists = 0;
};

TEST(Guard, OnlyTheMethodsThatTheCallerMayCallAreReached) {
  World world;
  std::mutex mutex;
  std::set<std::pair<std::string, uint32_t>> asked;
  std::atomic<bool> lists_allowed = false;
  const MayCall may_call = [&](const std::string& method, uint32_t uid) {
    const std::lock_guard lock(mutex);
    asked.emplace(method, uid);
    return method == "splitlet.v1.Admin/GetProcess" ||
           (lists_allowed && method == "splitlet.v1.Tables/List");
  };
  TestTables tables;
  CallLimits limits([](const std::string&) { return MethodLimits{.request_bytes = 2 << 20}; }, 8,
                    1h, world.clock);
  const auto admin = Guard(world.admin, "splitlet.v1.Admin", may_call, limits);
  const auto guarded_tables = Guard(tables, "splitlet.v1.Tables", may_call, limits);
  ASSERT_TRUE(admin.ok() && guarded_tables.ok());
  world.options.services = {admin->get(), guarded_tables->get()};
  world.Start();

  const auto info = world.GetProcess(10s, "00-abc-def-01");
  ASSERT_TRUE(info.ok()) << ToString(info.status());
  EXPECT_EQ(info->pid(), getpid());
  EXPECT_EQ(info->name(), "00-abc-def-01") << "the context reaches the handler";
  ClientCall set(world.clock, After(world.clock, 10s));
  v1::SetFaultRequest request;
  request.set_name(std::string(1 << 20, 'x'));
  v1::FaultList list;
  EXPECT_EQ(FromGrpc(world.stub->SetFault(&set.context(), request, &list)),
            PermissionDenied("user {} may not call splitlet.v1.Admin/SetFault", geteuid()));
  EXPECT_EQ(world.ListFaults(After(world.clock, 10s)).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(world.admin.blocked, 0);

  const auto stub = v1::Tables::NewStub(Connect(world.options.socket_path));
  const auto count = [&] {
    ClientCall call(world.clock, After(world.clock, 10s));
    v1::ListItem item;
    const auto reader = stub->List(&call.context(), {});
    int items = 0;
    while (reader->Read(&item)) ++items;
    return std::pair(items, FromGrpc(reader->Finish()).code());
  };
  EXPECT_EQ(count(), std::pair(0, StatusCode::kPermissionDenied));
  EXPECT_EQ(tables.lists, 0);
  lists_allowed = true;
  EXPECT_EQ(count(), std::pair(1, StatusCode::kOk));
  world.server = nullptr;
  EXPECT_TRUE(asked.contains({"splitlet.v1.Admin/SetFault", geteuid()}));
}

TEST(Guard, AServiceThatIsNotKnownIsAnError) {
  TestAdmin admin;
  const RealClock clock;
  CallLimits limits([](const std::string&) { return MethodLimits{}; }, 8, 1h, clock);
  EXPECT_EQ(Guard(admin, "splitlet.v1.None", {}, limits).status().code(),
            StatusCode::kInvalidArgument);
}

MethodLimits SmallLimits(const std::string& method) {
  return {.request_bytes = 100, .per_caller = 2, .reserved = method == "reserved"};
}

TEST(CallLimits, ACallerHasItsShareOfAMethodAndNoMore) {
  const RealClock clock;
  CallLimits limits(&SmallLimits, 100, 1h, clock);
  const Peer one{1, 10}, other{1, 11};
  auto first = limits.Admit("a", one, 100);
  const auto second = limits.Admit("a", one, 0);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(limits.Admit("a", one, 0).status(),
            ResourceExhausted("a: 2 calls of user 1, process 10, run already"));
  EXPECT_TRUE(limits.Admit("a", other, 0).ok()) << "another process";
  EXPECT_TRUE(limits.Admit("b", one, 0).ok()) << "another method";
  *first = nullptr;
  EXPECT_TRUE(limits.Admit("a", one, 0).ok()) << "one has ended";
  EXPECT_EQ(limits.Admit("a", other, 101).status(),
            ResourceExhausted("a: a request of 101 bytes, 100 are allowed"));
}

TEST(CallLimits, WhatIsReservedForIsServedWhenTheRestIsTaken) {
  const RealClock clock;
  CallLimits limits(&SmallLimits, 3, 1h, clock);
  std::vector<std::unique_ptr<CallLimits::Ticket>> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(*limits.Admit("a", {1, i}, 0));
  EXPECT_EQ(limits.Admit("a", {1, 99}, 0).status(), ResourceExhausted("a: 3 calls run already"));
  EXPECT_TRUE(limits.Admit("reserved", {1, 99}, 0).ok());
}

TEST(Guard, ACallThatLastsTooLongIsCancelled) {
  World world;
  FakeClock clock;
  CallLimits limits(&SmallLimits, 8, 60s, clock);
  const auto admin = Guard(
      world.admin, "splitlet.v1.Admin", [](const std::string&, uint32_t) { return true; }, limits);
  world.options.services = {admin->get()};
  world.Start();
  Status answer;
  std::jthread caller([&] { answer = world.ListFaults(After(world.clock, 100s)); });
  world.admin.blocked.wait(0);
  EXPECT_EQ(limits.CancelOverdue(), 0);
  clock.Advance(61s);
  EXPECT_EQ(limits.CancelOverdue(), 1);
  caller.join();
  EXPECT_EQ(answer.code(), StatusCode::kCancelled);
  world.server = nullptr;
}

TEST(Guard, ACallerThatTakesItsShareIsRefusedAndOtherCallsAreServed) {
  World world;
  CallLimits limits(&SmallLimits, 8, 1h, world.clock);
  const auto admin = Guard(
      world.admin, "splitlet.v1.Admin", [](const std::string&, uint32_t) { return true; }, limits);
  world.options.services = {admin->get()};
  world.Start();
  std::atomic<int> refused = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 10; ++i)
    callers.emplace_back([&] {
      if (world.ListFaults(After(world.clock, 60s)).code() == StatusCode::kResourceExhausted)
        ++refused;
      refused.notify_all();
    });
  for (int seen = 0; seen < 8; seen = refused) refused.wait(seen);
  EXPECT_TRUE(world.GetProcess(10s).ok());
  world.admin.Release();
  callers.clear();
  EXPECT_EQ(refused, 8);
  EXPECT_EQ(world.admin.blocked, 2);
  world.server = nullptr;
}

/// A connection that says nothing.
class Silent {
 public:
  explicit Silent(const std::string& path) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    path.copy(to.sun_path, sizeof to.sun_path - 1);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Silent() { close(fd_); }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  bool connected() const { return connected_; }
  void Send(const std::string& bytes) const {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// The server has closed it. gRPC greets those that it takes.
  bool Refused() const {
    char byte = 0;
    return recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  const int fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool connected_ = false;
};

TEST(Rpc, AProcessHasItsShareOfConnectionsAndGetsItBack) {
  World world;
  world.options.connections = {.per_process = 3, .per_user = 100, .all = 100};
  world.Start();
  ASSERT_TRUE(world.GetProcess(10s).ok());
  auto first = std::make_unique<Silent>(world.options.socket_path);
  const Silent second(world.options.socket_path);
  EXPECT_FALSE(first->Refused());
  EXPECT_FALSE(second.Refused());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Silent(world.options.socket_path).Refused());
  EXPECT_TRUE(world.GetProcess(10s).ok()) << "one that stands is not cut";
  EXPECT_EQ(world.sink.lines().size(), 1u);
  first = nullptr;
  EXPECT_TRUE(harness::WaitFor(30s, [&] { return !Silent(world.options.socket_path).Refused(); }));
}

TEST(Rpc, AServerOfAnotherUserThanWantedIsNotCalled) {
  World world;
  world.Start();
  for (const uint32_t wanted : {geteuid(), geteuid() + 12345}) {
    const auto stub = v1::Admin::NewStub(Connect(world.options.socket_path, nullptr, wanted));
    ClientCall call(world.clock, After(world.clock, 10s));
    v1::ProcessInfo info;
    const Status status = FromGrpc(stub->GetProcess(&call.context(), {}, &info));
    EXPECT_EQ(status.code(), wanted == geteuid() ? StatusCode::kOk : StatusCode::kPermissionDenied);
  }
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(world.options.socket_path.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chown((world.dir.path() + "/pleg").c_str(), 65534, 65534), 0);
  for (const uint32_t wanted : {65534u, 65533u}) {
    const auto stub = v1::Admin::NewStub(Connect(world.options.socket_path, nullptr, wanted));
    ClientCall call(world.clock, After(world.clock, 10s));
    v1::ProcessInfo info;
    EXPECT_EQ(FromGrpc(stub->GetProcess(&call.context(), {}, &info)).code(),
              wanted == 65534u ? StatusCode::kOk : StatusCode::kPermissionDenied);
  }
}

TEST(Rpc, AStrangersSocketIsNotCalled) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a socket away";
  World world;
  world.Start();
  ASSERT_TRUE(world.GetProcess(10s).ok());
  ASSERT_EQ(chown(world.options.socket_path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(world.GetProcess(10s).status().code(), StatusCode::kPermissionDenied);
  const std::string dir = world.dir.path() + "/pleg";
  ASSERT_EQ(chown(dir.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(world.GetProcess(10s).ok()) << "the process's own directory, made by us";
  ASSERT_EQ(chmod(dir.c_str(), 0777), 0);
  EXPECT_EQ(world.GetProcess(10s).status().code(), StatusCode::kPermissionDenied);
}

TEST(Rpc, ACallThatIsGivenUpEndsAtOnce) {
  World world;
  world.Start();
  const auto token = std::make_shared<CancelToken>();
  std::jthread canceller([&] {
    world.admin.blocked.wait(0);
    token->Cancel();
  });
  EXPECT_EQ(world.ListFaults({world.clock.Now() + 100s, token}).code(), StatusCode::kCancelled);
}

TEST(Rpc, MoreCallsThanThreadsAreRefused) {
  World world;
  world.options.max_threads = 4;
  world.Start();
  std::atomic<int> refused = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 10; ++i) {
    callers.emplace_back([&] {
      if (world.ListFaults(After(world.clock, 60s)).code() == StatusCode::kResourceExhausted)
        ++refused;
      refused.notify_all();
    });
  }
  for (int seen = 0; seen < 6; seen = refused) refused.wait(seen);
  world.admin.Release();
  callers.clear();
  EXPECT_GE(refused, 6);
  EXPECT_LE(world.admin.blocked, 4);
}

std::string FrameOf(char type, char flags, char stream, const std::string& content) {
  std::string frame = {0, 0, static_cast<char>(content.size()), type, flags, 0, 0, 0, stream};
  return frame + content;
}

/// A whole call of Admin/ListFaults, as it is on the wire: HTTP/2 without anything to wait for.
std::string CallOfListFaults() {
  const auto literal = [](std::string name, const std::string& value) {
    return name + static_cast<char>(value.size()) + value;
  };
  const std::string headers =
      "\x83\x86" + literal("\x04", "/splitlet.v1.Admin/ListFaults") + literal("\x01", "x") +
      literal(std::string("\0\x02te", 4), "trailers") + literal("\x0f\x10", "application/grpc");
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + FrameOf(4, 0, 0, "") + FrameOf(1, 4, 1, headers) +
         FrameOf(0, 1, 1, std::string(5, '\0'));
}

/// The inode of the socket that gRPC names by its descriptor, "fd:17"; 0: it is closed.
ino_t InodeOf(const std::string& peer) {
  struct stat info {};
  return fstat(std::stoi(peer.substr(3)), &info) == 0 ? info.st_ino : ino_t{0};
}

TEST(Rpc, ASocketStaysThatOfItsCallAfterTheCallerHasGone) {
  World world;
  std::latch begun(1), cancelled(1), others_came(1), ended(1);
  ino_t before = 0, after = 0;
  Peer peer;
  world.admin.on_list = [&](grpc::ServerContext& context) {
    before = InodeOf(context.peer());
    begun.count_down();
    while (!context.IsCancelled()) std::this_thread::yield();
    cancelled.count_down();
    others_came.wait();
    after = InodeOf(context.peer());
    peer = PeerOf(context);
    ended.count_down();
  };
  world.Start();
  auto caller = std::make_unique<Silent>(world.options.socket_path);
  caller->Send(CallOfListFaults());
  begun.wait();
  caller = nullptr;
  cancelled.wait();
  std::list<Silent> others;  // each would get the number of a descriptor that is free
  for (int i = 0; i < 4; ++i)
    EXPECT_FALSE(others.emplace_back(world.options.socket_path).Refused());
  others_came.count_down();
  ended.wait();
  EXPECT_NE(before, 0u);
  EXPECT_EQ(after, before);
  EXPECT_EQ(peer.pid, getpid());
}

TEST(Guard, ACallerThatHasGoneBeforeItsCallIsLookedAtIsStillItself) {
  World world;
  std::mutex mutex;
  std::set<uint32_t> uids;
  CallLimits limits([](const std::string&) { return MethodLimits{}; }, 8, 1h, world.clock);
  const auto admin = Guard(
      world.admin, "splitlet.v1.Admin",
      [&](const std::string&, uint32_t uid) {
        const std::lock_guard lock(mutex);
        uids.insert(uid);
        return false;
      },
      limits);
  world.options.services = {admin->get()};
  world.options.connections = {.per_process = 200, .per_user = 200, .all = 200};
  world.Start();
  for (int i = 0; i < 50; ++i) {
    Silent(world.options.socket_path).Send(CallOfListFaults());
    EXPECT_FALSE(Silent(world.options.socket_path).Refused());
  }
  EXPECT_EQ(world.ListFaults(After(world.clock, 10s)).code(), StatusCode::kPermissionDenied);
  world.server = nullptr;
  EXPECT_EQ(uids, std::set<uint32_t>{geteuid()});
}

TEST(Rpc, ALinkInThePlaceOfASocketIsNotFollowed) {
  World world;
  world.Start();
  const std::string link = world.dir.path() + "/link.sock";
  std::filesystem::create_symlink(world.options.socket_path, link);
  for (const auto wanted : {std::optional<uint32_t>(), std::optional<uint32_t>(geteuid())}) {
    const auto stub = v1::Admin::NewStub(Connect(link, nullptr, wanted));
    ClientCall call(world.clock, After(world.clock, 10s));
    v1::ProcessInfo info;
    EXPECT_EQ(FromGrpc(stub->GetProcess(&call.context(), {}, &info)),
              PermissionDenied("{} is no socket", link));
  }
}

/// A loop on a thread, as small as can be.
class TestLoop final : public exec::EventLoop {
 public:
  void Post(exec::Task task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    filled_.notify_one();
  }
  exec::TimerId RunAfter(Duration, exec::Task) override { return 0; }
  void CancelTimer(exec::TimerId) override {}
  bool IsCurrent() const override { return std::this_thread::get_id() == thread_.get_id(); }
  Duration Monotonic() const override { return Duration{0}; }

 private:
  void Run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (filled_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }
  std::mutex mutex_;
  std::condition_variable_any filled_;
  std::deque<exec::Task> tasks_;
  std::jthread thread_{[this](const std::stop_token& stop) { Run(stop); }};
};

TEST(OnLoop, BringsTheAnswerBackOrSaysThatTheLoopHangs) {
  TestLoop loop;
  const std::function<StatusOr<bool>()> ask = [&]() -> StatusOr<bool> { return loop.IsCurrent(); };
  EXPECT_EQ(*OnLoop<bool>(loop, 10s, ask), true);
  std::latch hang(1);
  loop.Post([&] { hang.wait(); });
  EXPECT_EQ(OnLoop<bool>(loop, 10ms, ask).status().code(), StatusCode::kUnavailable);
  hang.count_down();
  EXPECT_TRUE(OnLoop<bool>(loop, 10s, ask).ok());
}

}  // namespace
}  // namespace splitlet::rpc
