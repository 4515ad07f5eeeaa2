#include "libs/spdy/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace splitlet::spdy {
namespace {

using testing::HasSubstr;

/// Records the session's callbacks as text, and acts as the peer, which reads frames as they come.
class SpdySession : public ::testing::Test, protected SessionHandler, protected FrameReader::Sink {
 protected:
  void OnAccepted(StreamId stream) override { told_ += fmt::format("accepted {}; ", stream); }
  void OnData(StreamId stream, std::string_view bytes) override {
    told_ += fmt::format("{}: {}; ", stream, bytes.size() > 20 ? "much" : bytes);
    if (on_data_) on_data_(stream);
  }
  void OnEnded(StreamId stream, const Status& how) override {
    told_ += fmt::format("{} ended {}; ", stream, CodeName(how.code()));
  }

  Status OnControl(const FrameHeader& header, std::string_view payload) override {
    if (header.type == static_cast<uint16_t>(FrameType::kSynStream)) {
      const auto frame = ParseStreamHeaders(FrameType::kSynStream, payload);
      const auto headers = peer_headers_.Read(frame->block);
      got_ += fmt::format("open {} {}; ", frame->stream,
                          headers->empty() ? "" : headers->front().second);
    } else if (header.type == static_cast<uint16_t>(FrameType::kPing)) {
      got_ += "ping; ";
    } else {
      const auto frame = ParseStreamNumber(payload);
      got_ += fmt::format("type {} {} {}; ", header.type, frame->stream, frame->number);
    }
    return OkStatus();
  }
  Status OnData(const FrameReader::Data& data) override {
    received_[data.stream] += data.bytes.size();
    got_ += fmt::format("{}: {}{}; ", data.stream, data.bytes.size(), data.fin ? " fin" : "");
    return OkStatus();
  }

