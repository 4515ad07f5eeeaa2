#include "libs/https/tls_wire.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

class TlsWire final : public Wire {
 public:
  TlsWire(tcp::socket socket, std::shared_ptr<const SslContext> context)
      : context_(std::move(context)), stream_(std::move(socket), context_->context()) {}
  void Handshake(std::function<void(error_code)> done) override {
    stream_.async_handshake(asio::ssl::stream_base::server, std::move(done));
  }
  void ReadSome(asio::mutable_buffer into, Done done) override {
    stream_.async_read_some(into, std::move(done));
  }
  void Write(asio::const_buffer bytes, Done done) override {
    if (bytes.size() <= kRecordBytes) return asio::async_write(stream_, bytes, std::move(done));
    // Each record is a separate write to the socket, so gather them.
    SetCork(1);
    asio::async_write(stream_, bytes, [this, done = std::move(done)](error_code error, size_t n) {
      SetCork(0);
      done(error, n);
    });
  }
  void ShutDown(std::function<void()> done) override {
    error_code ignored;
    stream_.next_layer().cancel(ignored);  // a waiting read would mistake the shutdown for its own
                                           // end
    // A shutdown that waits for the peer's would fail while the peer still sends.
    SSL_set_shutdown(ssl(), SSL_RECEIVED_SHUTDOWN);
    stream_.async_shutdown(
        [this, done = std::move(done)](error_code) { Drain(stream_.next_layer(), done); });
  }
  void Close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }
  SSL* ssl() override { return stream_.native_handle(); }

 private:
  static constexpr size_t kRecordBytes = 16 << 10;  // maximum of one record

  void SetCork(int value) {
    ::setsockopt(stream_.next_layer().native_handle(), IPPROTO_TCP, TCP_CORK, &value,
                 sizeof(value));
  }

  const std::shared_ptr<const SslContext> context_;  // before the stream, which uses it
  asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Wire> SslContext::MakeWire(tcp::socket socket) const {
  return std::make_unique<TlsWire>(std::move(socket), shared_from_this());
}

}  // namespace splitlet::https
