#include "libs/cri/exec_calls.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "libs/cri/exec_answer.h"
#include "libs/cri/fake_runtime.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/test_pod.h"
#include "libs/fs/fd.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.pb.h"
#include "tests/fake_cri/server.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::cri {
namespace {

StatusOr<ExecResult> ReadWire(const std::string& wire, const OutputLimit& keep) {
  // In pieces, as the network delivers them.
  google::protobuf::io::ArrayInputStream stream(wire.data(), static_cast<int>(wire.size()), 7);
  return ReadExecAnswer(stream, keep);
}

TEST(ExecAnswer, KeepsOfTheOutputsWhatIsAskedForAndTheCode) {
  const std::string numbers = "0123456789";
  const struct {
    const char* name;
    std::string out, err;
    int32_t code;
    OutputLimit keep;
    const char *want_out, *want_err;
  } kCases[] = {
      {"short ones are whole", numbers, "no", 0, {.bytes = 10}, "0123456789", "no"},
      {"the beginning", numbers, numbers, 1, {.bytes = 3}, "012", "012"},
      {"the end", numbers, numbers, 137, {.bytes = 3, .last = true}, "789", "789"},
      {"none", numbers, "", -1, {.bytes = 0}, "", ""},
      {"all", numbers, "", INT_MIN, {.bytes = SIZE_MAX, .last = true}, "0123456789", ""},
      {"nothing was printed", "", "", INT_MAX, {}, "", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    runtime::v1::ExecSyncResponse response;
    response.set_stdout(c.out);
    response.set_stderr(c.err);
    response.set_exit_code(c.code);
    const auto read = ReadWire(response.SerializeAsString(), c.keep);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->exit_code, c.code);
    EXPECT_EQ(read->out, c.want_out);
    EXPECT_EQ(read->err, c.want_err);
  }
}

TEST(ExecAnswer, FieldsComeInAnyOrderAndUnknownOnesArePassedOver) {
  const std::string wire = std::string("\x18\x05", 2) +                // exit code 5
                           std::string("\x20\x96\x01", 3) +            // field 4: a number
                           std::string("\x29\1\2\3\4\5\6\7\x08", 9) +  // field 5: eight bytes
                           std::string("\x32\x02xy", 4) +              // field 6: bytes
                           std::string("\x3d\1\2\3\4", 5) +            // field 7: four bytes
                           std::string(
                               "\x12\x03"
                               "err",
                               5) +
                           std::string("\x0a\x03out", 5);
  const auto read = ReadWire(wire, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->exit_code, 5);
  EXPECT_EQ(read->out, "out");
  EXPECT_EQ(read->err, "err");
}

TEST(ExecAnswer, WhatIsNoneIsAnError) {
  const struct {
    const char* name;
    std::string wire;
  } kCases[] = {
      {"shorter than it says", std::string("\x0a\x05out", 5)},
      {"the part that is left out is not there", std::string("\x0a\x7fout", 5)},
      {"no length", std::string("\x0a", 1)},
      {"a length without end", std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12)},
      {"a code without end", std::string("\x18\xff", 2)},
      {"a group", std::string("\x0b\x0c", 2)},
      {"field 0", std::string("\x00\x01", 2)},
  };
  for (const auto& c : kCases)
    for (const bool last : {false, true})
      EXPECT_EQ(ReadWire(c.wire, {.bytes = 2, .last = last}).status().code(), StatusCode::kInternal)
          << c.name;
}

TEST(AnswerTurnsTest, SoManyAtATimeAndOthersInOrder) {
  AnswerTurns turns(2);
  std::string started;
  for (const char* name : {"a", "b", "c", "d"}) turns.Enter([&started, name] { started += name; });
  EXPECT_EQ(started, "ab");
  turns.Leave();
  EXPECT_EQ(started, "abc");
  for (int i = 0; i < 3; ++i) turns.Leave();
  EXPECT_EQ(started, "abcd");
  turns.Enter([&started] { started += "e"; });
  EXPECT_EQ(started, "abcde");
}

