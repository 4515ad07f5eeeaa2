#include "libs/https/connection.h"

#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/status.hpp>
#include <iterator>
#include <utility>

#include "libs/https/chunk_queue.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

constexpr size_t kMaxAhead = 64 << 10;  // read of a client that does not wait for its answer
constexpr size_t kPieceBytes = 64 << 10;
// Each takes far more room than its bytes: a short one of four bytes a hundred and more.
constexpr auto kMaxFields = 256;
constexpr Duration kCloseLimit = std::chrono::seconds{2};

std::string TextOf(boost::beast::string_view text) { return {text.data(), text.size()}; }

template <class Parser>
bool HasTooManyFields(const Parser& parser) {
  const auto& fields = parser.get();
  return std::distance(fields.begin(), fields.end()) > kMaxFields;
}

/// Answers by what it posts to the connection's thread.
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
  const auto self = shared_from_this();  // the list may hold the last one
  state_ = State::kCut;
  core_->connections.erase(place_);
  --core_->count;
  if (core_->stopping && core_->connections.empty()) core_->grace.cancel();
  Disarm();
  if (tunnel_ != nullptr) std::exchange(tunnel_, nullptr)->Close();
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
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(static_cast<uint32_t>(core_->options.max_header_bytes));
  parser_->body_limit(core_->options.max_body_bytes);
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
  if (state_ == State::kCut) return;
  if (state_ == State::kClosing) return error ? Cut() : Read();
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
  error_code error;
  const size_t used = parser_->put(asio::buffer(pending_), error);
  pending_.erase(0, used);
  if (pending_.empty()) pending_.shrink_to_fit();
  if (error && error != http::error::need_more) return Refuse(error);
  if (parser_->is_header_done() && HasTooManyFields(*parser_))
    return Refuse(http::error::header_limit);
  if (parser_->is_done()) return Handle();
  const bool asks = parser_->is_header_done() && !continued_ &&
                    parser_->get()[http::field::expect] == "100-continue";
  if (!asks) return Read();
  continued_ = true;
  outgoing_ = "HTTP/1.1 100 Continue\r\n\r\n";
  wire_->Write(asio::buffer(outgoing_), [self = shared_from_this()](error_code failed, size_t) {
    if (failed) return self->Cut();
    if (self->state_ == State::kReading) self->Read();
  });
}

void Connection::Refuse(error_code error) {
  int code = 400;
  if (error == http::error::header_limit) code = 431;
  if (error == http::error::body_limit) code = 413;
  state_ = State::kAnswering;
  keep_alive_ = false;
  answered_ = false;
  head_only_ = false;
  parser_.reset();
  Send(++request_, {.code = code,
                    .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                    .body = fmt::format("{}\n", error.message())});
}

Request Connection::TakeRequest() {
  const auto& got = parser_->get();
  Request request{.method = TextOf(got.method_string()),
                  .target = TextOf(got.target()),
                  .path = "",
                  .query = "",
                  .headers = {},
                  .body = got.body(),
                  .peer = peer_,
                  .tls = wire_->ssl() != nullptr,
                  .client = std::nullopt,
                  .bad_client = ""};
  const auto mark = request.target.find('?');
  request.path = request.target.substr(0, mark);
  if (mark != std::string::npos) request.query = request.target.substr(mark + 1);
  for (const auto& field : got)
    request.headers.emplace_back(TextOf(field.name_string()), TextOf(field.value()));
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
  Request request = TakeRequest();
  chunked_ = parser_->get().version() >= 11;
  keep_alive_ = parser_->get().keep_alive();
  head_only_ = request.head_only();
  parser_.reset();
  answered_ = false;
  auto responder = std::make_shared<ConnectionResponder>(core_, shared_from_this(), ++request_);
  if (pending_.size() < kMaxAhead) Read();  // so that a client that goes is noticed
  core_->handler(std::move(request), std::move(responder));
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
  keep_alive_ = keep_alive_ && !core_->stopping;
  const bool bodyless = answer.code == 204 || answer.code == 304;
  outgoing_ =
      HeadOf(answer, bodyless ? "" : fmt::format("Content-Length: {}\r\n", answer.body.size()));
  if (!head_only_ && !bodyless) outgoing_ += answer.body;
  WritePiece(0);
}

void Connection::WritePiece(size_t from) {
  writing_ = true;
  Arm(queue_ == nullptr ? core_->options.write_limit : core_->options.stream_limit);
  const size_t rest = outgoing_.size() - from;
  const size_t size = queue_ == nullptr ? std::min(kPieceBytes, rest) : rest;
  wire_->Write(asio::buffer(outgoing_.data() + from, size),
               [self = shared_from_this(), next = from + size](error_code error, size_t) {
                 if (self->state_ == State::kCut) return;
                 if (error) return self->Cut();
                 if (next < self->outgoing_.size()) return self->WritePiece(next);
                 self->OnWritten();
               });
}

void Connection::OnWritten() {
  writing_ = false;
  Disarm();
  if (queue_ == nullptr) return Finish();
  Pump(queue_);
}

void Connection::Begin(uint64_t request, Answer head, std::shared_ptr<ChunkQueue> queue) {
  if (state_ != State::kAnswering || request != request_ || std::exchange(answered_, true))
    return queue->SetGone();
  keep_alive_ = keep_alive_ && chunked_ && !core_->stopping;
  outgoing_ = HeadOf(head, chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  if (head_only_) {
    queue->SetGone();
    return WritePiece(0);
  }
  queue_ = std::move(queue);
  if (client_gone_) return Cut();
  if (!head.body.empty())
    outgoing_ += chunked_ ? fmt::format("{:x}\r\n{}\r\n", head.body.size(), head.body) : head.body;
  WritePiece(0);
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
  if (!outgoing_.empty()) WritePiece(begin);
}

void Connection::Finish() {
  on_gone_ = nullptr;
  outgoing_ = {};
  if (keep_alive_ && !client_gone_) return AwaitRequest();
  Close();
}

void Connection::Close() {
  state_ = State::kClosing;
  Arm(kCloseLimit);
  wire_->ShutDown([self = shared_from_this()] { self->Cut(); });
  if (client_gone_) return Cut();
  Read();  // what the client still sends: with it unread the kernel would take our answer back
}

void Connection::PassTo(uint64_t request, Backend backend) {
  if (state_ != State::kAnswering || request != request_ || std::exchange(answered_, true)) return;
  if (client_gone_) return Cut();
  state_ = State::kTunnel;
  on_gone_ = nullptr;
  tunnel_ = std::make_shared<Tunnel>(core_->context, std::move(backend),
                                     core_->options.stream_limit, shared_from_this());
  const std::shared_ptr<Tunnel> started = tunnel_;  // which may end at once
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

void Connection::FailTunnel(const std::string& why) {
  tunnel_.reset();
  if (state_ != State::kTunnel) return;
  state_ = State::kAnswering;
  answered_ = false;
  keep_alive_ = false;
  Send(request_, {.code = 500,
                  .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                  .body = why + "\n"});
}

void Connection::EndTunnel() {
  tunnel_.reset();
  if (state_ == State::kTunnel) Close();
}

}  // namespace splitlet::https
