// A fuzz target over a client's SPDY session with a hostile server. For any bytes memory stays
// bounded, and the handler sees the same events however the bytes are split.

#include <algorithm>
#include <string>

#include "libs/spdy/session.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;        // NOLINT(google-build-using-namespace): one target
using namespace splitlet::spdy;  // NOLINT(google-build-using-namespace): one target

constexpr size_t kStreams = 3;
constexpr size_t kWritten = 100'000;      // to each stream, more than a window
constexpr size_t kHalfWindow = 32 << 10;  // bytes of data after which window is returned
/// A control frame, answers, and our own unfinished frames.
constexpr size_t kMaxHeld = (64 << 10) + (64 << 10) + 1024;

struct Heard final : SessionHandler {
  void OnAccepted(StreamId stream) override { ends += fmt::format("accepted {};", stream); }
  void OnData(StreamId stream, std::string_view bytes) override { data[stream] += bytes; }
  void OnEnded(StreamId stream, const Status& how) override {
    ends += fmt::format("{} {};", stream, CodeName(how.code()));
  }
  std::string ends;
  std::map<StreamId, std::string> data;
  Status last;
  size_t sent = 0;
};

Heard InPieces(const std::string& bytes, size_t piece) {
  Heard heard;
  Session session(heard);
  for (size_t i = 0; i < kStreams; ++i) {
    const auto stream = session.Open({{"streamtype", "stdin"}});
    CHECK(stream.ok());
    session.Write(*stream, std::string(kWritten, 'x'));
  }
  session.Finish(1);
  session.TakeOutput();
  for (size_t at = 0; at < bytes.size() && heard.last.ok(); at += piece) {
    heard.last = session.Receive(std::string_view(bytes).substr(at, piece));
    CHECK(session.held() <= kStreams * (kWritten + 1024) + kMaxHeld, "{} are held", session.held());
  }
  heard.sent = session.TakeOutput().size();
  return heard;
}

/// As a server sends them.
class Frames {
 public:
  std::string With(FrameType type, StreamId stream, const Headers& headers, uint8_t flags = 0) {
    std::string payload;
    AppendNumber(payload, stream);
    if (type == FrameType::kSynStream) payload += std::string(6, '\0');
    return ControlFrame(type, flags, payload + writer_.Write(headers));
  }

 private:
  HeaderWriter writer_;
};

std::string Settings(uint32_t id, uint32_t value) {
  std::string payload;
  for (const uint32_t number : {1u, id, value}) AppendNumber(payload, number);
  return ControlFrame(FrameType::kSettings, 0, payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const Heard whole = InPieces(bytes, std::max(size, size_t{1}));
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{100}}) {
    const Heard pieces = InPieces(bytes, piece);
    CHECK(pieces.ends == whole.ends, "{} and {}", pieces.ends, whole.ends);
    CHECK(pieces.data == whole.data, "in pieces of {}", piece);
    CHECK(pieces.last.code() == whole.last.code(), "{} and {}", pieces.last, whole.last);
    if (size < kHalfWindow) CHECK(pieces.sent == whole.sent, "{} and {}", pieces.sent, whole.sent);
  }
  return whole.last.ok() ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  Frames one, other, third;
  FuzzCorpus corpus;
  corpus.inputs = {one.With(FrameType::kSynReply, 1, {}) + one.With(FrameType::kSynReply, 3, {}) +
                       DataFrame(1, "hello", false) + PingFrame(2) + DataFrame(3, "world", true) +
                       RstStreamFrame(1, ResetReason::kCancel) + GoAwayFrame(5, GoAwayReason::kOk),
                   Settings(7, 1000) + other.With(FrameType::kSynReply, 1, {{"status", "200 OK"}}) +
                       WindowUpdateFrame(1, 500) + WindowUpdateFrame(0, 100'000) + Settings(4, 10) +
                       other.With(FrameType::kHeaders, 1, {{"a", "b"}}, kFlagFin),
                   third.With(FrameType::kSynStream, 2, {{"x", "y"}}) +
                       third.With(FrameType::kSynReply, 5, {}, kFlagFin) + DataFrame(5, "", false)};
  for (const auto& input : corpus.inputs) corpus.tokens.push_back(input.substr(0, 8));
  corpus.tokens.insert(corpus.tokens.end(),
                       {PingFrame(2), PingFrame(1), DataFrame(1, "x", false), Settings(7, 0),
                        WindowUpdateFrame(1, kMaxWindow), WindowUpdateFrame(0, 65536),
                        RstStreamFrame(3, ResetReason::kRefusedStream),
                        std::string("\x80\x03\0\x05\0\0\0\x02xx", 10), std::string(1, '\0'), "\x01",
                        "\xff\xff\xff"});
  return corpus;
}
