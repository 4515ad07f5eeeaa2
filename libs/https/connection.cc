#include "libs/https/connection.h"

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <utility>

#include "libs/https/chunk_queue.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr size_t kMaxAhead =
    8 << 10;  // limit of bytes read ahead from a client that does not wait for its answer
constexpr size_t kPieceBytes = 64 << 10;
constexpr Duration kCloseLimit = std::chrono::seconds{2};

std::string TextOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Posts its answers to the connection's thread.
class ConnectionResponder final : public Responder {
 public:
  ConnectionResponder(std::shared_ptr<Core> core, std::shared_ptr<Connection> connection,
                      uint64_t request)
      : core_(std::move(core)), connection_(std::move(connection)), request_(request) {}
  ~ConnectionResponder() override {
    if (!answered_) Send({.code = 500, .headers = {}, .body = "Internal Server Error\n"});
  }
  ConnectionResponder(const ConnectionResponder&) = delete;
  ConnectionResponder& operator=(const ConnectionResponder&) = delete;

  void SetKnown() override {
    core_->Post([connection = connection_] { connection->SetKnown(); });
  }
  void OnGone(std::function<void()> gone) override {
    core_->Post([connection = connection_, request = request_, gone = std::move(gone)] {
      connection->OnGone(request, gone);
    });
  }
  void Send(Answer answer) override {
    answered_ = true;
    core_->Post(
        [connection = connection_, request = request_, answer = std::move(answer)]() mutable {
          connection->Send(request, std::move(answer));
        });
  }
  std::shared_ptr<Stream> Begin(Answer head) override;
  void PassTo(Backend backend) override {
    answered_ = true;
    core_->Post([connection = connection_, request = request_, backend = std::move(backend)] {
      connection->PassTo(request, backend);
    });
  }

 private:
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Connection> connection_;
  const uint64_t request_;
  std::atomic<bool> answered_{false};
};

class ConnectionStream final : public Stream {
 public:
  ConnectionStream(std::shared_ptr<Core> core, std::shared_ptr<Connection> connection,
                   std::shared_ptr<ChunkQueue> queue)
      : core_(std::move(core)), connection_(std::move(connection)), queue_(std::move(queue)) {}
  ~ConnectionStream() override {
    if (!ended_)
      core_->Post([connection = connection_, queue = queue_] {
        if (!queue->gone()) connection->Cut();
      });
  }
  ConnectionStream(const ConnectionStream&) = delete;
  ConnectionStream& operator=(const ConnectionStream&) = delete;

  bool Write(std::string_view bytes) override { return Put(bytes, false); }
  bool WaitForRoom(size_t below) override { return queue_->WaitForRoom(below); }
  void End() override {
    ended_ = true;
    Put("", true);
  }
  bool gone() const override { return queue_->gone(); }

 private:
  bool Put(std::string_view bytes, bool last) {
    const ChunkQueue::Put put = queue_->Add(bytes, last);
    if (put == ChunkQueue::Put::kWakes)
      core_->Post([connection = connection_, queue = queue_] { connection->Pump(queue); });
    return put != ChunkQueue::Put::kGone;
  }

  const std::shared_ptr<Core> core_;
  const std::shared_ptr<Connection> connection_;
  const std::shared_ptr<ChunkQueue> queue_;
  std::atomic<bool> ended_{false};
};

std::shared_ptr<Stream> ConnectionResponder::Begin(Answer head) {
  answered_ = true;
  auto queue = std::make_shared<ChunkQueue>();
  core_->Post(
      [connection = connection_, request = request_, queue, head = std::move(head)]() mutable {
        connection->Begin(request, std::move(head), queue);
      });
  return std::make_shared<ConnectionStream>(core_, connection_, std::move(queue));
}

}  // namespace

Connection::Connection(std::shared_ptr<Core> core, std::unique_ptr<Wire> wire, std::string peer)
    : core_(std::move(core)),
      wire_(std::move(wire)),
      peer_(std::move(peer)),
      timer_(core_->context) {}

void Connection::Start(std::list<std::shared_ptr<Connection>>::iterator place) {
  place_ = place;
  Arm(core_->options.handshake_limit);
  wire_->Handshake([self = shared_from_this()](error_code error) {
    if (error) return self->Cut();
    if (self->state_ == State::kHandshake) self->AwaitRequest();
  });
}

