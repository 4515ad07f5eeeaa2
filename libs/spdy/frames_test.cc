#include "libs/spdy/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/spdy/frame_reader.h"

namespace splitlet::spdy {
namespace {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): bytes with a NUL

TEST(SpdyFrames, AreWrittenAsTheProtocolHasThem) {
  EXPECT_EQ(SynStreamFrame(5, "block"),
            "\x80\x03\0\x01\0\0\0\x0f\0\0\0\x05\0\0\0\0\0\0"s
            "block");
  EXPECT_EQ(RstStreamFrame(3, ResetReason::kCancel),
            "\x80\x03\0\x03\0\0\0\x08\0\0\0\x03\0\0\0\x05"s);
  EXPECT_EQ(PingFrame(2), "\x80\x03\0\x06\0\0\0\x04\0\0\0\x02"s);
  EXPECT_EQ(GoAwayFrame(7, GoAwayReason::kProtocolError),
            "\x80\x03\0\x07\0\0\0\x08\0\0\0\x07\0\0\0\x01"s);
  EXPECT_EQ(WindowUpdateFrame(1, 0x12345678),
            "\x80\x03\0\x09\0\0\0\x08\0\0\0\x01\x12\x34\x56\x78"s);
  EXPECT_EQ(DataFrame(1, "hi", false), "\0\0\0\x01\0\0\0\x02hi"s);
  EXPECT_EQ(DataFrame(1, "", true), "\0\0\0\x01\x01\0\0\0"s);
  EXPECT_EQ(ControlFrame(FrameType::kSynReply, kFlagFin, "abc"),
            "\x80\x03\0\x02\x01\0\0\x03"s + "abc");
}

TEST(SpdyFrames, WhatAPayloadSays) {
  const std::string syn = "\0\0\0\x05\0\0\0\0\0\0block"s;
  const auto opened = ParseStreamHeaders(FrameType::kSynStream, syn);
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(opened->stream, 5u);
  EXPECT_EQ(opened->block, "block");
  EXPECT_FALSE(ParseStreamHeaders(FrameType::kSynStream, "\0\0\0\x05"s).ok());
  const std::string replied = "\x80\0\0\x05rest"s;
  const auto reply = ParseStreamHeaders(FrameType::kSynReply, replied);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->stream, 5u) << "the first bit is reserved";
  EXPECT_EQ(reply->block, "rest");
  const auto window = ParseStreamNumber("\0\0\0\x01\0\0\x10\0"s);
  ASSERT_TRUE(window.ok()) << window.status();
  EXPECT_EQ(window->number, 4096u);
  EXPECT_FALSE(ParseStreamNumber("\0\0\0\x01"s).ok());
  EXPECT_FALSE(ParsePing("\0"s).ok());
  const auto settings = ParseSettings("\0\0\0\x01\x01\0\0\x07\0\0\x20\0"s);
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->size(), 1u);
  EXPECT_EQ(settings->front().id, 7u) << "without its flags";
  EXPECT_EQ(settings->front().value, 8192u);
  EXPECT_FALSE(ParseSettings("\0\0\0\x02\x01\0\0\x07\0\0\x20\0"s).ok());
  EXPECT_FALSE(ParseSettings("\x20\0\0\0"s).ok());
}

TEST(SpdyFrames, AReasonHasItsName) {
  EXPECT_EQ(ResetReasonName(5), "CANCEL");
  EXPECT_EQ(ResetReasonName(9), "STREAM_ALREADY_CLOSED");
  EXPECT_EQ(ResetReasonName(10), "reason 10");
  EXPECT_EQ(ResetReasonName(4000), "reason 4000");
}

/// The received frames, as text.
class Recorder final : public FrameReader::Sink {
 public:
  Status OnControl(const FrameHeader& header, std::string_view payload) override {
    seen += fmt::format("[{} {}]", header.type, payload.size());
    return OkStatus();
  }
  Status OnData(const FrameReader::Data& data) override {
    if (data.first) seen += fmt::format("<{}:", data.stream);
    seen += data.bytes;
    if (data.fin) seen += "!";
    return OkStatus();
  }
  std::string seen;
};

TEST(SpdyFrameReader, AFrameIsTheSameInWhateverPieces) {
  const std::string unknown = "\x80\x03\0\x63\0\0\0\x03xyz"s;
  const std::string bytes = PingFrame(2) + DataFrame(1, "hello", false) + unknown +
                            ControlFrame(FrameType::kSynReply, 0, "") + DataFrame(3, "", true) +
                            DataFrame(1, "bye", true);
  for (const size_t piece : {1, 3, 8, 9, 1000}) {
    SCOPED_TRACE(piece);
    Recorder recorder;
    FrameReader reader(recorder, 100);
    for (size_t at = 0; at < bytes.size(); at += piece)
      ASSERT_TRUE(reader.Take(std::string_view(bytes).substr(at, piece)).ok());
    EXPECT_EQ(recorder.seen, "[6 4]<1:hello[2 0]<3:!<1:bye!");
    EXPECT_EQ(reader.held(), 0u);
  }
}

TEST(SpdyFrameReader, WhatItDoesNotTake) {
  Recorder recorder;
  EXPECT_EQ(FrameReader(recorder, 100).Take("\x80\x02\0\x06\0\0\0\x04"s).code(),
            StatusCode::kInvalidArgument)
      << "another version";
  EXPECT_EQ(FrameReader(recorder, 100).Take("\x80\x03\0\x04\0\0\0\x65"s).code(),
            StatusCode::kResourceExhausted)
      << "a long control frame";
  EXPECT_TRUE(FrameReader(recorder, 100).Take("\x80\x03\0\x63\0\xff\xff\xff"s).ok())
      << "nothing is kept of a frame that is passed over";
  EXPECT_EQ(recorder.seen, "");
}

}  // namespace
}  // namespace splitlet::spdy