  /// The frames that the peer reads now.
  std::string Got() {
    got_.clear();
    EXPECT_TRUE(peer_.Take(session_.TakeOutput()).ok());
    return got_;
  }
  std::string Told() { return std::exchange(told_, {}); }
  StreamId Open() {
    const auto id = session_.Open({{"streamtype", "x"}});
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  std::string WithHeaders(FrameType type, StreamId stream, uint8_t flags = 0) {
    std::string payload;
    AppendNumber(payload, stream);
    if (type == FrameType::kSynStream) payload += std::string(6, '\0');
    return ControlFrame(type, flags, payload + peer_writer_.Write({}));
  }
  std::string Reply(StreamId stream) { return WithHeaders(FrameType::kSynReply, stream); }
  StreamId OpenAccepted() {
    const StreamId id = Open();
    EXPECT_TRUE(session_.Receive(Reply(id)).ok());
    Got();
    Told();
    return id;
  }
  static std::string Settings(SettingId id, uint32_t value) {
    std::string payload;
    for (const uint32_t number : {1u, static_cast<uint32_t>(id), value})
      AppendNumber(payload, number);
    return ControlFrame(FrameType::kSettings, 0, payload);
  }

  Session session_{*this};
  FrameReader peer_{*this, 1 << 20};
  HeaderReader peer_headers_;
  HeaderWriter peer_writer_;
  std::map<StreamId, size_t> received_;
  std::function<void(StreamId)> on_data_;
  std::string told_, got_;
};

TEST_F(SpdySession, WhatIsWrittenWaitsUntilTheStreamIsAccepted) {
  const StreamId first = Open(), second = Open();
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 3u);
  session_.Write(first, "hello");
  session_.Finish(first);
  EXPECT_EQ(session_.unsent(first), 5u);
  EXPECT_EQ(Got(), "open 1 x; open 3 x; ");
  ASSERT_TRUE(session_.Receive(Reply(first)).ok());
  EXPECT_EQ(Told(), "accepted 1; ");
  EXPECT_EQ(Got(), "1: 5; 1: 0 fin; ");
  EXPECT_EQ(session_.unsent(first), 0u);
}

TEST_F(SpdySession, EachSideEndsByItself) {
  const StreamId id = OpenAccepted();
  session_.Finish(id);
  EXPECT_EQ(Got(), "1: 0 fin; ");
  session_.Write(id, "too late");
  EXPECT_EQ(Got(), "");
  ASSERT_TRUE(session_.Receive(DataFrame(id, "answer", false)).ok());
  ASSERT_TRUE(session_.Receive(DataFrame(id, "end", true)).ok());
  EXPECT_EQ(Told(), "1: answer; 1: end; 1 ended OK; ");
  ASSERT_TRUE(session_.Receive(DataFrame(id, "again", true)).ok());
  EXPECT_EQ(Told(), "");
}

TEST_F(SpdySession, ThePeerMayEndFirst) {
  const StreamId id = OpenAccepted();
  ASSERT_TRUE(session_.Receive(WithHeaders(FrameType::kHeaders, id, kFlagFin)).ok());
  EXPECT_EQ(Told(), "1 ended OK; ");
  session_.Write(id, "still");
  session_.Finish(id);
  EXPECT_EQ(Got(), "1: 5; 1: 0 fin; ");
}

TEST_F(SpdySession, AResetEndsBothSides) {
  const StreamId id = OpenAccepted();
  ASSERT_TRUE(session_.Receive(RstStreamFrame(id, ResetReason::kCancel)).ok());
  EXPECT_EQ(Told(), "1 ended CANCELLED; ");
  session_.Write(id, "nobody");
  session_.Finish(id);
  EXPECT_EQ(Got(), "");
  const StreamId other = OpenAccepted();
  session_.Reset(other, ResetReason::kCancel);
  EXPECT_EQ(Got(), "type 3 3 5; ");
  ASSERT_TRUE(session_.Receive(DataFrame(other, "was under way", false)).ok());
  EXPECT_EQ(Told(), "");
  EXPECT_EQ(Got(), "");
}

TEST_F(SpdySession, APeerWithoutWindowsGetsAllAtOnceAndNoUpdates) {
  const StreamId id = OpenAccepted();
  const std::string megabyte(1 << 20, 'x');
  session_.Write(id, megabyte);
  EXPECT_EQ(session_.unsent(id), 0u);
  Got();
  EXPECT_EQ(received_[id], megabyte.size());
  ASSERT_TRUE(session_.Receive(DataFrame(id, megabyte, false)).ok());
  EXPECT_EQ(Got(), "");
}

TEST_F(SpdySession, APeersWindowsAreKept) {
  ASSERT_TRUE(session_.Receive(Settings(SettingId::kInitialWindowSize, 1000)).ok());
  const StreamId first = OpenAccepted(), second = OpenAccepted();
  session_.Write(first, std::string(1500, 'x'));
  session_.Finish(first);
  EXPECT_EQ(Got(), "1: 1000; ");
  EXPECT_EQ(session_.unsent(first), 500u);
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(first, 200)).ok());
  EXPECT_EQ(Got(), "1: 200; ");
  ASSERT_TRUE(session_.Receive(Settings(SettingId::kInitialWindowSize, 1100)).ok());
  EXPECT_EQ(Got(), "1: 100; ") << "of each stream";
  ASSERT_TRUE(session_.Receive(Settings(SettingId::kInitialWindowSize, 0)).ok());
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(first, 1100)).ok());
  EXPECT_EQ(Got(), "") << "it was 1100 below";
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(first, 500)).ok());
  EXPECT_EQ(Got(), "1: 200; 1: 0 fin; ");
  session_.Write(second, "x");
  EXPECT_EQ(Got(), "");
}

