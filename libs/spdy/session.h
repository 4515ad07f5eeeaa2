#pragma once

/// The client's side of a SPDY/3.1 session as a state machine: bytes of the peer go in by Receive,
/// bytes for it come out by TakeOutput. No I/O, no clock.
///
/// Windows are those that the peer announces. Servers of Kubernetes announce none: they neither
/// send SETTINGS or WINDOW_UPDATE nor act on them, and TCP alone holds the sender back. So windows
/// count from the first such frame of the peer on.
///
/// Kept from a peer: a control frame that is not whole (64 KiB), answers that it has not read
/// (64 KiB), nothing of data. Streams that the peer opens are refused.
/// In:      Receive: bytes of the peer.
/// Owns:    the streams, the windows, what could not be sent yet.
/// Out:     TakeOutput: bytes for the peer; Handler: what has come.
/// Threads: one.
/// Errors:  of Receive: INVALID_ARGUMENT for what is not SPDY/3.1, RESOURCE_EXHAUSTED above a
///          limit. The session is over then; TakeOutput has a GOAWAY.
/// Source:  SPDY/3.1, "Framing Layer" and "Flow control".

#include <map>
#include <string>
#include <string_view>

#include "libs/spdy/frame_reader.h"
#include "libs/spdy/header_block.h"

namespace splitlet::spdy {

/// A handler may call the session back, but not Receive.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  /// The peer has accepted the stream.
  virtual void OnAccepted(StreamId stream) = 0;
  virtual void OnData(StreamId stream, std::string_view bytes) = 0;
  /// Nothing more comes on it: OK after its last data, CANCELLED when the peer has reset it, which
  /// ends our side, too; UNAVAILABLE when the peer has never looked at it.
  virtual void OnEnded(StreamId stream, const Status& how) = 0;
};

class Session : private FrameReader::Sink {
 public:
  explicit Session(SessionHandler& handler);

  // Our actions. On a finished stream Write, Finish and Reset do nothing.

  /// UNAVAILABLE after a GOAWAY, RESOURCE_EXHAUSTED above the peer's limit.
  StatusOr<StreamId> Open(const Headers& headers);
  /// Waits until the peer has accepted the stream, and for room in its windows.
  void Write(StreamId stream, std::string_view bytes);
  /// No more is written. The peer may go on.
  void Finish(StreamId stream);
  /// Ends both sides; no later event of the stream is reported.
  void Reset(StreamId stream, ResetReason reason);

  // The peer.

  Status Receive(std::string_view bytes);
  std::string TakeOutput();
  /// Bytes that were written to the stream and still wait.
  size_t unsent(StreamId stream) const;
  /// All bytes that wait, of both sides.
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
