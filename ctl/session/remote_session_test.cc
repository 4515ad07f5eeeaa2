#include "ctl/session/remote_session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "ctl/session/remote_command.h"
#include "libs/base/random.h"
#include "libs/spdy/test_server.h"
#include "tests/harness/child.h"

namespace splitlet::ctl {
namespace {

using spdy::StreamId;
using spdy::TestPeer;
using spdy::TestServer;
using testing::HasSubstr;

using Streams = std::map<std::string, StreamId>;

constexpr const char* kWell = R"({"metadata":{},"status":"Success"})";
constexpr const char* kExit42 =
    R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}})";

/// Both ends of a pipe.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0); }
  ~Pipe() {
    CloseWriter();
    CloseReader();
  }
  void CloseWriter() { Close(fds[1]); }
  void CloseReader() { Close(fds[0]); }
  static void Close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }
  /// Reads until all writers have closed.
  std::string ReadToEnd() const {
    std::string text, chunk(4096, '\0');
    for (ssize_t got = 0; (got = ::read(fds[0], chunk.data(), chunk.size())) > 0;)
      text.append(chunk, 0, static_cast<size_t>(got));
    return text;
  }
  std::string ReadAll() {
    CloseWriter();
    return ReadToEnd();
  }
  int fds[2] = {-1, -1};
};

/// Random bytes that are no text, so that each byte counts.
std::string SomeBytes(size_t size) {
  Random random(20261130);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

/// Behaves like `cat` in a container: echoes each frame until the end of the input.
void Cat(TestPeer& peer) {
  const Streams streams = peer.Accept(4);
  for (auto event = peer.Next(); event.kind == TestPeer::Kind::kData; event = peer.Next()) {
    if (!event.bytes.empty()) peer.SendData(streams.at("stdout"), event.bytes);
    if (event.fin) return peer.End(streams, kWell);
  }
}

class RemoteSessions : public ::testing::Test {
 protected:
  RemoteSessions() { ::signal(SIGPIPE, SIG_IGN); }

  RemoteOptions OptionsFor(const TestServer& server) const {
    return {.url = server.url(), .in = in.fds[0], .out = out.fds[1], .err = err.fds[1]};
  }
  StatusOr<int> Run(const TestServer& server, bool input = false) {
    RemoteOptions options = OptionsFor(server);
    options.input = input;
    return RunRemote(options);
  }
  void Type(const std::string& text) {
    ASSERT_EQ(::write(in.fds[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    in.CloseWriter();
  }
  Pipe in, out, err;
};

TEST_F(RemoteSessions, OutputAndErrorsGoTheirWays) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    peer.SendData(streams.at("stdout"), "hello ");
    peer.SendData(streams.at("stderr"), "trouble");
    peer.SendData(streams.at("stdout"), "world");
    peer.End(streams, kWell);
  });
  const auto exit_code = Run(server);
  ASSERT_TRUE(exit_code.ok()) << exit_code.status();
  EXPECT_EQ(*exit_code, 0);
  EXPECT_EQ(out.ReadAll(), "hello world");
  EXPECT_EQ(err.ReadAll(), "trouble");
  EXPECT_THAT(server.Request(), HasSubstr("POST /exec/token HTTP/1.1\r\n"));
  EXPECT_THAT(server.Request(), HasSubstr("X-Stream-Protocol-Version: v4.channel.k8s.io\r\n"));
}

TEST_F(RemoteSessions, TheStreamsAreThoseThatTheRuntimeWasAskedFor) {
  const struct {
    const char* name;
    bool input, tty;
    std::vector<std::string> want;
  } kCases[] = {{"output", false, false, {"error", "stdout", "stderr"}},
                {"input, too", true, false, {"error", "stdin", "stdout", "stderr"}},
                {"a terminal", true, true, {"error", "stdin", "stdout", "resize"}},
                {"a terminal that only shows", false, true, {"error", "stdout", "resize"}}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    std::vector<std::string> opened;
    TestServer server([&](TestPeer& peer) {
      Streams streams;
      for (auto event = peer.Next(); event.kind == TestPeer::Kind::kOpened; event = peer.Next()) {
        opened.push_back(TestPeer::ValueOf(event.headers, "streamtype"));
        streams[opened.back()] = event.stream;
        if (opened.size() == c.want.size()) break;
      }
      for (const auto& each : streams) peer.Reply(each.second);
      peer.End(streams, kWell);
    });
    RemoteOptions options = OptionsFor(server);
    options.input = c.input;
    options.tty = c.tty;
    EXPECT_EQ(RunRemote(options).value_or(-1), 0);
    server.Request();
    EXPECT_EQ(opened, c.want);
  }
}

TEST_F(RemoteSessions, TheExitCodeIsTheCommandsInHoweverManyPieces) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    peer.SendData(streams.at("error"), std::string_view(kExit42).substr(0, 20));
    peer.End(streams, std::string_view(kExit42).substr(20));
  });
  const auto exit_code = Run(server);
  ASSERT_TRUE(exit_code.ok()) << exit_code.status();
  EXPECT_EQ(*exit_code, 42);
}

