#include "tests/bench/container_sessions.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

constexpr std::string_view kEcho = "what is told comes back, always\n";
constexpr int kReads = 6;  // of ten seconds each
constexpr char kStdin = 0, kStdout = 1;
constexpr uint8_t kWholeBinary = 0x82, kMasked = 0x80;
constexpr uint8_t kLengthFollows = 126, kLongLengthFollows = 127;

/// A client must mask its bytes; a mask of zeros leaves them unchanged.
std::string StdinFrame(std::string_view line) {
  const auto length = static_cast<uint8_t>(1 + line.size());
  std::string frame{static_cast<char>(kWholeBinary), static_cast<char>(kMasked | length)};
  frame.append(4, '\0');
  frame += kStdin;
  return frame.append(line);
}

}  // namespace

WebSocketSession::WebSocketSession(std::unique_ptr<https::TestClient> client,
                                   const std::string& target)
    : client_(std::move(client)) {
  if (!client_->Write(fmt::format("GET {} HTTP/1.1\r\nHost: node\r\nConnection: Upgrade\r\n"
                                  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                                  "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n",
                                  target)))
    return;
  size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos)
    if (!ReadMore()) break;
  open_ = end != std::string::npos && received_.find(" 101 ") < end;
  if (open_) {
    received_.erase(0, end + 4);
  } else {
    std::fprintf(stderr, "no session: %s\n", received_.empty() ? "no answer" : received_.c_str());
  }
}

bool WebSocketSession::ReadMore() {
  for (int i = 0; i < kReads; ++i) {
    const std::string more = client_->Read();
    received_ += more;
    if (!more.empty()) return true;
  }
  return false;
}

bool WebSocketSession::TakeFrame() {
  if (received_.size() < 2) return false;
  size_t head = 2;
  size_t length = static_cast<uint8_t>(received_[1]) & 0x7f;
  if (length >= kLengthFollows) {
    const size_t bytes = length == kLongLengthFollows ? 8 : 2;
    head += bytes;
    if (received_.size() < head) return false;
    length = 0;
    for (size_t i = 2; i < head; ++i) length = length << 8 | static_cast<uint8_t>(received_[i]);
  }
  if (received_.size() < head + length) return false;
  if (length > 0 && received_[head] == kStdout) stdout_ += received_.substr(head + 1, length - 1);
  received_.erase(0, head + length);
  return true;
}

bool WebSocketSession::Echoes() {
  stdout_.clear();
  if (!client_->Write(StdinFrame(kEcho))) return false;
  while (stdout_.size() < kEcho.size())
    if (!TakeFrame() && !ReadMore()) return false;
  return stdout_ == kEcho;
}

ContainerSessions::ContainerSessions(size_t count, const Connect& connect) : sessions_(count) {
  std::atomic<size_t> refused{0}, silent{0};
  const auto began = clock_.Now();
  {
    std::vector<std::jthread> openers;
    for (auto& session : sessions_)
      openers.emplace_back([&] {
        Way way = connect();
        if (way.client != nullptr)
          session = std::make_unique<WebSocketSession>(std::move(way.client), way.target);
        if (session == nullptr || !session->open()) {
          ++refused;
        } else if (!session->Echoes()) {
          ++silent;
        }
      });
  }
  answered_ms_ = Ms((clock_.Now() - began).count());
  refused_ = refused;
  silent_ = silent;
}

size_t ContainerSessions::SilentNow() {
  size_t silent = 0;
  for (const auto& session : sessions_)
    if (session == nullptr || !session->open() || !session->Echoes()) ++silent;
  return silent;
}

}  // namespace splitlet::bench
