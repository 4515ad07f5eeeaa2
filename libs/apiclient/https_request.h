#pragma once

/// Sends a request to an API server by libcurl and takes the answer.
/// Threads: one.
/// Errors:  Transport's. No error shows a request header.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libs/apiclient/access.h"
#include "libs/apiclient/connections.h"
#include "libs/apiclient/transport.h"
#include "libs/http/curl_library.h"

namespace splitlet::apiclient {

class HttpsRequest {
 public:
  struct Call {
    const Request& request;  // outlives this
    std::shared_ptr<const ServerAccess> access;
    std::string user_agent;
    WallTime now;
    Connections& connections;   // outlives its connection
    Transport::OnData on_data;  // empty: keeps the whole answer
  };
  HttpsRequest(const http::CurlLibrary& curl, Call call);
  HttpsRequest(const HttpsRequest&) = delete;
  HttpsRequest& operator=(const HttpsRequest&) = delete;

  /// Makes the request ready, with `left` until its deadline.
  Status Prepare(Duration left);
  CURL* handle() const { return handle_.get(); }
  const std::shared_ptr<const ServerAccess>& access() const { return call_.access; }
  StatusOr<Response> TakeAnswer(CURLcode code);
  /// At the end of the request: time since it was sent; 0 if it was never sent.
  Duration Waited() const;

 private:
  using Easy = std::unique_ptr<CURL, decltype(http::CurlLibrary::easy_cleanup)>;
  using Lines = std::unique_ptr<curl_slist, decltype(http::CurlLibrary::slist_free_all)>;

  template <class Value>
  void Set(CURLoption option, Value value);
  void SetBlob(CURLoption option, const std::string& bytes);
  Status SetPlace();
  void SetConnection(Duration left);
  void SetTls();
  void SetProxy();
  void SetRequest();
  void AddLine(Lines& lines, const std::string& line);
  Status ErrorOf(CURLcode code) const;
  bool Streams() const { return call_.on_data && answer_.code >= 200 && answer_.code < 300; }

  size_t OnHeader(std::string_view line);
  size_t OnBody(std::string_view data);
  static size_t HeaderCallback(const char* data, size_t size, size_t count, void* user);
  static size_t BodyCallback(const char* data, size_t size, size_t count, void* user);
  static int SocketCallback(void* user, curl_socket_t socket, curlsocktype purpose);

  const http::CurlLibrary& curl_;
  const Call call_;
  Easy handle_;
  Lines lines_, connect_to_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  Response answer_;
  size_t head_bytes_ = 0;
  bool head_is_over_ = false;  // true after the head of the answer, not of a "100 Continue" before
                               // it
  bool too_long_ = false;
};

/// Parses "120", or a date that many seconds from now; nullopt: neither.
std::optional<Duration> ParseRetryAfter(std::string_view value, WallTime now);

}  // namespace splitlet::apiclient