TEST_F(RemoteSessions, OutputThatComesAfterTheExitCodeIsNotLost) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    peer.Send(spdy::DataFrame(streams.at("error"), kWell, /*fin=*/true));
    peer.SendData(streams.at("stdout"), "late");
    peer.Send(spdy::DataFrame(streams.at("stderr"), "", /*fin=*/true));
    peer.Send(spdy::DataFrame(streams.at("stdout"), "r", /*fin=*/true));
  });
  EXPECT_EQ(Run(server).value_or(-1), 0);
  EXPECT_EQ(out.ReadAll(), "later");
}

TEST_F(RemoteSessions, InputIsSentAndItsEndIsTold) {
  std::string received;
  TestServer server([&received](TestPeer& peer) {
    const Streams streams = peer.Accept(4);
    for (auto event = peer.Next(); event.kind == TestPeer::Kind::kData; event = peer.Next()) {
      EXPECT_EQ(event.stream, streams.at("stdin"));
      received += event.bytes;
      if (event.fin) break;
    }
    peer.End(streams, kWell);
  });
  Type("one\ntwo\n");
  const auto exit_code = Run(server, /*input=*/true);
  ASSERT_TRUE(exit_code.ok()) << exit_code.status();
  server.Request();
  EXPECT_EQ(received, "one\ntwo\n");
  EXPECT_EQ(err.ReadAll(), "");
}

TEST_F(RemoteSessions, TheEndOfEmptyInputIsSentToo) {
  TestServer server(Cat);
  in.CloseWriter();
  EXPECT_EQ(Run(server, /*input=*/true).value_or(-1), 0);
}

TEST_F(RemoteSessions, MuchComesThroughByteForByteBothWays) {
  const harness::TempDir dir;
  const std::string bytes = SomeBytes(8'000'001);
  harness::WriteFile(dir / "in", bytes);
  const int from = ::open((dir / "in").c_str(), O_RDONLY | O_CLOEXEC);
  const int to = ::open((dir / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  TestServer server(Cat);
  RemoteOptions options = OptionsFor(server);
  options.input = true;
  options.in = from;
  options.out = to;
  EXPECT_EQ(RunRemote(options).value_or(-1), 0);
  ::close(from);
  ::close(to);
  EXPECT_TRUE(harness::ReadFile(dir / "out") == bytes);
}

TEST_F(RemoteSessions, ThroughPipesThatAreFullTheSame) {
  const std::string bytes = SomeBytes(3'000'001);
  TestServer server(Cat);
  std::thread writer([&] {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t wrote = ::write(in.fds[1], bytes.data() + at, bytes.size() - at);
      ASSERT_GT(wrote, 0);
      at += static_cast<size_t>(wrote);
    }
    in.CloseWriter();
  });
  std::string got;
  std::thread reader([&] { got = out.ReadToEnd(); });
  EXPECT_EQ(Run(server, /*input=*/true).value_or(-1), 0);
  out.CloseWriter();
  writer.join();
  reader.join();
  EXPECT_TRUE(got == bytes) << got.size();
}

TEST_F(RemoteSessions, ACommandThatReadsNoInputEndsWithoutIt) {
  TestServer server([](TestPeer& peer) { peer.End(peer.Accept(4), kExit42); });
  const auto exit_code = Run(server, /*input=*/true);  // its writer stays open
  ASSERT_TRUE(exit_code.ok()) << exit_code.status();
  EXPECT_EQ(*exit_code, 42);
}

TEST_F(RemoteSessions, ASignalEndsItWhileItsOutputIsNotRead) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    peer.SendData(streams.at("stdout"), std::string(200'000, 'x'));
  });
  std::thread killer([this] {
    char first = 0;
    EXPECT_EQ(::read(out.fds[0], &first, 1), 1);
    ::kill(::getpid(), SIGINT);
  });
  const auto end = Run(server);
  killer.join();
  EXPECT_EQ(end.status().code(), StatusCode::kCancelled) << end.status();
}

