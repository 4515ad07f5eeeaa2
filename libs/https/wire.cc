#include "libs/https/wire.h"

#include <array>
#include <boost/asio/write.hpp>
#include <utility>

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

using Forgotten = std::array<char, 4096>;

void DrainInto(tcp::socket& socket, const std::shared_ptr<Forgotten>& bytes,
               const std::function<void()>& done) {
  socket.async_read_some(asio::buffer(*bytes), [&socket, bytes, done](error_code error, size_t) {
    if (error) return done();
    DrainInto(socket, bytes, done);
  });
}

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
  void ShutDown(std::function<void()> done) override {
    error_code ignored;
    socket_.cancel(ignored);  // a waiting read would mistake the shutdown for its own end
    Drain(socket_, std::move(done));
  }
  void Close() override {
    error_code ignored;
    socket_.close(ignored);
  }
  SSL* ssl() override { return nullptr; }

 private:
  tcp::socket socket_;
};

}  // namespace

void Drain(tcp::socket& socket, std::function<void()> done) {
  error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  DrainInto(socket, std::make_shared<Forgotten>(), done);
}

std::unique_ptr<Wire> MakePlainWire(tcp::socket socket) {
  return std::make_unique<PlainWire>(std::move(socket));
}

}  // namespace splitlet::https
