#pragma once

/// The client's side of a SPDY/3.1 session as a state machine: bytes of the peer go in by Receive,
/// bytes for it come out by TakeOutput. No I/O, no clock.
///
/// The peer sets windows. Servers of Kubernetes neither send nor obey SETTINGS or WINDOW_UPDATE;
/// only TCP slows the sender down. So windows count only after the peer's first such frame.
///
/// Buffers for a peer hold an unfinished control frame (64 KiB) and unread answers (64 KiB), but no
/// data. The session refuses streams that the peer opens.
/// In:      Receive: bytes of the peer.
/// Owns:    the streams, the windows, unsent bytes.
/// Out:     TakeOutput: bytes for the peer; Handler: received events.
/// Threads: one.
/// Errors:  Receive's: INVALID_ARGUMENT: not SPDY/3.1; RESOURCE_EXHAUSTED: above a limit.
///          After an error the session has ended, and TakeOutput returns a GOAWAY.
/// Source:  SPDY/3.1, "Framing Layer" and "Flow control".

#include <map>
#include <string>
#include <string_view>

#include "libs/spdy/frame_reader.h"
#include "libs/spdy/header_block.h"

namespace splitlet::spdy {

/// A handler may call any function of the session except Receive.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  /// The peer has accepted the stream.
  virtual void OnAccepted(StreamId stream) = 0;
  virtual void OnData(StreamId stream, std::string_view bytes) = 0;
  /// The stream has ended. OK: after its last data; CANCELLED: the peer reset it, which ends our
  /// side too; UNAVAILABLE: the peer never handled it.
  virtual void OnEnded(StreamId stream, const Status& how) = 0;
};

class Session : private FrameReader::Sink {
 public:
  explicit Session(SessionHandler& handler);

  // Actions of our side. On a finished stream Write, Finish and Reset do nothing.

  /// UNAVAILABLE after a GOAWAY, RESOURCE_EXHAUSTED above the peer's limit.
  StatusOr<StreamId> Open(const Headers& headers);
  /// The bytes wait until the peer has accepted the stream and its window allows them.
  void Write(StreamId stream, std::string_view bytes);
  /// Ends our side. The peer may still send.
  void Finish(StreamId stream);
  /// Ends both sides; no later event of the stream is reported.
  void Reset(StreamId stream, ResetReason reason);

  // The peer.

  Status Receive(std::string_view bytes);
  std::string TakeOutput();
  /// Waiting bytes of the stream.
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
    int64_t send_window = 0;  // negative after the peer has reduced its windows
    uint32_t consumed = 0;    // bytes since our last WINDOW_UPDATE
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
  uint32_t initial_window_;  // initial send window of a stream
  int64_t send_window_;      // send window of the session
  uint32_t consumed_ = 0;    // bytes in all streams since our last WINDOW_UPDATE

  std::string output_;
  size_t answers_ = 0;  // bytes of output_ that answer frames of the peer
};

}  // namespace splitlet::spdy
