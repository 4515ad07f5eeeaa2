#include "ctl/session/remote_session.h"

#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <exception>
#include <set>
#include <utility>

#include "ctl/session/output_pipe.h"
#include "ctl/session/remote_command.h"
#include "ctl/session/terminal.h"
#include "libs/spdy/client.h"

namespace splitlet::ctl {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;
using spdy::StreamId;

constexpr size_t kInputChunk = 32 << 10;
constexpr size_t kMaxStatus = 64 << 10;

class Session final : public spdy::ClientHandler {
 public:
  Session(const RemoteOptions& options, const StreamUrl& url) : options_(options) {
    client_ = spdy::MakeClient(io_,
                               {.host = url.host,
                                .port = url.port,
                                .target = url.target,
                                .protocols = {kRemoteCommandProtocol},
                                .connect_limit = options.open_limit},
                               *this);
    WaitForSignal();
  }

  StatusOr<int> Run() {
    io_.run();
    return result_;
  }

 private:
  // The session and its streams.

  void OnConnected(const std::string& protocol) override {
    if (protocol != kRemoteCommandProtocol)
      return End(
          Unavailable("the runtime speaks \"{}\" instead of {}", protocol, kRemoteCommandProtocol));
    // The streams that the session request announced, and that the runtime waits for.
    error_ = Open("error");
    if (options_.input) input_stream_ = Open("stdin");
    output_ = Open("stdout");
    if (!options_.tty) errors_ = Open("stderr");
    if (options_.tty) resize_ = Open("resize");
    opening_.expires_after(options_.open_limit);
    opening_.async_wait([this](const Error& error) {
      if (!error && !unaccepted_.empty())
        End(Unavailable("the runtime does not open the command's streams"));
    });
  }

  StreamId Open(const char* type) {
    const auto stream = client_->Open({{"streamtype", type}});
    if (!stream.ok()) {
      End(Annotate(stream.status(), fmt::format("open the stream {}", type)));
      return 0;
    }
    unaccepted_.insert(*stream);
    return *stream;
  }

  /// Input that arrives before the command has all its streams would be lost.
  void OnAccepted(StreamId stream) override {
    unaccepted_.erase(stream);
    if (!unaccepted_.empty() || over_) return;
    opening_.cancel();
    if (options_.terminal) {
      SendSize();
      WaitForResize();
    }
    if (options_.input) ReadInput();
  }

  void OnData(StreamId stream, std::string_view bytes) override {
    if (over_) return;
    if (stream == error_) {
      status_.append(bytes);
      if (status_.size() > kMaxStatus)
        End(Unavailable("the command's exit status is longer than {} bytes", kMaxStatus));
      return;
    }
    if (stream != output_ && stream != errors_) return;
    const Status written = (stream == output_ ? out_ : err_).Write(bytes);
    if (!written.ok()) return End(written);
    client_->SetReading(OutputIsIdle());
  }

  /// The runtime may also end a stream by a reset, after all its bytes.
  void OnEnded(StreamId stream, const Status& how) override {
    if (unaccepted_.contains(stream))
      return End(Unavailable("the runtime refused to open a stream: {}", Message(how)));
    if (stream == input_stream_) input_.close();
    for (StreamId* each : {&error_, &output_, &errors_})
      if (stream == *each) *each = 0;
    EndIfDone();
  }

  void OnClosed(const Status& why) override {
    if (error_ == 0 && status_.empty()) return End(Annotate(why, "the runtime's streams"));
    closed_ = why;
    error_ = output_ = errors_ = 0;
    EndIfDone();
  }

  bool OutputIsIdle() const { return out_.idle() && err_.idle(); }

  void OnDrained(const Status& how) {
    if (!how.ok()) return End(how);
    if (!OutputIsIdle()) return;
    client_->SetReading(true);
    EndIfDone();
  }

  /// The exit status may arrive before the end of the output.
  void EndIfDone() {
    if (error_ != 0 || output_ != 0 || errors_ != 0 || !OutputIsIdle()) return;
    if (!status_.empty()) return End(ParseExit(status_));
    End(Unavailable("the session ended before the command's exit code came{}{}",
                    closed_.ok() ? "" : ": ", Message(closed_)));
  }

  // Input.

  void ReadInput() {
    Error error;
    const int own = ::dup(options_.in);  // the descriptor closes it
    if (own < 0) return End(Annotate(ErrnoStatus(errno), "read input"));
    input_.assign(own, error);
    if (error) return End(Unavailable("read input: {}", error.message()));
    ReadMoreInput();
  }

  void ReadMoreInput() {
    if (!input_.is_open() || std::exchange(reading_, true)) return;
    input_.async_read_some(asio::buffer(chunk_), [this](const Error& error, size_t size) {
      reading_ = false;
      if (over_ || !input_.is_open()) return;
      if (!error) return client_->Write(input_stream_, {chunk_.data(), size});
      input_.close();
      client_->Finish(input_stream_);
    });
  }

  /// Reads more input once the kernel has accepted the last.
  void OnSent() override {
    if (!over_ && client_->unsent(input_stream_) == 0) ReadMoreInput();
  }

  // The terminal and signals.

  void SendSize() {
    const auto size = SizeOf(options_.in);
    if (size && *size != size_) client_->Write(resize_, ResizeMessage(size_ = *size));
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
      if (!error) End(Cancelled("ended by signal {}", signal));
    });
  }

  /// Closes without waiting for the server to end the connection.
  void End(StatusOr<int> result) {
    if (std::exchange(over_, true)) return;
    result_ = std::move(result);
    io_.stop();
  }

  const RemoteOptions& options_;
  asio::io_context io_{1};
  asio::posix::stream_descriptor input_{io_};
  asio::signal_set resized_{io_, SIGWINCH};
  asio::signal_set ended_{io_, SIGINT, SIGTERM, SIGHUP};
  asio::steady_timer opening_{io_};
  OutputPipe out_{io_, options_.out, [this](const Status& how) { OnDrained(how); }};
  OutputPipe err_{io_, options_.err, [this](const Status& how) { OnDrained(how); }};
  // 0: no stream, or ended
  StreamId error_ = 0, input_stream_ = 0, output_ = 0, errors_ = 0, resize_ = 0;
  std::set<StreamId> unaccepted_;
  std::array<char, kInputChunk> chunk_{};
  bool reading_ = false, over_ = false;
  TerminalSize size_;
  std::string status_;  // content of the stream "error"
  Status closed_;
  StatusOr<int> result_ = Unavailable("no exit code received");
  std::unique_ptr<spdy::Client> client_;
};

}  // namespace

StatusOr<int> RunRemote(const RemoteOptions& options) {
  const auto url = ParseStreamUrl(options.url);
  if (!url.ok()) return url.status();
  const KeptFlags in(options.in), out(options.out), err(options.err);
  try {
    return Session(options, *url).Run();
  } catch (const std::exception& error) {  // Asio throws: no descriptors, no memory
    return Internal("stream: {}", error.what());
  }
}

}  // namespace splitlet::ctl