void Connection::Arm(Duration limit) {
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this(), armed = ++armed_](error_code error) {
    if (!error && armed == self->armed_) self->Cut();
  });
}

void Connection::Disarm() {
  ++armed_;
  timer_.cancel();
}

void Connection::Cut() {
  if (state_ == State::kCut) return;
  const auto self = shared_from_this();  // the list may hold the last reference
  state_ = State::kCut;
  core_->connections.erase(place_);
  --core_->count;
  pending_ = {};
  parser_.reset();
  asked_bytes_ = 0;
  Charge();
  DropBody();
  if (core_->stopping && core_->connections.empty()) core_->grace.cancel();
  Disarm();
  if (const auto tunnel = TakeTunnel(); tunnel != nullptr) tunnel->Close();
  tunnel_read_ = nullptr;
  wire_->Close();
  TellGone();
}

void Connection::TellGone() {
  client_gone_ = true;
  if (queue_ != nullptr) queue_->SetGone();
  if (on_gone_) std::exchange(on_gone_, nullptr)();
}

void Connection::AwaitRequest() {
  if (core_->stopping) return Close();
  state_ = State::kIdle;
  continued_ = false;
  parser_.emplace(RequestParser::Bounds{.header_bytes = core_->options.max_header_bytes,
                                        .body_bytes = core_->options.max_body_bytes});
  Arm(core_->options.idle_limit);
  if (pending_.empty()) return Read();
  state_ = State::kReading;
  Arm(core_->options.header_limit);
  Parse();
}

void Connection::Read() {
  if (std::exchange(reading_, true)) return;
  wire_->ReadSome(asio::buffer(incoming_), [self = shared_from_this()](error_code error, size_t n) {
    self->reading_ = false;
    self->OnRead(error, n);
  });
}

void Connection::OnRead(error_code error, size_t n) {
  if (state_ == State::kCut || state_ == State::kClosing) return;
  pending_.append(incoming_.data(), n);
  switch (state_) {
    case State::kHandshake:
    case State::kIdle:
      if (error) return Cut();
      state_ = State::kReading;
      Arm(core_->options.header_limit);
      return Parse();
    case State::kReading: return error ? Cut() : Parse();
    case State::kAnswering:
      Charge();
      if (state_ == State::kCut) return;
      if (error) return queue_ == nullptr ? TellGone() : Cut();
      if (pending_.size() < kMaxAhead) Read();
      return;
    case State::kTunnel:
      client_gone_ = client_gone_ || error;
      if (tunnel_read_ && (error || !pending_.empty()))
        std::exchange(tunnel_read_, nullptr)(std::exchange(pending_, {}));
      return;
    case State::kClosing:
    case State::kCut: return;
  }
}

void Connection::Parse() {
  pending_.erase(0, parser_->Take(pending_));
  if (pending_.empty()) pending_.shrink_to_fit();
  if (parser_->refusal() != 0) return Refuse();
  if (parser_->done()) return Handle();
  Charge();
  if (state_ == State::kCut) return;
  if (!parser_->has_head() || continued_ || !parser_->asks_to_continue()) return Read();
  continued_ = true;
  outgoing_ = "HTTP/1.1 100 Continue\r\n\r\n";
  wire_->Write(asio::buffer(outgoing_), [self = shared_from_this()](error_code failed, size_t) {
    if (failed) return self->Cut();
    if (self->state_ == State::kReading) self->Read();
  });
}

void Connection::Refuse() {
  state_ = State::kAnswering;
  keep_alive_ = false;
  answered_ = false;
  head_only_ = false;
  pending_ = {};
  Answer answer{.code = parser_->refusal(),
                .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                .body = parser_->why() + "\n"};
  parser_.reset();
  Send(++request_, std::move(answer));
}

Request Connection::TakeRequest() {
  Request request = parser_->Release();
  request.peer = peer_;
  request.tls = wire_->ssl() != nullptr;
  const auto mark = request.target.find('?');
  request.path = request.target.substr(0, mark);
  if (mark != std::string::npos) request.query = request.target.substr(mark + 1);
  if (request.tls && core_->authority != nullptr) {
    auto client = core_->authority->Verify(wire_->ssl());
    if (client.ok())
      request.client = *std::move(client);
    else
      request.bad_client = Message(client.status());
  }
  return request;
}

