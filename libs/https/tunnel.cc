#include "libs/https/tunnel.h"

#include <boost/asio/write.hpp>
#include <charconv>
#include <utility>

#include "libs/https/keep_alive.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr Duration kDialLimit = std::chrono::seconds{30};
constexpr Duration kErrorLimit = std::chrono::seconds{10};  // for the body of a refusal
constexpr size_t kMaxAnswerHead = 64 << 10;

/// Parses 101 out of "HTTP/1.1 101 Switching Protocols"; 0: another line.
int CodeOf(const std::string& answer) {
  const auto space = answer.find(' ');
  int code = 0;
  if (!answer.starts_with("HTTP/1.") || space == std::string::npos) return 0;
  const char* first = answer.data() + space + 1;
  const auto [end, wrong] = std::from_chars(first, answer.data() + answer.size(), code);
  return wrong == std::errc{} && end == first + 3 ? code : 0;
}

}  // namespace

Tunnel::Tunnel(asio::io_context& context, Backend backend, Duration write_limit,
               std::shared_ptr<TunnelClient> client)
    : backend_(std::move(backend)),
      client_(std::move(client)),
      socket_(context),
      write_limit_(write_limit),
      answer_limit_{asio::steady_timer(context)},
      to_backend_limit_{asio::steady_timer(context)},
      to_client_limit_{asio::steady_timer(context)} {}

void Tunnel::Arm(Limit& limit, Duration duration) {
  limit.timer.expires_after(duration);
  limit.timer.async_wait(
      [self = shared_from_this(), &limit, armed = ++limit.armed](error_code error) {
        if (!error && armed == limit.armed) self->End();
      });
}

void Tunnel::Disarm(Limit& limit) {
  ++limit.armed;
  limit.timer.cancel();
}

void Tunnel::Close() {
  client_.reset();
  for (Limit* limit : {&answer_limit_, &to_backend_limit_, &to_client_limit_}) Disarm(*limit);
  error_code ignored;
  socket_.close(ignored);
}

void Tunnel::End() {
  const auto client = std::move(client_);
  Close();
  if (client != nullptr) client->EndTunnel();
}

void Tunnel::Fail(const std::string& why) {
  const auto client = std::move(client_);
  Close();
  if (client != nullptr) client->FailTunnel(why);
}

void Tunnel::Start() {
  error_code error;
  const auto address = asio::ip::make_address(backend_.address, error);
  if (error) return Fail("error dialing backend: " + error.message());
  Arm(answer_limit_, kDialLimit);
  socket_.async_connect(tcp::endpoint(address, backend_.port),
                        [self = shared_from_this()](error_code failed) {
                          if (self->client_ == nullptr) return;
                          if (failed)
                            return self->Fail("error dialing backend: " + failed.message());
                          self->SendHead();
                        });
}

void Tunnel::SendHead() {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  KeepAlive(socket_);
  asio::async_write(socket_, asio::buffer(backend_.head),
                    [self = shared_from_this()](error_code error, size_t) {
                      if (self->client_ == nullptr) return;
                      if (error) return self->Fail("error sending request: " + error.message());
                      self->ReadAnswer();
                    });
}

void Tunnel::ReadAnswer() {
  socket_.async_read_some(asio::buffer(incoming_),
                          [self = shared_from_this()](error_code error, size_t n) {
                            if (self->client_ == nullptr) return;
                            if (error)
                              return self->Fail("error reading the answer: " + error.message());
                            self->answer_.append(self->incoming_.data(), n);
                            if (self->answer_.find("\r\n\r\n") != std::string::npos)
                              return self->OnAnswer();
                            if (self->answer_.size() > kMaxAnswerHead)
                              return self->Fail("invalid upgrade response: its head is too long");
                            self->ReadAnswer();
                          });
}

void Tunnel::OnAnswer() {
  const int code = CodeOf(answer_);
  if (code != 101 && code < 400)
    return Fail(fmt::format("invalid upgrade response: status code {}", code));
  if (code == 101)
    Disarm(answer_limit_);
  else
    Arm(answer_limit_, kErrorLimit);
  client_->WriteBytes(std::move(answer_), [self = shared_from_this(), code](bool written) {
    if (self->client_ == nullptr) return;
    if (!written) return self->End();
    self->FromBackend();
    if (code == 101) self->FromClient();
  });
}

void Tunnel::FromBackend() {
  socket_.async_read_some(
      asio::buffer(incoming_), [self = shared_from_this()](error_code error, size_t n) {
        if (self->client_ == nullptr) return;
        if (error) return self->End();
        self->Arm(self->to_client_limit_, self->write_limit_);
        self->client_->WriteBytes(std::string(self->incoming_.data(), n), [self](bool written) {
          if (self->client_ == nullptr) return;
          if (!written) return self->End();
          Disarm(self->to_client_limit_);
          self->FromBackend();
        });
      });
}

void Tunnel::FromClient() {
  client_->ReadBytes([self = shared_from_this()](std::string bytes) {
    if (self->client_ == nullptr) return;
    if (bytes.empty()) return self->End();
    self->to_backend_ = std::move(bytes);
    self->Arm(self->to_backend_limit_, self->write_limit_);
    asio::async_write(self->socket_, asio::buffer(self->to_backend_),
                      [self](error_code error, size_t) {
                        if (self->client_ == nullptr) return;
                        if (error) return self->End();
                        Disarm(self->to_backend_limit_);
                        self->FromClient();
                      });
  });
}

}  // namespace splitlet::https