TEST_F(SpdySession, TheWholeSessionHasAWindow) {
  ASSERT_TRUE(session_.Receive(Settings(SettingId::kInitialWindowSize, 1 << 20)).ok());
  const StreamId first = OpenAccepted(), second = OpenAccepted();
  session_.Write(first, std::string(60'000, 'x'));
  session_.Write(second, std::string(60'000, 'x'));
  Got();
  EXPECT_EQ(received_[first], 60'000u);
  EXPECT_EQ(received_[second], 65'536u - 60'000u);
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(0, 1 << 20)).ok());
  Got();
  EXPECT_EQ(received_[second], 60'000u);
}

TEST_F(SpdySession, APeerWithWindowsGetsRoomBack) {
  const StreamId id = OpenAccepted();
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(0, 1)).ok());
  ASSERT_TRUE(session_.Receive(DataFrame(id, std::string(20'000, 'x'), false)).ok());
  EXPECT_EQ(Got(), "");
  ASSERT_TRUE(session_.Receive(DataFrame(id, std::string(20'000, 'x'), false)).ok());
  EXPECT_EQ(Got(), "type 9 0 40000; type 9 1 40000; ");
  ASSERT_TRUE(session_.Receive(DataFrame(id, std::string(40'000, 'x'), true)).ok());
  EXPECT_EQ(Got(), "type 9 0 40000; ") << "a stream that has ended needs no room";
}

TEST_F(SpdySession, AWindowThatGrowsTooLargeEndsItsOwner) {
  const StreamId id = OpenAccepted();
  ASSERT_TRUE(session_.Receive(WindowUpdateFrame(id, kMaxWindow)).ok());
  EXPECT_EQ(Told(), "1 ended INVALID_ARGUMENT; ");
  EXPECT_EQ(Got(), "type 3 1 7; ");
  EXPECT_EQ(session_.Receive(WindowUpdateFrame(0, kMaxWindow)).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(SpdySession, WhatThePeerMayNotDo) {
  const StreamId id = Open();
  Got();
  ASSERT_TRUE(session_.Receive(DataFrame(id, "x", false)).ok());
  EXPECT_EQ(Told(), "1 ended INVALID_ARGUMENT; ") << "data before the stream was accepted";
  EXPECT_EQ(Got(), "type 3 1 1; ");
  const StreamId twice = OpenAccepted();
  ASSERT_TRUE(session_.Receive(Reply(twice)).ok());
  EXPECT_EQ(Told(), "3 ended INVALID_ARGUMENT; ");
  EXPECT_EQ(Got(), "type 3 3 1; ");
  ASSERT_TRUE(session_.Receive(DataFrame(99, "x", false)).ok());
  EXPECT_EQ(Got(), "type 3 99 2; ") << "a stream that was never opened";
  ASSERT_TRUE(session_.Receive(WithHeaders(FrameType::kSynStream, 2)).ok());
  EXPECT_EQ(Got(), "type 3 2 3; ") << "a stream of the server";
  const Status odd = session_.Receive(WithHeaders(FrameType::kSynStream, 101));
  EXPECT_EQ(odd.code(), StatusCode::kInvalidArgument) << odd;
  EXPECT_THAT(Message(odd), HasSubstr("the server opens stream 101"));
  EXPECT_EQ(Got(), "type 7 0 1; ");
}

TEST_F(SpdySession, PingsAreAnsweredWhileTheirAnswersAreRead) {
  ASSERT_TRUE(session_.Receive(PingFrame(2) + PingFrame(1)).ok());
  EXPECT_EQ(Got(), "ping; ") << "1 would answer one of ours";
  Status last;
  for (int i = 0; i < 10'000 && last.ok(); ++i) last = session_.Receive(PingFrame(2));
  EXPECT_EQ(last.code(), StatusCode::kResourceExhausted) << last;
  EXPECT_LT(session_.held(), 70u << 10);
}

TEST_F(SpdySession, AfterAGoAwayOldStreamsGoOn) {
  const StreamId seen = OpenAccepted();
  Open();
  ASSERT_TRUE(session_.Receive(GoAwayFrame(seen, GoAwayReason::kOk)).ok());
  EXPECT_EQ(Told(), "3 ended UNAVAILABLE; ");
  EXPECT_EQ(session_.Open({}).status().code(), StatusCode::kUnavailable);
  ASSERT_TRUE(session_.Receive(DataFrame(seen, "on", false)).ok());
  EXPECT_EQ(Told(), "1: on; ");
}

TEST_F(SpdySession, NoMoreStreamsThanThePeerTakes) {
  ASSERT_TRUE(session_.Receive(Settings(SettingId::kMaxConcurrentStreams, 1)).ok());
  const StreamId id = Open();
  EXPECT_EQ(session_.Open({}).status().code(), StatusCode::kResourceExhausted);
  session_.Reset(id, ResetReason::kCancel);
  EXPECT_TRUE(session_.Open({}).ok());
}

TEST_F(SpdySession, AHandlerMayEndTheStreamThatItHearsOf) {
  const StreamId id = OpenAccepted();
  on_data_ = [this](StreamId stream) { session_.Reset(stream, ResetReason::kCancel); };
  ASSERT_TRUE(session_.Receive(DataFrame(id, "x", true)).ok());
  EXPECT_EQ(Told(), "1: x; ");
  EXPECT_EQ(Got(), "type 3 1 5; ");
}

}  // namespace
}  // namespace splitlet::spdy