void Connection::Handle() {
  Disarm();
  state_ = State::kAnswering;
  asked_bytes_ = parser_->held();
  chunked_ = parser_->is_http11();
  keep_alive_ = parser_->keeps_alive();
  Request request = TakeRequest();
  head_only_ = request.head_only();
  parser_.reset();
  answered_ = false;
  Charge();
  if (state_ == State::kCut) return;
  auto responder = std::make_shared<ConnectionResponder>(core_, shared_from_this(), ++request_);
  if (pending_.size() < kMaxAhead) Read();  // keep reading, to notice when the client closes
  core_->handler(std::move(request), std::move(responder));
}

/// Called after each change of the number of bytes that this connection holds. May cut the
/// connection.
void Connection::Charge() {
  const bool waits = state_ == State::kReading || (state_ == State::kAnswering && !answered_);
  const size_t now =
      waits ? pending_.size() + (parser_ ? parser_->held() : 0) + asked_bytes_ : size_t{0};
  // modulo 2^64, so the difference may be negative
  core_->unread_bytes += now - std::exchange(charged_, now);
  if (core_->unread_bytes > core_->options.max_unread_bytes) MakeRoomForRequest();
}

/// Any client may send, so unfinished requests of many clients must not add up.
void Connection::MakeRoomForRequest() {
  const auto& all = core_->connections;
  const auto most = std::ranges::max_element(all, {}, [](const auto& connection) {
    return std::pair(!connection->known_ && connection->charged_ > 0, connection->charged_);
  });
  ++core_->displaced;
  const std::shared_ptr<Connection> cut = *most;
  cut->Cut();
}

/// Unsent answers to slow readers must not add up either.
void Connection::HoldBody(std::shared_ptr<const std::string> body) {
  body_ = std::move(body);
  body_begun_ = false;
  body_number_ = ++core_->last_body;
  core_->unsent.Add(*body_);
  while (core_->unsent.bytes() > core_->options.max_unsent_bytes) {
    const auto first = std::ranges::min_element(core_->connections, {}, [](const auto& connection) {
      return connection->body_number_ == 0 ? UINT64_MAX : connection->body_number_;
    });
    if (first->get() == this) return;
    ++core_->displaced;
    const std::shared_ptr<Connection> cut = *first;
    cut->Cut();
  }
}

/// The body no longer counts. A running write may still read it.
void Connection::DropBody() {
  if (std::exchange(body_number_, 0) != 0) core_->unsent.Remove(*body_);
}

void Connection::OnGone(uint64_t request, std::function<void()> gone) {
  if (request != request_) return;
  if (state_ != State::kAnswering && state_ != State::kCut) return;
  if (client_gone_) return gone();
  on_gone_ = std::move(gone);
}

std::string Connection::HeadOf(const Answer& answer, const std::string& length) const {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", answer.code,
                  TextOf(http::obsolete_reason(static_cast<http::status>(answer.code))));
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  return head + length + (keep_alive_ ? "" : "Connection: close\r\n") + "\r\n";
}

void Connection::Send(uint64_t request, Answer answer) {
  if (state_ != State::kAnswering || request != request_ || std::exchange(answered_, true)) return;
  asked_bytes_ = 0;
  Charge();
  keep_alive_ = keep_alive_ && !core_->stopping;
  const bool shared = answer.shared_body != nullptr;
  const std::string& body = shared ? *answer.shared_body : answer.body;
  const bool bodyless = answer.code == 204 || answer.code == 304;
  outgoing_ = HeadOf(answer, bodyless ? "" : fmt::format("Content-Length: {}\r\n", body.size()));
  if (!head_only_ && !bodyless) {
    if (body.size() <= kPieceBytes)
      outgoing_ += body;
    else
      HoldBody(shared ? std::move(answer.shared_body)
                      : std::make_shared<const std::string>(std::move(answer.body)));
  }
  WriteRest(outgoing_);
}

/// Writes `outgoing_` or `body_` in pieces, each with its own time limit.
void Connection::WriteRest(std::string_view rest) {
  writing_ = true;
  Arm(queue_ == nullptr ? core_->options.write_limit : core_->options.stream_limit);
  const size_t size = queue_ == nullptr ? std::min(kPieceBytes, rest.size()) : rest.size();
  wire_->Write(asio::buffer(rest.data(), size),
               [self = shared_from_this(), next = rest.substr(size)](error_code error, size_t) {
                 if (self->state_ == State::kCut) return;
                 if (error) return self->Cut();
                 if (!next.empty()) return self->WriteRest(next);
                 self->OnWritten();
               });
}

