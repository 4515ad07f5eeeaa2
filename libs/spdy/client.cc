#include "libs/spdy/client.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "libs/base/one_line.h"
#include "libs/base/trim.h"

namespace splitlet::spdy {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Error = boost::system::error_code;

constexpr const char* kSpdy = "SPDY/3.1";
constexpr const char* kProtocolField = "X-Stream-Protocol-Version";
constexpr size_t kMaxAnswer = 16 << 10;  // limit for the head of the server's answer and its body
constexpr size_t kMaxReason = 500;
constexpr size_t kReadBytes = 64 << 10;

std::string Text(beast::string_view text) { return {text.data(), text.size()}; }

class TcpClient final : public Client, public std::enable_shared_from_this<TcpClient> {
 public:
  TcpClient(asio::io_context& io, ClientOptions options, ClientHandler& handler)
      : options_(std::move(options)),
        handler_(handler),
        socket_(io),
        session_(handler),
        buffer_(2 * kReadBytes) {
    parser_.header_limit(kMaxAnswer);
    parser_.body_limit(kMaxAnswer);
  }

  void Connect() {
    Error error;
    const auto address = asio::ip::make_address(options_.host, error);
    if (error) {
      asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->Close(Unavailable("\"{}\" is not an address", self->options_.host));
      });
      return;
    }
    socket_.expires_after(options_.connect_limit);
    socket_.async_connect(asio::ip::tcp::endpoint(address, options_.port),
                          [self = shared_from_this()](const Error& refused) {
                            if (refused) return self->Break("connect", refused);
                            if (!self->closed_) self->Greet();
                          });
  }

  /// The handler is gone; running operations end without it.
  void Leave() {
    closed_ = true;
    socket_.close();
  }

  StatusOr<StreamId> Open(const Headers& headers) override {
    auto stream = session_.Open(headers);
    Send();
    return stream;
  }
  void Write(StreamId stream, std::string_view bytes) override {
    session_.Write(stream, bytes);
    Send();
  }
  void Finish(StreamId stream) override {
    session_.Finish(stream);
    Send();
  }
  size_t unsent(StreamId stream) const override { return session_.unsent(stream); }
  void SetReading(bool reading) override {
    wanted_ = reading;
    if (upgraded_) Read();
  }

 private:
  void Greet() {
    Error ignored;  // an error only makes it slower
    socket_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    request_.method(http::verb::post);
    request_.target(options_.target);
    request_.set(http::field::host, options_.host + ":" + std::to_string(options_.port));
    request_.set(http::field::connection, "Upgrade");
    request_.set(http::field::upgrade, kSpdy);
    for (const auto& protocol : options_.protocols) request_.insert(kProtocolField, protocol);
    request_.prepare_payload();
    http::async_write(socket_, request_, [self = shared_from_this()](const Error& error, size_t) {
      if (error) return self->Break("ask to upgrade", error);
      http::async_read_header(self->socket_, self->buffer_, self->parser_,
                              [self](const Error& cut, size_t) {
                                if (cut) return self->Break("upgrade", cut);
                                if (!self->closed_) self->OnAnswer();
                              });
    });
  }

  void OnAnswer() {
    const auto& answer = parser_.get();
    const bool spdy = beast::iequals(answer[http::field::upgrade], kSpdy);
    if (answer.result() == http::status::switching_protocols && spdy) return Begin();
    http::async_read(socket_, buffer_, parser_,
                     [self = shared_from_this()](const Error&, size_t) { self->Decline(); });
  }

  void Decline() {
    const auto& answer = parser_.get();
    const std::string said =
        OneLine(Trimmed(std::string_view(answer.body()).substr(0, kMaxReason)));
    Close(Unavailable("the server does not upgrade to {}: {} {}{}{}", kSpdy, answer.result_int(),
                      OneLine(Text(answer.reason())), said.empty() ? "" : ": ", said));
  }

  void Begin() {
    socket_.expires_never();
    upgraded_ = true;
    handler_.OnConnected(Text(parser_.get()[kProtocolField]));
    const auto early = buffer_.cdata();  // bytes that came after the answer
    Receive({static_cast<const char*>(early.data()), early.size()});
    buffer_.clear();
    Read();
  }

  void Read() {
    if (!wanted_ || closed_ || std::exchange(under_way_, true)) return;
    socket_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this()](const Error& error, size_t size) {
                              if (self->closed_) return;
                              if (error) return self->Break("read", error);
                              self->Receive({self->chunk_.data(), size});
                              self->under_way_ = false;  // set before the call, because the handler
                                                         // may start the next read
                              self->Read();
                            });
  }

  void Receive(std::string_view bytes) {
    if (closed_ || bytes.empty()) return;
    const Status received = session_.Receive(bytes);
    Send();
    if (!received.ok()) Close(received);
  }

  /// Sends one piece at a time. The reader reports errors, because bytes that the server wrote
  /// before it closed the connection can still be read.
  void Send() {
    if (closed_ || !sending_.empty()) return;
    sending_ = session_.TakeOutput();
    if (sending_.empty()) return;
    asio::async_write(socket_, asio::buffer(sending_),
                      [self = shared_from_this()](const Error& error, size_t) {
                        if (error || self->closed_) return;
                        self->sending_.clear();
                        self->Send();
                        if (self->sending_.empty()) self->handler_.OnSent();
                      });
  }

  void Break(const char* what, const Error& error) {
    if (error == asio::error::eof) return Close(Unavailable("{}: the server has closed", what));
    Close(Unavailable("{}: {}", what, error.message()));
  }

  void Close(const Status& why) {
    if (std::exchange(closed_, true)) return;
    socket_.close();
    handler_.OnClosed(why);
  }

  const ClientOptions options_;
  ClientHandler& handler_;
  beast::tcp_stream socket_;
  Session session_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
  beast::flat_buffer buffer_;
  std::array<char, kReadBytes> chunk_;
  std::string sending_;
  bool upgraded_ = false, wanted_ = true, under_way_ = false, closed_ = false;
};

/// The caller's handle. Running operations also own the client.
class OwnedClient final : public Client {
 public:
  explicit OwnedClient(std::shared_ptr<TcpClient> client) : client_(std::move(client)) {}
  ~OwnedClient() override { client_->Leave(); }
  StatusOr<StreamId> Open(const Headers& headers) override { return client_->Open(headers); }
  void Write(StreamId stream, std::string_view bytes) override { client_->Write(stream, bytes); }
  void Finish(StreamId stream) override { client_->Finish(stream); }
  size_t unsent(StreamId stream) const override { return client_->unsent(stream); }
  void SetReading(bool reading) override { client_->SetReading(reading); }

 private:
  const std::shared_ptr<TcpClient> client_;
};

}  // namespace

std::unique_ptr<Client> MakeClient(asio::io_context& io, ClientOptions options,
                                   ClientHandler& handler) {
  auto client = std::make_shared<TcpClient>(io, std::move(options), handler);
  client->Connect();
  return std::make_unique<OwnedClient>(std::move(client));
}

}  // namespace splitlet::spdy
