#pragma once

/// A streaming server for tests that behaves like those of containerd and CRI-O. It drops data that
/// come before it has accepted their stream, and passes on each DATA frame by itself. It ignores
/// and announces no windows, and ends a session by resetting its streams.
/// Threads: one of its own, for one client; `serve` runs on it.
/// Errors:  CHECK, for headers that a server of Kubernetes would refuse.
/// Source:  kubelet remotecommand; SPDY/3.1.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "libs/spdy/frame_reader.h"
#include "libs/spdy/header_block.h"

namespace splitlet::spdy {

inline constexpr const char* kUpgraded =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n";

/// A client that the server has upgraded.
class TestPeer : private FrameReader::Sink {
 public:
  enum class Kind { kOpened, kData, kReset, kWindowUpdate, kPing, kGoAway, kClosed };
  struct Event {
    Kind kind = Kind::kClosed;
    StreamId stream = 0;
    std::string bytes;  // content of one DATA frame
    bool fin = false;
    Headers headers;
  };

  explicit TestPeer(int connection) : connection_(connection), reader_(*this, 1 << 20) {}

  /// Waits for the next event; kClosed at the end of the connection.
  Event Next() {
    while (events_.empty() && Read()) {
    }
    if (events_.empty()) return {};
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  /// Accepts this many streams. Returns their ids by the header "streamtype".
  std::map<std::string, StreamId> Accept(size_t count) {
    std::map<std::string, StreamId> streams;
    while (streams.size() < count) {
      const Event event = Next();
      if (event.kind == Kind::kClosed) break;
      if (event.kind != Kind::kOpened) continue;
      Reply(event.stream);
      streams[ValueOf(event.headers, "streamtype")] = event.stream;
    }
    return streams;
  }
  void Reply(StreamId stream) {
    std::string payload;
    AppendNumber(payload, stream);
    accepted_[stream] = true;
    Send(ControlFrame(FrameType::kSynReply, 0, payload + writer_.Write({})));
  }
  void SendData(StreamId stream, std::string_view bytes) {
    Send(DataFrame(stream, bytes, /*fin=*/false));
  }
  /// Ends a command as a server of Kubernetes does.
  void End(const std::map<std::string, StreamId>& streams, std::string_view status) {
    SendData(streams.at("error"), status);
    for (const auto& each : streams) Send(RstStreamFrame(each.second, ResetReason::kCancel));
    Send(GoAwayFrame(streams.rbegin()->second, GoAwayReason::kOk));
  }
  /// False: the reader has left.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(connection_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  static std::string ValueOf(const Headers& headers, std::string_view name) {
    for (const auto& [each, value] : headers)
      if (each == name) return value;
    return "";
  }
  /// Bytes that followed the request.
  void Take(std::string_view bytes) {
    const Status taken = reader_.Take(bytes);
    CHECK(taken.ok(), "{}", Message(taken));
  }

 private:
  bool Read() {
    char buffer[64 << 10];
    const ssize_t got = ::recv(connection_, buffer, sizeof buffer, 0);
    if (got > 0) Take({buffer, static_cast<size_t>(got)});
    return got > 0;
  }

  Status OnControl(const FrameHeader& header, std::string_view payload) override {
    const auto type = static_cast<FrameType>(header.type);
    if (type == FrameType::kSynStream) return OnSynStream(payload);
    static const std::map<FrameType, Kind> kKinds = {
        {FrameType::kRstStream, Kind::kReset},
        {FrameType::kWindowUpdate, Kind::kWindowUpdate},
        {FrameType::kPing, Kind::kPing},
        {FrameType::kGoAway, Kind::kGoAway}};
    events_.push_back({.kind = kKinds.at(type), .stream = NumberAt(payload)});
    return OkStatus();
  }

  Status OnSynStream(std::string_view payload) {
    const auto frame = ParseStreamHeaders(FrameType::kSynStream, payload);
    CHECK(frame.ok() && frame->stream % 2 == 1 && frame->stream > last_);
    CHECK(frame->block.ends_with(std::string_view("\0\0\xff\xff", 4)), "the block is not flushed");
    last_ = frame->stream;
    auto headers = header_reader_.Read(frame->block);
    CHECK(headers.ok(), "{}", Message(headers.status()));
    for (const auto& each : *headers)
      for (const char c : each.first) CHECK(c < 'A' || c > 'Z', "{}", each.first);
    events_.push_back(
        {.kind = Kind::kOpened, .stream = frame->stream, .headers = *std::move(headers)});
    return OkStatus();
  }

  /// A frame may be split into parts; two frames are never joined.
  Status OnData(const FrameReader::Data& data) override {
    if (!accepted_[data.stream]) return OkStatus();
    if (data.first || events_.empty() || events_.back().kind != Kind::kData)
      events_.push_back({.kind = Kind::kData, .stream = data.stream});
    events_.back().bytes.append(data.bytes);
    events_.back().fin = data.fin;
    return OkStatus();
  }

  const int connection_;
  FrameReader reader_;
  HeaderReader header_reader_;
  HeaderWriter writer_;
  std::map<StreamId, bool> accepted_;
  std::deque<Event> events_;
  StreamId last_ = 0;
};

class TestServer {
 public:
  using Serve = std::function<void(TestPeer& peer)>;
  /// `answer`: sent to the request; if it is kUpgraded, `serve` is called.
  explicit TestServer(Serve serve, std::string answer = kUpgraded)
      : serve_(std::move(serve)), answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    CHECK(::bind(listener_, any, length) == 0 && ::listen(listener_, 1) == 0);
    CHECK(::getsockname(listener_, any, &length) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Run(); });
  }
  ~TestServer() {
    Join();
    ::close(listener_);
  }
  uint16_t port() const { return port_; }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/exec/token", port_); }
  /// The head of the request, after it was served.
  const std::string& Request() {
    Join();
    return request_;
  }

 private:
  void Join() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }

  void Run() {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    char buffer[4096];
    size_t head = 0;
    while ((head = request_.find("\r\n\r\n")) == std::string::npos) {
      const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      request_.append(buffer, static_cast<size_t>(got));
    }
    TestPeer peer(connection);
    peer.Send(answer_);
    if (answer_ == kUpgraded && head != std::string::npos) {
      peer.Take(std::string_view(request_).substr(head + 4));
      serve_(peer);
    }
    ::close(connection);
  }

  const Serve serve_;
  const std::string answer_;
  const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  uint16_t port_ = 0;
  std::string request_;
  std::thread thread_;
};

}  // namespace splitlet::spdy
