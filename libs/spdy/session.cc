#include "libs/spdy/session.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace splitlet::spdy {
namespace {

constexpr uint32_t kDefaultWindow = 64 << 10;
constexpr size_t kMaxControlBytes = 64 << 10;
constexpr size_t kMaxAnswers = 64 << 10;
constexpr size_t kMaxDataFrame = 32 << 10;
constexpr StreamId kLastStream = 0x7fffffff;
constexpr StreamId kWholeSession = 0;

/// Clients open streams of odd numbers.
bool IsOurs(StreamId id) { return id % 2 == 1; }

}  // namespace

Session::Session(SessionHandler& handler)
    : handler_(handler),
      reader_(*this, kMaxControlBytes),
      max_streams_(std::numeric_limits<uint32_t>::max()),
      initial_window_(kDefaultWindow),
      send_window_(kDefaultWindow) {}

StatusOr<StreamId> Session::Open(const Headers& headers) {
  if (gone_away_ || next_stream_ > kLastStream)
    return Unavailable("the peer accepts no more streams");
  if (streams_.size() >= max_streams_)
    return ResourceExhausted("the peer accepts only {} streams at a time", max_streams_);
  const StreamId id = std::exchange(next_stream_, next_stream_ + 2);
  streams_[id].send_window = initial_window_;
  output_ += SynStreamFrame(id, header_writer_.Write(headers));
  return id;
}

void Session::Write(StreamId stream, std::string_view bytes) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.ours != Ours::kOpen) return;
  found->second.unsent.append(bytes);
  Flush(stream);
}

void Session::Finish(StreamId stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() || found->second.ours != Ours::kOpen) return;
  found->second.ours = Ours::kFinishing;
  Flush(stream);
}

void Session::Reset(StreamId stream, ResetReason reason) {
  if (streams_.erase(stream) != 0) output_ += RstStreamFrame(stream, reason);
}

Status Session::Receive(std::string_view bytes) {
  const Status taken = reader_.Take(bytes);
  if (!taken.ok()) {
    gone_away_ = true;
    output_ += GoAwayFrame(0, GoAwayReason::kProtocolError);
  }
  return taken;
}

std::string Session::TakeOutput() {
  answers_ = 0;
  return std::exchange(output_, {});
}

size_t Session::unsent(StreamId stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? 0 : found->second.unsent.size();
}

size_t Session::held() const {
  size_t bytes = reader_.held() + output_.size();
  for (const auto& each : streams_) bytes += each.second.unsent.size();
  return bytes;
}

// Frames of the peer.

Status Session::OnControl(const FrameHeader& header, std::string_view payload) {
  return Annotate(Dispatch(header, payload), fmt::format("type {}", header.type));
}

Status Session::Dispatch(const FrameHeader& header, std::string_view payload) {
  switch (static_cast<FrameType>(header.type)) {
    case FrameType::kSynStream:
    case FrameType::kSynReply:
    case FrameType::kHeaders: return OnHeaders(header, payload);
    case FrameType::kRstStream: return OnReset(payload);
    case FrameType::kSettings: return OnSettings(payload);
    case FrameType::kPing: return OnPing(payload);
    case FrameType::kGoAway: return OnGoAway(payload);
    case FrameType::kWindowUpdate: return OnWindowUpdate(payload);
  }
  return OkStatus();  // the reader has skipped all other types
}

/// Also decompresses headers that nobody reads, because later headers depend on them.
Status Session::OnHeaders(const FrameHeader& header, std::string_view payload) {
  const auto type = static_cast<FrameType>(header.type);
  const auto frame = ParseStreamHeaders(type, payload);
  if (!frame.ok()) return frame.status();
  RETURN_IF_ERROR(header_reader_.Read(frame->block), "stream {}", frame->stream);
  if (type == FrameType::kSynStream) {
    if (frame->stream == kWholeSession || IsOurs(frame->stream))
      return InvalidArgument("the server opens stream {}", frame->stream);
    return Answer(RstStreamFrame(frame->stream, ResetReason::kRefusedStream));
  }
  if (!streams_.contains(frame->stream)) return OkStatus();  // the stream has ended on our side
  if (type == FrameType::kSynReply) OnSynReply(frame->stream);
  if (header.fin()) PeerFinished(frame->stream);
  return OkStatus();
}

void Session::OnSynReply(StreamId id) {
  Stream& stream = streams_.at(id);
  if (std::exchange(stream.accepted, true)) {
    output_ += RstStreamFrame(id, ResetReason::kProtocolError);
    return EndStream(id, InvalidArgument("the peer accepts stream {} twice", id));
  }
  handler_.OnAccepted(id);
  Flush(id);
}

Status Session::OnReset(std::string_view payload) {
  const auto frame = ParseStreamNumber(payload);
  if (!frame.ok()) return frame.status();
  EndStream(frame->stream, Cancelled("reset by the peer: {}", ResetReasonName(frame->number)));
  return OkStatus();
}

Status Session::OnSettings(std::string_view payload) {
  const auto settings = ParseSettings(payload);
  if (!settings.ok()) return settings.status();
  for (const Setting& setting : *settings) {
    if (setting.id == static_cast<uint32_t>(SettingId::kMaxConcurrentStreams))
      max_streams_ = setting.value;
    if (setting.id != static_cast<uint32_t>(SettingId::kInitialWindowSize)) continue;
    if (setting.value > kMaxWindow)
      return InvalidArgument("an initial window of {} bytes", setting.value);
    SetInitialWindow(setting.value);
  }
  return OkStatus();
}

