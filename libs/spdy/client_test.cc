#include "libs/spdy/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>

#include "libs/spdy/test_server.h"

namespace splitlet::spdy {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr size_t kMegabyte = 1 << 20;

class SpdyClient : public ::testing::Test, protected ClientHandler {
 protected:
  void OnConnected(const std::string& protocol) override {
    protocol_ = protocol;
    if (on_connected_) on_connected_();
  }
  void OnAccepted(StreamId stream) override {
    if (on_accepted_) on_accepted_(stream);
  }
  void OnData(StreamId /*stream*/, std::string_view bytes) override {
    received_ += bytes;
    if (on_data_) on_data_();
  }
  void OnEnded(StreamId /*stream*/, const Status& how) override { ended_ = how; }
  void OnSent() override {
    if (on_sent_) on_sent_();
  }
  void OnClosed(const Status& why) override { closed_ = why; }

  /// Runs until the connection has ended.
  void Run(uint16_t port) {
    client_ = MakeClient(io_,
                         {.host = "127.0.0.1",
                          .port = port,
                          .target = "/exec/token",
                          .protocols = {"v4.channel.k8s.io", "v3.channel.k8s.io"},
                          .connect_limit = 10s},
                         *this);
    io_.run();
  }
  void OpenOne() {
    on_connected_ = [this] { ASSERT_TRUE(client_->Open({{"streamtype", "data"}}).ok()); };
  }