/// Proxies one client to a server, and counts the bytes that the client has read.
class CountedWire {
 public:
  CountedWire(const std::string& path, std::string server, std::function<void(size_t)> on_taken)
      : server_(std::move(server)), on_taken_(std::move(on_taken)), listening_(path) {
    thread_ = std::thread([this] { Serve(); });
  }
  ~CountedWire() {
    PassRest();
    shutdown(listening_.fd(), SHUT_RDWR);
    thread_.join();
  }
  CountedWire(const CountedWire&) = delete;
  CountedWire& operator=(const CountedWire&) = delete;
  /// While true, the proxy passes nothing on to the client.
  void Hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held && !passes_rest_;
    released_.notify_all();
  }
  /// From now on the proxy cannot be held, because bytes that are counted late must not hold it
  /// again.
  void PassRest() {
    const std::lock_guard lock(mutex_);
    passes_rest_ = true;
    held_ = false;
    released_.notify_all();
  }

 private:
  void WaitReleased() {
    std::unique_lock lock(mutex_);
    released_.wait(lock, [this] { return !held_; });
  }
  void Serve() {
    const fs::Fd client(accept(listening_.fd(), nullptr, nullptr));
    if (!client.ok()) return;
    const fs::Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{AF_UNIX, {}};
    server_.copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK(connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    std::thread up([&] { Carry(client.get(), server.get(), {}); });
    Carry(server.get(), client.get(), [this](size_t bytes) {
      on_taken_(bytes);
      WaitReleased();
    });
    up.join();
  }
  static void Carry(int from, int to, const std::function<void(size_t)>& count) {
    std::vector<char> buffer(16 << 10);
    ssize_t got = 0;
    while ((got = read(from, buffer.data(), buffer.size())) > 0) {
      for (ssize_t at = 0; at < got;) {
        const ssize_t sent =
            send(to, buffer.data() + at, static_cast<size_t>(got - at), MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += sent;
        if (count) count(static_cast<size_t>(sent));
      }
    }
    shutdown(to, SHUT_RDWR);
    shutdown(from, SHUT_RDWR);
  }

  const std::string server_;
  const std::function<void(size_t)> on_taken_;
  harness::ListeningSocket listening_;
  std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false, passes_rest_ = false;
  std::thread thread_;
};

class LongAnswers : public testing::Test {
 protected:
  static constexpr int kCommands = 12;
  static constexpr size_t kAnswer = 2u << 20;

  void SetUp() override {
    auto started = fake_cri::Server::Start(runtime_, {.socket = dir_ / "cri.sock"});
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    runtime_.AddImage("busybox");
    const SandboxId sandbox = *runtime_.RunPodSandbox(pod_.Config(), "", Soon());
    id_ = *runtime_.CreateContainer(sandbox, pod_.ContainerConfig("app", 0), pod_.Config(), Soon());
    ASSERT_TRUE(runtime_.StartContainer(id_, Soon()).ok());
    runtime_.SetExec("", "", ExecResult{7, std::string(kAnswer - 10, 'x'), "0123456789"});
  }
  Deadline Soon() const { return After(clock_, 60s); }
  /// All hanging calls answer at the same time.
  void HangAll() { runtime_.AddFault({.method = "ExecSync", .kind = Fault::Kind::kHang}); }
  void WaitUntilAllHang() {
    while (runtime_.Hanging() < kCommands) std::this_thread::yield();
  }

  harness::TempDir dir_;
  RealClock clock_;
  std::unique_ptr<Waiter> waiter_ = MakeRealWaiter();
  std::atomic<int> asked_ = 0;  // twice for each hanging call: before and after
  FakeRuntime runtime_{
      clock_, {.waiter = waiter_.get(), .intercept = [this](std::string_view method, const auto&) {
                 asked_ += method == "ExecSync";
                 return OkStatus();
               }}};
  TestPod pod_{"long", "uid-long"};
  ContainerId id_;
  std::unique_ptr<fake_cri::Server> server_;
  prometheus::Registry registry_;
};

TEST_F(LongAnswers, OfManyAtOnceFewAreInMemory) {
  std::atomic<int64_t> taken = 0, most = 0;
  std::atomic<int> ended = 0;
  CountedWire wire(dir_ / "counted.sock", dir_ / "cri.sock", [&](size_t bytes) {
    taken += static_cast<int64_t>(bytes);
    most = std::max(most.load(), taken - ended * static_cast<int64_t>(kAnswer));
  });
  GrpcRuntime client(rpc::ConnectEndpoint("unix://" + dir_ / "counted.sock"), clock_, registry_,
                     CallLimits{});
  HangAll();
  std::atomic<int> right = 0;
  for (int i = 0; i < kCommands; ++i)
    client.BeginExecSync(id_, {.words = {"print"}, .keep = {.bytes = 4}}, Soon(),
                         [&](const StatusOr<ExecResult>& result) {
                           right += result.ok() && result->exit_code == 7 &&
                                    result->out == "xxxx" && result->err == "0123";
                           ++ended;
                         });
  WaitUntilAllHang();  // limit of calls at a time
  wire.Hold(true);
  runtime_.ClearFaults();
  while (asked_ < 2 * kCommands) std::this_thread::yield();
  wire.Hold(false);  // all calls have answered
  while (ended < kCommands) std::this_thread::yield();
  client.EndLongCalls();
  EXPECT_EQ(right, kCommands);
  // A stream's window, and the size of frames and headers.
  constexpr int64_t kBefore = 68 << 10;
  constexpr auto kTurns = static_cast<int64_t>(ExecCalls::kAnswersAtOnce * (kAnswer + (8u << 10)));
  EXPECT_LE(most, kTurns + kCommands * kBefore);
  EXPECT_GT(most, static_cast<int64_t>(kAnswer)) << "nothing was counted";
}

TEST_F(LongAnswers, CommandsThatRunEndWithTheClient) {
  GrpcRuntime client(rpc::ConnectEndpoint("unix://" + dir_ / "cri.sock"), clock_, registry_,
                     CallLimits{});
  HangAll();
  std::atomic<int> cancelled = 0;
  const auto begin = [&] {
    client.BeginExecSync(id_, {.words = {"print"}}, Soon(),
                         [&](const StatusOr<ExecResult>& result) {
                           cancelled += result.status().code() == StatusCode::kCancelled;
                         });
  };
  for (int i = 0; i < kCommands; ++i) begin();
  WaitUntilAllHang();
  client.EndLongCalls();
  EXPECT_EQ(cancelled, kCommands);
  begin();
  client.EndLongCalls();
  EXPECT_EQ(cancelled, kCommands + 1) << "one that comes afterwards too";
}

TEST_F(LongAnswers, AnswersThatComeInAndThoseThatWaitForTheirTurnEndWithTheClient) {
  std::atomic<size_t> taken = 0;
  std::optional<CountedWire> wire;
  wire.emplace(dir_ / "counted.sock", dir_ / "cri.sock", [&](size_t bytes) {
    taken += bytes;
    if (taken > kAnswer / 2) wire->Hold(true);
  });
  std::atomic<int> cancelled = 0;
  {
    GrpcRuntime client(rpc::ConnectEndpoint("unix://" + dir_ / "counted.sock"), clock_, registry_,
                       CallLimits{});
    HangAll();
    for (int i = 0; i < kCommands; ++i)
      client.BeginExecSync(id_, {.words = {"print"}}, Soon(),
                           [&](const StatusOr<ExecResult>& result) {
                             cancelled += result.status().code() == StatusCode::kCancelled;
                           });
    WaitUntilAllHang();
    runtime_.ClearFaults();
    while (taken <= kAnswer / 2) std::this_thread::yield();
    client.EndLongCalls();
  }
  EXPECT_EQ(cancelled, kCommands);
}

TEST_F(LongAnswers, ACommandIsCancelledAlone) {
  GrpcRuntime client(rpc::ConnectEndpoint("unix://" + dir_ / "cri.sock"), clock_, registry_,
                     CallLimits{});
  runtime_.AddFault({.method = "ExecSync", .kind = Fault::Kind::kHang, .times = 1});
  Deadline deadline = Soon();
  deadline.cancel = std::make_shared<CancelToken>();
  std::promise<Status> ended;
  client.BeginExecSync(
      id_, {.words = {"print"}}, deadline,
      [&ended](const StatusOr<ExecResult>& result) { ended.set_value(result.status()); });
  while (runtime_.Hanging() == 0) std::this_thread::yield();
  const auto other = client.ExecSync(id_, {.words = {"print"}}, Soon());
  EXPECT_TRUE(other.ok()) << other.status();
  deadline.cancel->Cancel();
  EXPECT_EQ(ended.get_future().get().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace splitlet::cri
