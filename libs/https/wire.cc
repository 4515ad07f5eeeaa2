#include "libs/https/wire.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "libs/https/tls_context.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

class PlainWire final : public Wire {
 public:
  explicit PlainWire(tcp::socket socket) : socket_(std::move(socket)) {}
  void Handshake(std::function<void(error_code)> done) override { done({}); }
  void ReadSome(asio::mutable_buffer into, Done done) override {
    socket_.async_read_some(into, std::move(done));
  }
  void Write(asio::const_buffer bytes, Done done) override {
    asio::async_write(socket_, bytes, std::move(done));
  }
  void ShutDown(std::function<void()>) override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
  }
  void Close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  SSL* ssl() override { return nullptr; }

 private:
  tcp::socket socket_;
};

class TlsWire final : public Wire {
 public:
  TlsWire(tcp::socket socket, std::shared_ptr<const TlsContext> context)
      : context_(std::move(context)), stream_(std::move(socket), context_->context()) {}
  void Handshake(std::function<void(error_code)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }
  void ReadSome(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(asio::const_buffer bytes, Done done) override {
    if (bytes.size() <= kRecordBytes) return asio::async_write(stream_, bytes, std::move(done));
    // Each record is a write of its own to the socket: they travel together.
    SetCork(1);
    asio::async_write(stream_, bytes, [this, done = std::move(done)](error_code error, size_t n) {
      SetCork(0);
      done(error, n);
    });
  }
  void ShutDown(std::function<void()> done) override {
    stream_.async_shutdown([done = std::move(done)](error_code) { done(); });
  }
  void Close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }
  SSL* ssl() override { return stream_.native_handle(); }

 private:
  static constexpr size_t kRecordBytes = 16 << 10;  // the most that one takes

  void SetCork(int value) {
    ::setsockopt(stream_.next_layer().native_handle(), IPPROTO_TCP, TCP_CORK, &value,
                 sizeof(value));
  }

  const std::shared_ptr<const TlsContext> context_;  // before the stream, which uses it
  asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Wire> MakePlainWire(tcp::socket socket) {
  return std::make_unique<PlainWire>(std::move(socket));
}

std::unique_ptr<Wire> MakeTlsWire(tcp::socket socket, std::shared_ptr<const TlsContext> context) {
  return std::make_unique<TlsWire>(std::move(socket), std::move(context));
}

}  // namespace splitlet::https