TEST_F(RemoteSessions, ItEndsWhenTheReaderOfItsOutputIsGone) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    while (peer.Send(spdy::DataFrame(streams.at("stdout"), "y\n", /*fin=*/false))) {
    }
  });
  out.CloseReader();
  EXPECT_EQ(Run(server).status().code(), StatusCode::kCancelled);
}

TEST_F(RemoteSessions, ASessionThatBreaksIsNoSuccess) {
  TestServer server([](TestPeer& peer) {
    const Streams streams = peer.Accept(3);
    peer.SendData(streams.at("stdout"), "half");
  });
  const auto end = Run(server);
  EXPECT_EQ(end.status().code(), StatusCode::kUnavailable) << end.status();
  EXPECT_THAT(Message(end.status()), HasSubstr("before the command's exit code came"));
  EXPECT_EQ(out.ReadAll(), "half");
}

TEST_F(RemoteSessions, AServerThatOpensNoStreamsIsAnError) {
  TestServer refuses([](TestPeer& peer) {
    peer.Send(spdy::RstStreamFrame(peer.Next().stream, spdy::ResetReason::kRefusedStream));
    peer.Next();
  });
  EXPECT_THAT(Message(Run(refuses).status()), HasSubstr("REFUSED_STREAM"));
  TestServer waits([](TestPeer& peer) {
    while (peer.Next().kind != TestPeer::Kind::kClosed) {
    }
  });
  RemoteOptions options = OptionsFor(waits);
  options.open_limit = 10ms;
  EXPECT_EQ(RunRemote(options).status().code(), StatusCode::kUnavailable);
}

TEST_F(RemoteSessions, AServerThatDeclinesSaysWhy) {
  TestServer none([](TestPeer&) {},
                  "HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\nno such token");
  EXPECT_EQ(Message(Run(none).status()),
            "the runtime's streams: the server does not upgrade to SPDY/3.1: 404 Not Found: "
            "no such token");
  const std::string head =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";
  TestServer old([](TestPeer&) {}, head);
  EXPECT_EQ(Message(Run(old).status()), "the runtime speaks \"\" instead of v4.channel.k8s.io");
}

TEST_F(RemoteSessions, WithoutAServerThereIsAnError) {
  EXPECT_EQ(RunRemote({.url = "http://127.0.0.1:1/exec/x"}).status().code(),
            StatusCode::kUnavailable);
}

TEST_F(RemoteSessions, TheModeOfWhatItReadsAndWritesComesBack) {
  TestServer server(Cat);
  Type("x");
  const int before[] = {::fcntl(in.fds[0], F_GETFL), ::fcntl(out.fds[1], F_GETFL)};
  EXPECT_TRUE(Run(server, /*input=*/true).ok());
  EXPECT_EQ(::fcntl(in.fds[0], F_GETFL), before[0]);
  EXPECT_EQ(::fcntl(out.fds[1], F_GETFL), before[1]);
}

}  // namespace
}  // namespace splitlet::ctl
