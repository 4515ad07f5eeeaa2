#include "ctl/remote_session.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket.hpp>
#include <cerrno>
#include <csignal>
#include <deque>
#include <exception>
#include <optional>
#include <utility>

#include "ctl/remote_frames.h"
#include "ctl/terminal.h"

namespace splitlet::ctl {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using Error = boost::system::error_code;

constexpr size_t kMaxMessage = 4 << 20;
constexpr size_t kInputChunk = 16 << 10;

/// Everything, or false: nobody reads it any more.
bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote >= 0) {
      bytes.remove_prefix(static_cast<size_t>(wrote));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      struct pollfd entry {
        .fd = fd, .events = POLLOUT, .revents = 0
      };
      ::poll(&entry, 1, 1000);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

/// Asio makes a descriptor non-blocking, and with it that of everybody who has the same terminal.
class KeptFlags {
 public:
  explicit KeptFlags(int fd) : fd_(fd), flags_(::fcntl(fd, F_GETFL)) {}
  ~KeptFlags() {
    if (flags_ >= 0) static_cast<void>(::fcntl(fd_, F_SETFL, flags_) == 0);
  }
  KeptFlags(const KeptFlags&) = delete;
  KeptFlags& operator=(const KeptFlags&) = delete;

 private:
  const int fd_, flags_;
};

class Session {
 public:
  Session(const RemoteOptions& options, const StreamUrl& url) : options_(options), url_(url) {}

  StatusOr<RemoteEnd> Run() {
    Connect();
    WaitForSignal();
    io_.run();
    if (!failed_.ok()) return failed_;
    if (!exit_.ok()) return exit_.status();
    end_.exit_code = *exit_;
    return end_;
  }

 private:
  void Connect() {
    Error error;
    const auto address = asio::ip::make_address(url_.host, error);
    if (error) return Fail(Unavailable("\"{}\" is no address", url_.host));
    beast::get_lowest_layer(socket_).expires_after(options_.connect_limit);
    beast::get_lowest_layer(socket_).async_connect(
        asio::ip::tcp::endpoint(address, url_.port), [this](const Error& refused) {
          if (refused)
            return Fail(Unavailable("connect to the runtime's streams: {}", refused.message()));
          Greet();
        });
  }

  void Greet() {
    socket_.set_option(websocket::stream_base::decorator([](websocket::request_type& request) {
      request.set(beast::http::field::sec_websocket_protocol,
                  std::string(kProtocolV5) + ", " + kProtocolV4);
    }));
    socket_.read_message_max(kMaxMessage);
    socket_.binary(true);
    socket_.async_handshake(response_, url_.host + ":" + std::to_string(url_.port), url_.target,
                            [this](const Error& refused) {
                              if (refused) return Fail(Refusal(refused));
                              Begin();
                            });
  }

  /// The server says why in its answer.
  Status Refusal(const Error& error) const {
    if (error != websocket::error::upgrade_declined)
      return Unavailable("greet the runtime's streams: {}", error.message());
    return Unavailable("the runtime declines: {} {}", response_.result_int(),
                       std::string_view(response_.body()).substr(0, 500));
  }

  void Begin() {
    beast::get_lowest_layer(socket_).expires_never();
    half_closes_ = response_[beast::http::field::sec_websocket_protocol] == kProtocolV5;
    if (options_.tty) {
      SendSize();
      WaitForResize();
    }
    if (options_.input) ReadInput();
    ReadMessage();
  }

  void ReadMessage() {
    socket_.async_read(buffer_, [this](const Error& error, size_t) {
      if (error) return OnClosed(error);
      const auto bytes = buffer_.cdata();
      OnMessage({static_cast<const char*>(bytes.data()), bytes.size()});
      buffer_.consume(buffer_.size());
      if (!over_) ReadMessage();
    });
  }

  void OnMessage(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto message = ParseRemoteMessage(bytes);
    if (!message.ok()) return Fail(message.status());
    if (message->channel == Channel::kStdout || message->channel == Channel::kStderr) {
      const int fd = message->channel == Channel::kStdout ? options_.out : options_.err;
      if (!WriteAll(fd, message->bytes)) Fail(Cancelled("nobody reads what the command writes"));
    } else if (message->channel == Channel::kError && !message->bytes.empty()) {
      // All output is read by then: the server tells the end last.
      exit_ = ParseExit(message->bytes);
      Finish();
    }
  }

  void OnClosed(const Error& error) {
    if (over_) return;
    const std::string why(socket_.reason().reason.c_str());
    Fail(Unavailable("the stream ended before the command's end was told: {}",
                     why.empty() ? error.message() : why));
  }

  // Input.

  void ReadInput() {
    Error error;
    const int own = ::dup(options_.in);  // closed with the descriptor
    if (own < 0) return Fail(Annotate(ErrnoStatus(errno), "read input"));
    input_.assign(own, error);
    if (error) return Fail(Unavailable("read input: {}", error.message()));
    ReadMoreInput();
  }

  void ReadMoreInput() {
    input_.async_read_some(asio::buffer(chunk_), [this](const Error& error, size_t size) {
      if (over_) return;
      if (error) return OnInputEnded();
      input_waits_ = true;
      Send(StdinMessage({chunk_.data(), size}));
    });
  }

  void OnInputEnded() {
    if (half_closes_) return Send(CloseStdinMessage());
    end_.open_input = true;
    if (!options_.tty)
      WriteAll(options_.err,
               "warning: the runtime cannot be told that the input has ended; a command that reads "
               "to the end waits until Ctrl-C\n");
  }

  /// One message is on its way at a time; more input is read when the last one is.
  void Send(std::string message) {
    outbox_.push_back(std::move(message));
    if (outbox_.size() == 1) SendNext();
  }

  void SendNext() {
    socket_.async_write(asio::buffer(outbox_.front()), [this](const Error& error, size_t) {
      outbox_.pop_front();
      if (over_ || error) return;  // ReadMessage says why
      if (!outbox_.empty()) return SendNext();
      if (std::exchange(input_waits_, false)) ReadMoreInput();
    });
  }

  // The terminal and signals.

  void SendSize() {
    const auto size = SizeOf(options_.in);
    if (size && *size != size_) Send(ResizeMessage(size_ = *size));
  }

  void WaitForResize() {
    resized_.async_wait([this](const Error& error, int) {
      if (error || over_) return;
      SendSize();
      WaitForResize();
    });
  }

  void WaitForSignal() {
    ended_.async_wait([this](const Error& error, int signal) {
      if (!error) Fail(Cancelled("ended by signal {}", signal));
    });
  }

  void Fail(Status why) {
    if (over_) return;
    failed_ = std::move(why);
    Finish();
  }

  /// Nothing is waited for any more: how the server takes the end of the connection is its
  /// business.
  void Finish() {
    over_ = true;
    io_.stop();
  }

  const RemoteOptions& options_;
  const StreamUrl& url_;
  asio::io_context io_{1};
  websocket::stream<beast::tcp_stream> socket_{io_};
  asio::posix::stream_descriptor input_{io_};
  asio::signal_set resized_{io_, SIGWINCH};
  asio::signal_set ended_{io_, SIGINT, SIGTERM, SIGHUP};
  websocket::response_type response_;
  beast::flat_buffer buffer_;
  std::array<char, kInputChunk> chunk_{};
  std::deque<std::string> outbox_;
  TerminalSize size_;
  bool half_closes_ = false, input_waits_ = false, over_ = false;
  RemoteEnd end_;
  Status failed_;
  StatusOr<int> exit_ = Unavailable("the command's end was not told");
};

}  // namespace

StatusOr<RemoteEnd> RunRemote(const RemoteOptions& options) {
  const auto url = ParseStreamUrl(options.url);
  if (!url.ok()) return url.status();
  const KeptFlags kept(options.in);
  try {
    return Session(options, *url).Run();
  } catch (const std::exception& error) {  // Asio: no descriptors, no memory
    return Internal("stream: {}", error.what());
  }
}

}  // namespace splitlet::ctl
