#pragma once

/// The client's side of a SPDY/3.1 session as a state machine: bytes of the peer go in by Receive,
/// bytes for it come out by TakeOutput. No I/O, no clock.
///
/// Windows are the peer's. Servers of Kubernetes announce none: they neither send nor obey SETTINGS
/// or WINDOW_UPDATE, and TCP alone slows the sender down. So windows count only after the peer's
/// first such frame.
///
/// Buffers for a peer: an unfinished control frame (64 KiB), unread answers (64 KiB), no data.
/// Streams that the peer opens are refused.
/// In:      Receive: bytes of the peer.
/// Owns:    the streams, the windows, what could not be sent yet.
/// Out:     TakeOutput: bytes for the peer; Handler: what has come.
/// Threads: one.
/// Errors:  Receive's: INVALID_ARGUMENT: not SPDY/3.1; RESOURCE_EXHAUSTED: above a limit. Then the
///          session is over, and TakeOutput has a GOAWAY.
/// Source:  SPDY/3.1, "Framing Layer" and "Flow control".

#include <map>
#include <string>
#include <string_view>

#include "libs/spdy/frame_reader.h"
#include "libs/spdy/header_block.h"

namespace splitlet::spdy {

/// A handler may call the session, except Receive.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  /// The peer has accepted the stream.
  virtual void OnAccepted(StreamId stream) = 0;
  virtual void OnData(StreamId stream, std::string_view bytes) = 0;
  /// The stream is over: OK after its last data; CANCELLED: the peer reset it, which ends our side
  /// too; UNAVAILABLE: the peer never handled it.
  virtual void OnEnded(StreamId stream, const Status& how) = 0;
};

class Session : private FrameReader::Sink {
 public:
  explicit Session(SessionHandler& handler);

  // Our actions. On a finished stream Write, Finish and Reset do nothing.

  /// UNAVAILABLE after a GOAWAY, RESOURCE_EXHAUSTED above the peer's limit.
  StatusOr<StreamId> Open(const Headers& headers);
  /// The bytes wait until the peer has accepted the stream and has room.
  void Write(StreamId stream, std::string_view bytes);
  /// Ends our side. The peer may go on.
  void Finish(StreamId stream);
  /// Ends both sides; no later event of the stream is reported.
  void Reset(StreamId stream, ResetReason reason);

  // The peer.

  Status Receive(std::string_view bytes);
  std::string TakeOutput();
  /// Written bytes of the stream that still wait.
  size_t unsent(StreamId stream) const;
  /// All waiting bytes, of both sides.
  size_t held() const;

 private:
  enum class Ours { kOpen, kFinishing, kFinished };
  struct Stream {
    bool accepted = false;
    Ours ours = Ours::kOpen;
    bool peer_finished = false;
    std::string unsent;
    int64_t send_window = 0;  // below 0 after the peer has made its windows smaller
    uint32_t consumed = 0;    // since our last WINDOW_UPDATE
  };

  Status OnControl(const FrameHeader& header, std::string_view payload) override;
  Status OnData(const FrameReader::Data& data) override;
  Status Dispatch(const FrameHeader& header, std::string_view payload);
  Status OnHeaders(const FrameHeader& header, std::string_view payload);
  void OnSynReply(StreamId id);
  Status OnReset(std::string_view payload);
  Status OnSettings(std::string_view payload);
  Status OnPing(std::string_view payload);
  Status OnGoAway(std::string_view payload);
  Status OnWindowUpdate(std::string_view payload);

  void SetInitialWindow(uint32_t bytes);
  void Flush(StreamId id);
  void FlushAll();
  Status Consumed(StreamId id, size_t bytes);
  void PeerFinished(StreamId id);
  void EndStream(StreamId id, const Status& how);
  Status Answer(const std::string& frame);

  SessionHandler& handler_;
  FrameReader reader_;
  HeaderReader header_reader_;
  HeaderWriter header_writer_;
  std::map<StreamId, Stream> streams_;
  StreamId next_stream_ = 1;
  bool gone_away_ = false;
  uint32_t max_streams_;

  bool peer_keeps_windows_ = false;
  uint32_t initial_window_;  // of a stream, for what we send
  int64_t send_window_;      // of the session
  uint32_t consumed_ = 0;    // in all streams since our last WINDOW_UPDATE

  std::string output_;
  size_t answers_ = 0;  // bytes of output_ that the peer has made us write
};

}  // namespace splitlet::spdy
