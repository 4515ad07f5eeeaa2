#pragma once

/// A connection, which handles requests in sequence: each is answered before the next is read.
/// Owns:    its wire, its place in the list, one timer for the current wait.
/// Threads: the server's; Responder and Stream post their work there.
/// Errors:  a client that breaks the rules is answered 4xx, or cut.
/// Source:  docs/behaviour/node-api.md, "Listeners"; RFC 9112.

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libs/https/core.h"
#include "libs/https/request_parser.h"
#include "libs/https/server.h"
#include "libs/https/tunnel.h"
#include "libs/https/wire.h"

namespace splitlet::https {

class ChunkQueue;

class Connection final : public TunnelClient, public std::enable_shared_from_this<Connection> {
 public:
  Connection(std::shared_ptr<Core> core, std::unique_ptr<Wire> wire, std::string peer);

  /// `place`: the connection's entry in the list of connections.
  void Start(std::list<std::shared_ptr<Connection>>::iterator place);
  /// Closes immediately and leaves all lists.
  void Cut();
  bool known() const { return known_; }
  bool idle() const { return state_ == State::kIdle || state_ == State::kHandshake; }

  // Answers the request with this number. Ignored if that request is already answered.
  void SetKnown() { known_ = true; }
  void OnGone(uint64_t request, std::function<void()> gone);
  void Send(uint64_t request, Answer answer);
  void Begin(uint64_t request, Answer head, std::shared_ptr<ChunkQueue> queue);
  void PassTo(uint64_t request, Backend backend);
  /// Called when the queue has new bytes.
  void Pump(const std::shared_ptr<ChunkQueue>& queue);

  void ReadBytes(std::function<void(std::string bytes)> done) override;
  void WriteBytes(std::string bytes, std::function<void(bool written)> done) override;
  void FailTunnel(const std::string& why) override;
  void EndTunnel() override;

 private:
  enum class State { kHandshake, kIdle, kReading, kAnswering, kTunnel, kClosing, kCut };

  void Arm(Duration limit);
  void Disarm();
  void AwaitRequest();
  void Read();
  void OnRead(boost::system::error_code error, size_t n);
  void Parse();
  void Refuse();
  void Handle();
  Request TakeRequest();
  void Charge();
  void MakeRoomForRequest();
  void HoldBody(std::shared_ptr<const std::string> body);
  void DropBody();
  void WriteRest(std::string_view rest);
  void OnWritten();
  void Finish();
  void Close();
  std::shared_ptr<Tunnel> TakeTunnel();
  void TellGone();
  std::string HeadOf(const Answer& answer, const std::string& length) const;

  const std::shared_ptr<Core> core_;
  const std::unique_ptr<Wire> wire_;
  const std::string peer_;
  std::list<std::shared_ptr<Connection>>::iterator place_;
  boost::asio::steady_timer timer_;
  uint64_t armed_ = 0;
  State state_ = State::kHandshake;
  bool known_ = false;

  bool reading_ = false, client_gone_ = false, continued_ = false;
  std::array<char, 8 << 10> incoming_{};
  std::string pending_;  // bytes read but not yet used
  std::optional<RequestParser> parser_;
  size_t asked_bytes_ = 0;  // size of the request that the handler has
  size_t charged_ = 0;      // this connection's share of Core::unread_bytes

  uint64_t request_ = 0;  // number of the request that is being answered
  bool answered_ = false, keep_alive_ = false, head_only_ = false, chunked_ = false;
  std::function<void()> on_gone_;
  std::string outgoing_;
  bool writing_ = false;
  std::shared_ptr<const std::string> body_;  // sent after `outgoing_`; null: none
  bool body_begun_ = false;
  uint64_t body_number_ = 0;  // number in `unsent`; 0: the body does not count
  std::shared_ptr<ChunkQueue> queue_;
  std::shared_ptr<Tunnel> tunnel_;
  std::function<void(std::string)> tunnel_read_;
};

}  // namespace splitlet::https