  boost::asio::io_context io_{1};
  std::unique_ptr<Client> client_;
  std::string protocol_, received_;
  Status ended_ = Unknown("not ended"), closed_ = Unknown("not closed");
  std::function<void()> on_connected_, on_data_, on_sent_;
  std::function<void(StreamId)> on_accepted_;
};

TEST_F(SpdyClient, AsksToUpgradeAndSaysWhichStreamsItKnows) {
  TestServer server([](TestPeer&) {});
  Run(server.port());
  EXPECT_EQ(protocol_, "v4.channel.k8s.io");
  EXPECT_EQ(closed_.code(), StatusCode::kUnavailable) << closed_;
  EXPECT_THAT(server.Request(),
              AllOf(HasSubstr("POST /exec/token HTTP/1.1\r\n"), HasSubstr("Host: 127.0.0.1:"),
                    HasSubstr("Connection: Upgrade\r\n"), HasSubstr("Upgrade: SPDY/3.1\r\n"),
                    HasSubstr("X-Stream-Protocol-Version: v4.channel.k8s.io\r\n"),
                    HasSubstr("X-Stream-Protocol-Version: v3.channel.k8s.io\r\n")));
}

TEST_F(SpdyClient, BytesGoBothWaysAndEachSideEnds) {
  TestServer server([](TestPeer& peer) {
    const StreamId id = peer.Accept(1).begin()->second;
    for (TestPeer::Event event = peer.Next(); event.kind == TestPeer::Kind::kData;
         event = peer.Next()) {
      peer.Send(DataFrame(id, event.bytes, event.fin));
      if (event.fin) break;
    }
  });
  OpenOne();
  std::string sent;
  on_accepted_ = [&](StreamId id) {
    for (int i = 0; i < 100; ++i) sent += fmt::format("line {}\n", i);
    client_->Write(id, sent);
    client_->Finish(id);
  };
  Run(server.port());
  EXPECT_EQ(received_, sent);
  EXPECT_TRUE(ended_.ok()) << ended_;
}

TEST_F(SpdyClient, WhatComesRightBehindTheAnswerIsNotLost) {
  TestServer server([](TestPeer&) {},
                    std::string(kUpgraded) + PingFrame(2) + PingFrame(4) + "HTTP, of all things");
  Run(server.port());
  EXPECT_EQ(closed_.code(), StatusCode::kUnavailable) << closed_;
  TestServer other([](TestPeer&) {},
                   std::string(kUpgraded) + std::string("\x80\x02\0\x06\0\0\0\x04", 8));
  io_.restart();
  Run(other.port());
  EXPECT_EQ(closed_.code(), StatusCode::kInvalidArgument) << closed_;
  EXPECT_THAT(Message(closed_), HasSubstr("version 2 instead of 3"));
}

TEST_F(SpdyClient, AServerThatDeclinesSaysWhy) {
  const std::string cases[][2] = {
      {"HTTP/1.1 404 Not Found\r\nContent-Length: 13\r\n\r\nno such token",
       "404 Not Found: no such token"},
      {"HTTP/1.1 400 Bad Request\r\n\r\nunable to upgrade\n", "400 Bad Request: unable to upgrade"},
      {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", "101 Switching Protocols"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 OK"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c[1]);
    TestServer server([](TestPeer&) {}, c[0]);
    io_.restart();
    Run(server.port());
    EXPECT_EQ(closed_.code(), StatusCode::kUnavailable);
    EXPECT_EQ(Message(closed_), "the server does not upgrade to SPDY/3.1: " + c[1]);
  }
}

TEST_F(SpdyClient, AnAnswerWithoutAnEndIsNotKept) {
  TestServer server([](TestPeer&) {}, "HTTP/1.1 500 Oh\r\n\r\n" + std::string(kMegabyte, 'x'));
  Run(server.port());
  EXPECT_EQ(closed_.code(), StatusCode::kUnavailable) << closed_;
  EXPECT_LT(Message(closed_).size(), 1000u);
}

TEST_F(SpdyClient, WithoutAServerThereIsAnError) {
  Run(1);
  EXPECT_EQ(closed_.code(), StatusCode::kUnavailable) << closed_;
}

TEST_F(SpdyClient, WhoDoesNotReadHoldsTheServerBack) {
  TestServer server([](TestPeer& peer) {
    const StreamId id = peer.Accept(1).begin()->second;
    for (int i = 0; i < 64; ++i) peer.SendData(id, std::string(kMegabyte / 4, 'x'));
    peer.Send(DataFrame(id, "", true));
  });
  OpenOne();
  size_t at_most = 0;
  std::function<void(int)> turn = [&](int left) {
    at_most = std::max(at_most, received_.size());
    if (left == 0) return client_->SetReading(true);
    boost::asio::post(io_, [&turn, left] { turn(left - 1); });
  };
  on_data_ = [&] {
    on_data_ = nullptr;
    client_->SetReading(false);
    turn(1000);
  };
  Run(server.port());
  EXPECT_LE(at_most, 64u << 10);
  EXPECT_EQ(received_.size(), 16 * kMegabyte);
  EXPECT_TRUE(ended_.ok()) << ended_;
}

TEST_F(SpdyClient, MoreIsAskedForWhenTheKernelHasAll) {
  size_t arrived = 0;
  TestServer server([&arrived](TestPeer& peer) {
    peer.Accept(1);
    for (auto event = peer.Next(); event.kind == TestPeer::Kind::kData; event = peer.Next()) {
      arrived += event.bytes.size();
      if (event.fin) return;
    }
  });
  OpenOne();
  StreamId id = 0;
  int chunks = 0;
  on_accepted_ = [&](StreamId stream) {
    id = stream;
    client_->Write(id, std::string(100'000, 'x'));
  };
  on_sent_ = [&] {
    if (id == 0 || client_->unsent(id) > 0) return;
    if (++chunks < 100) return client_->Write(id, std::string(100'000, 'x'));
    client_->Finish(id);
  };
  Run(server.port());
  server.Request();
  EXPECT_EQ(arrived, 10'000'000u);
}

TEST_F(SpdyClient, ItsEndInACallBackIsSafe) {
  TestServer server([](TestPeer& peer) {
    const StreamId id = peer.Accept(1).begin()->second;
    peer.SendData(id, "x");
    while (peer.Next().kind != TestPeer::Kind::kClosed) {
    }
  });
  OpenOne();
  on_data_ = [&] { boost::asio::post(io_, [&] { client_.reset(); }); };
  Run(server.port());
  EXPECT_EQ(received_, "x");
  EXPECT_EQ(closed_.code(), StatusCode::kUnknown) << "no callback comes";
}

}  // namespace
}  // namespace splitlet::spdy