Status Session::OnPing(std::string_view payload) {
  const auto id = ParsePing(payload);
  if (!id.ok()) return id.status();
  // the answer to a ping of ours, and we send none
  return IsOurs(*id) ? OkStatus() : Answer(PingFrame(*id));
}

Status Session::OnGoAway(std::string_view payload) {
  const auto frame = ParseStreamNumber(payload);
  if (!frame.ok()) return frame.status();
  gone_away_ = true;
  std::vector<StreamId> unseen;
  for (const auto& each : streams_)
    if (each.first > frame->stream) unseen.push_back(each.first);
  for (const StreamId id : unseen) EndStream(id, Unavailable("the peer sent GOAWAY"));
  return OkStatus();
}

Status Session::OnWindowUpdate(std::string_view payload) {
  const auto frame = ParseStreamNumber(payload);
  if (!frame.ok()) return frame.status();
  peer_keeps_windows_ = true;
  const int64_t more = frame->number & kMaxWindow;
  if (frame->stream == kWholeSession) {
    send_window_ += more;
    if (send_window_ > kMaxWindow) return InvalidArgument("a window of {} bytes", send_window_);
    FlushAll();
    return OkStatus();
  }
  const auto found = streams_.find(frame->stream);
  if (found == streams_.end()) return OkStatus();
  found->second.send_window += more;
  if (found->second.send_window > kMaxWindow) {
    output_ += RstStreamFrame(frame->stream, ResetReason::kFlowControlError);
    EndStream(frame->stream, InvalidArgument("a window that is too large"));
    return OkStatus();
  }
  Flush(frame->stream);
  return OkStatus();
}

Status Session::OnData(const FrameReader::Data& data) {
  const bool known = IsOurs(data.stream) && data.stream < next_stream_;
  if (!known && data.first)
    RETURN_IF_ERROR(Answer(RstStreamFrame(data.stream, ResetReason::kInvalidStream)), "data");
  const auto found = streams_.find(data.stream);
  if (found != streams_.end() && !found->second.accepted) {
    output_ += RstStreamFrame(data.stream, ResetReason::kProtocolError);
    EndStream(data.stream, InvalidArgument("data before the stream was accepted"));
  } else if (found != streams_.end() && !found->second.peer_finished && !data.bytes.empty()) {
    handler_.OnData(data.stream, data.bytes);
  }
  if (data.fin) PeerFinished(data.stream);
  return Consumed(data.stream, data.bytes.size());
}

// Windows.

void Session::SetInitialWindow(uint32_t bytes) {
  peer_keeps_windows_ = true;
  const int64_t more = int64_t{bytes} - initial_window_;
  initial_window_ = bytes;
  for (auto& each : streams_) each.second.send_window += more;
  FlushAll();
}

/// Sends the stream's waiting bytes, as far as its window and that of the session allow.
void Session::Flush(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.accepted) return;
  Stream& stream = found->second;
  std::string_view waits = stream.unsent;
  while (!waits.empty()) {
    size_t size = std::min(waits.size(), kMaxDataFrame);
    if (peer_keeps_windows_) {
      const int64_t room = std::min(stream.send_window, send_window_);
      if (room <= 0) break;
      size = std::min(size, static_cast<size_t>(room));
    }
    output_ += DataFrame(id, waits.substr(0, size), /*fin=*/false);
    waits.remove_prefix(size);
    stream.send_window -= static_cast<int64_t>(size);
    send_window_ -= static_cast<int64_t>(size);
  }
  stream.unsent.erase(0, stream.unsent.size() - waits.size());
  if (!stream.unsent.empty() || stream.ours != Ours::kFinishing) return;
  stream.ours = Ours::kFinished;
  output_ += DataFrame(id, {}, /*fin=*/true);
  if (stream.peer_finished) streams_.erase(found);
}

void Session::FlushAll() {
  std::vector<StreamId> ids;
  for (const auto& each : streams_) ids.push_back(each.first);
  for (const StreamId id : ids) Flush(id);
}

/// Returns to the peer the window that its data used, half a window at a time.
Status Session::Consumed(StreamId id, size_t bytes) {
  const auto count = [this, bytes](StreamId whose, uint32_t& consumed) {
    consumed = static_cast<uint32_t>(std::min<size_t>(consumed + bytes, kMaxWindow));
    if (!peer_keeps_windows_ || consumed < kDefaultWindow / 2) return OkStatus();
    return Answer(WindowUpdateFrame(whose, std::exchange(consumed, 0)));
  };
  RETURN_IF_ERROR(count(kWholeSession, consumed_), "window");
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.peer_finished) return OkStatus();
  return count(id, found->second.consumed);
}

// The end of a stream.

void Session::PeerFinished(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || std::exchange(found->second.peer_finished, true)) return;
  if (found->second.ours == Ours::kFinished) streams_.erase(found);
  handler_.OnEnded(id, OkStatus());
}

void Session::EndStream(StreamId id, const Status& how) {
  if (streams_.erase(id) != 0) handler_.OnEnded(id, how);
}

Status Session::Answer(const std::string& frame) {
  answers_ += frame.size();
  if (answers_ > kMaxAnswers) return ResourceExhausted("the peer reads no answers");
  output_ += frame;
  return OkStatus();
}

}  // namespace splitlet::spdy
