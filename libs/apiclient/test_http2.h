#pragma once

/// A minimal HTTP/2 server for tests: each GET is a stream, whose head is ignored and whose answer
/// is 200.
/// Threads: those of TestApiServer.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libs/apiclient/test_api_server.h"

namespace splitlet::apiclient {

/// Makes the server of this context accept HTTP/2.
inline std::shared_ptr<SSL_CTX> WithHttp2(std::shared_ptr<SSL_CTX> context) {
  SSL_CTX_set_alpn_select_cb(
      context.get(),
      [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
         unsigned offered_size, void*) {
        static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
        const int found = SSL_select_next_proto(const_cast<unsigned char**>(out), size, kHttp2,
                                                sizeof(kHttp2), offered, offered_size);
        return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
      },
      nullptr);
  return context;
}

class Http2Peer {
 public:
  explicit Http2Peer(Peer& peer) : peer_(peer) {}

  /// Serves until the client closes. `serve`: called for each request, with the number of its
  /// stream.
  void Run(const std::function<void(uint32_t stream, Http2Peer&)>& serve) {
    constexpr size_t kPreface = 24;  // "PRI * HTTP/2.0" and so on
    if (!Fill(kPreface)) return;
    buffer_.erase(0, kPreface);
    Frame(kSettings, 0, 0, "");
    while (Fill(kHead)) {
      const size_t size = Number(0, 3);
      const auto type = static_cast<uint8_t>(Number(3, 1)),
                 flags = static_cast<uint8_t>(Number(4, 1));
      const auto stream = static_cast<uint32_t>(Number(5, 4));
      if (!Fill(kHead + size)) return;
      const std::string payload = buffer_.substr(kHead, size);
      buffer_.erase(0, kHead + size);
      if (type == kSettings && (flags & kAck) == 0) Frame(kSettings, kAck, 0, "");
      if (type == kPing && (flags & kAck) == 0) Frame(kPing, kAck, 0, payload);
      if (type == kHeaders) serve(stream, *this);
    }
  }
  void Head(uint32_t stream) { Frame(kHeaders, kEndOfHeaders, stream, "\x88"); }  // ":status: 200"
  void Data(uint32_t stream, std::string_view data, bool ends) {
    Frame(kData, ends ? kEndOfStream : 0, stream, data);
  }
  void Answer(uint32_t stream, std::string_view body) {
    Head(stream);
    Data(stream, body, true);
  }
  int number() const { return peer_.number; }

 private:
  static constexpr size_t kHead = 9;
  static constexpr uint8_t kData = 0, kHeaders = 1, kSettings = 4, kPing = 6;
  static constexpr uint8_t kAck = 1, kEndOfStream = 1, kEndOfHeaders = 4;

  void Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
    std::string frame;
    for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift);
    frame += static_cast<char>(type);
    frame += static_cast<char>(flags);
    for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
    peer_.Write(frame.append(payload));
  }
  /// False: the client closed before this much arrived.
  bool Fill(size_t size) {
    while (buffer_.size() < size) {
      const std::string more = peer_.Read();
      if (more.empty()) return false;
      buffer_ += more;
    }
    return true;
  }
  uint64_t Number(size_t at, size_t size) const {
    uint64_t number = 0;
    for (size_t i = at; i < at + size; ++i)
      number = number << 8 | static_cast<unsigned char>(buffer_[i]);
    return number;
  }

  Peer& peer_;
  std::string buffer_;
};

}  // namespace splitlet::apiclient
