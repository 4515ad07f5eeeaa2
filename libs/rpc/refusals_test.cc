#include "libs/rpc/refusals.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "libs/rpc/refused_calls.h"

namespace splitlet::rpc {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const std::string kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string ClientFrame(char type, char flags, char stream, const std::string& content) {
  std::string frame = {0, 0, static_cast<char>(content.size()), type, flags, 0, 0, 0, stream};
  return frame + content;
}
std::string SettingsFrame() { return ClientFrame(4, 0, 0, std::string(6, '\1')); }
std::string CallFrame(char stream) { return ClientFrame(1, 4, stream, "not even looked at"); }

Status Refused() { return PermissionDenied("user 7 is not served: 100% sure"); }

const std::string kAckFrame = {0, 0, 0, 4, 1, 0, 0, 0, 0};

TEST(RefusedCalls, EachCallEndsWithTheStatus) {
  RefusedCalls calls(Refused());
  EXPECT_EQ(calls.Take(kClientPreface + SettingsFrame()), kAckFrame);
  const std::string first = calls.Take(CallFrame(1));
  ASSERT_GE(first.size(), 9u);
  EXPECT_EQ(static_cast<size_t>(static_cast<uint8_t>(first[2])), first.size() - 9) << "its length";
  EXPECT_EQ(first.substr(3, 6), std::string("\1\5\0\0\0\1", 6)) << "ends headers and call 1";
  EXPECT_THAT(first, HasSubstr("grpc-status\1"
                               "7"));
  EXPECT_THAT(first, EndsWith("user 7 is not served: 100%25 sure"));
  EXPECT_EQ(calls.Take(ClientFrame(0, 1, 1, "the request")), "");
  EXPECT_EQ(calls.Take(CallFrame(3)).substr(3, 6), std::string("\1\5\0\0\0\3", 6));
  EXPECT_FALSE(calls.over());
}

TEST(RefusedCalls, BytesMayComeOneByOne) {
  RefusedCalls whole(Refused()), single(Refused());
  const std::string sent = kClientPreface + SettingsFrame() + CallFrame(1) +
                           ClientFrame(0, 1, 1, std::string(100, 'x')) + CallFrame(3);
  std::string answers;
  for (const char c : sent) answers += single.Take({&c, 1});
  EXPECT_EQ(answers, whole.Take(sent));
  EXPECT_FALSE(single.over());
}

TEST(RefusedCalls, ALongTextKeepsItsLength) {
  RefusedCalls calls(PermissionDenied("{}", std::string(300, 'x')));
  const std::string answer = calls.Take(kClientPreface + CallFrame(1));
  // 300 is 127, and 173 in groups of seven bits.
  EXPECT_THAT(answer, HasSubstr(std::string("grpc-message\x7F\xAD\x01", 15) + "xxx"));
  EXPECT_THAT(answer, EndsWith(std::string(300, 'x')));
}

TEST(RefusedCalls, WhatIsNoHttp2AndWhatIsTooMuchIsOver) {
  RefusedCalls other(Refused());
  EXPECT_EQ(other.Take("GET / HTTP/1.1\r\n"), "");
  EXPECT_TRUE(other.over());
  RefusedCalls endless(Refused());
  EXPECT_EQ(endless.Take(kClientPreface + std::string("\xFF\xFF\xFF\0\0\0\0\0\1", 9)), "");
  for (size_t sent = 0; sent < kMaxRefusedBytes; sent += 4096) {
    EXPECT_FALSE(endless.over());
    endless.Take(std::string(4096, 'x'));
  }
  EXPECT_TRUE(endless.over());
  RefusedCalls many(Refused());
  many.Take(kClientPreface);
  for (int i = 0; i < kMaxRefusedCalls; ++i) EXPECT_NE(many.Take(CallFrame(1)), "");
  EXPECT_EQ(many.Take(CallFrame(1)), "");
  EXPECT_TRUE(many.over());
}

/// A caller and the server's end of its connection.
struct Pair {
  Pair() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()), 0);
    caller = SocketFd(fds[0]);
    server = SocketFd(fds[1]);
  }
  void Say(const std::string& bytes) const {
    EXPECT_EQ(send(caller.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string Hear() const {
    std::array<char, 4096> buffer{};
    const ssize_t size = recv(caller.get(), buffer.data(), buffer.size(), 0);
    return size <= 0 ? std::string() : std::string(buffer.data(), static_cast<size_t>(size));
  }
  bool IsClosed() const {
    char byte = 0;
    return recv(caller.get(), &byte, 1, 0) == 0;
  }
  SocketFd caller, server;
};

struct Refusing {
  void Add(Pair& pair, uint32_t uid = 7) { refusals.Add(std::move(pair.server), uid, Refused()); }
  void Poll() {
    std::vector<pollfd> fds;
    refusals.AppendTo(fds);
    EXPECT_GE(poll(fds.data(), fds.size(), 0), 0);
    refusals.Serve(fds);
  }
  FakeClock clock;
  Refusals refusals{clock};
};

TEST(Refusals, ACallerIsGreetedAnsweredAndForgottenOnceItHasGone) {
  Refusing refusing;
  Pair pair;
  EXPECT_EQ(refusing.refusals.PatienceMs(), -1);
  refusing.Add(pair);
  EXPECT_EQ(pair.Hear(), RefusedCalls::Greeting());
  pair.Say(kClientPreface + CallFrame(1));
  refusing.Poll();
  EXPECT_THAT(pair.Hear(), HasSubstr("user 7 is not served"));
  EXPECT_EQ(refusing.refusals.size(), 1u);
  pair.caller.Close();
  refusing.Poll();
  EXPECT_EQ(refusing.refusals.size(), 0u);
}

TEST(Refusals, ACallerThatSaysNothingIsClosedInTime) {
  Refusing refusing;
  Pair pair;
  refusing.Add(pair);
  EXPECT_EQ(pair.Hear(), RefusedCalls::Greeting());
  refusing.clock.Advance(kRefusalLimit - 1500us);
  refusing.Poll();
  EXPECT_EQ(refusing.refusals.PatienceMs(), 2);
  refusing.clock.Advance(1500us);
  refusing.Poll();
  EXPECT_TRUE(pair.IsClosed());
  EXPECT_EQ(refusing.refusals.PatienceMs(), -1);
}

TEST(Refusals, OneUserDoesNotTakeThePlacesOfAll) {
  Refusing refusing;
  std::vector<Pair> pairs(kRefusalsOfUser + 2);
  for (size_t i = 0; i + 1 < pairs.size(); ++i) refusing.Add(pairs[i]);
  EXPECT_EQ(refusing.refusals.size(), size_t{kRefusalsOfUser});
  EXPECT_TRUE(pairs[kRefusalsOfUser].IsClosed()) << "above the limit there is no answer";
  refusing.Add(pairs.back(), 8);
  EXPECT_EQ(pairs.back().Hear(), RefusedCalls::Greeting());
  std::vector<Pair> others(kRefusalsOfAll);
  for (uint32_t i = 0; i < others.size(); ++i) refusing.Add(others[i], 100 + i);
  EXPECT_EQ(refusing.refusals.size(), size_t{kRefusalsOfAll});
}

}  // namespace
}  // namespace splitlet::rpc