void Connection::OnWritten() {
  writing_ = false;
  Disarm();
  if (queue_ != nullptr) return Pump(queue_);
  if (body_ != nullptr && !std::exchange(body_begun_, true)) return WriteRest(*body_);
  Finish();
}

void Connection::Begin(uint64_t request, Answer head, std::shared_ptr<ChunkQueue> queue) {
  if (state_ != State::kAnswering || request != request_ || std::exchange(answered_, true))
    return queue->SetGone();
  asked_bytes_ = 0;
  Charge();
  keep_alive_ = keep_alive_ && chunked_ && !core_->stopping;
  outgoing_ = HeadOf(head, chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  if (head_only_) {
    queue->SetGone();
    return WriteRest(outgoing_);
  }
  queue_ = std::move(queue);
  if (client_gone_) return Cut();
  if (!head.body.empty())
    outgoing_ += chunked_ ? fmt::format("{:x}\r\n{}\r\n", head.body.size(), head.body) : head.body;
  WriteRest(outgoing_);
}

void Connection::Pump(const std::shared_ptr<ChunkQueue>& queue) {
  if (state_ != State::kAnswering || queue != queue_ || writing_) return;
  const bool last = queue_->Take(outgoing_);
  size_t begin = 0;
  if (!outgoing_.empty())
    begin = chunked_ ? ChunkQueue::MakeChunk(outgoing_) : size_t{ChunkQueue::kHead};
  if (last) {
    queue_->SetGone();
    queue_.reset();
    on_gone_ = nullptr;
    if (chunked_) outgoing_ += "0\r\n\r\n";
    if (outgoing_.empty()) return Finish();
  }
  if (!outgoing_.empty()) WriteRest(std::string_view(outgoing_).substr(begin));
}

void Connection::Finish() {
  on_gone_ = nullptr;
  outgoing_ = {};
  DropBody();
  body_.reset();
  if (keep_alive_ && !client_gone_) return AwaitRequest();
  Close();
}

void Connection::Close() {
  state_ = State::kClosing;
  Arm(kCloseLimit);
  pending_ = {};
  if (client_gone_) return Cut();
  wire_->ShutDown([self = shared_from_this()] { self->Cut(); });
}

void Connection::PassTo(uint64_t request, Backend backend) {
  if (state_ != State::kAnswering || request != request_ || std::exchange(answered_, true)) return;
  asked_bytes_ = 0;
  Charge();
  if (client_gone_) return Cut();
  if (core_->tunnels >= core_->options.max_connections * 3 / 4) {
    answered_ = false;
    return Send(request, {.code = 429,
                          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                          .body = "too many streams are open\n"});
  }
  ++core_->tunnels;
  state_ = State::kTunnel;
  on_gone_ = nullptr;
  tunnel_ = std::make_shared<Tunnel>(core_->context, std::move(backend),
                                     core_->options.stream_limit, shared_from_this());
  const std::shared_ptr<Tunnel> started = tunnel_;  // the tunnel may end immediately
  started->Start();
}

void Connection::ReadBytes(std::function<void(std::string bytes)> done) {
  if (client_gone_ || !pending_.empty()) {
    asio::post(core_->context,
               [done = std::move(done), bytes = std::exchange(pending_, {})] { done(bytes); });
    return;
  }
  tunnel_read_ = std::move(done);
  Read();
}

void Connection::WriteBytes(std::string bytes, std::function<void(bool written)> done) {
  outgoing_ = std::move(bytes);
  wire_->Write(asio::buffer(outgoing_), [self = shared_from_this(), done = std::move(done)](
                                            error_code error, size_t) { done(!error); });
}

std::shared_ptr<Tunnel> Connection::TakeTunnel() {
  if (tunnel_ != nullptr) --core_->tunnels;
  return std::exchange(tunnel_, nullptr);
}

void Connection::FailTunnel(const std::string& why) {
  TakeTunnel();
  if (state_ != State::kTunnel) return;
  state_ = State::kAnswering;
  answered_ = false;
  keep_alive_ = false;
  Send(request_, {.code = 500,
                  .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                  .body = why + "\n"});
}

void Connection::EndTunnel() {
  TakeTunnel();
  if (state_ == State::kTunnel) Close();
}

}  // namespace splitlet::https
