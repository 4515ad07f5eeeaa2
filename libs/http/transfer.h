#pragma once

/// An exchange over libcurl: a request, and the requests that its redirects cause.
/// Threads: one.
/// Errors:  those of Outcome.
/// Source:  docs/behaviour/probes.md, "httpGet".

#include <array>
#include <memory>
#include <string>

#include "libs/http/caller.h"
#include "libs/http/curl_library.h"

namespace splitlet::http {

class Transfer {
 public:
  Transfer(const CurlLibrary& curl, Exchange exchange);

  /// Prepares the next request.
  Status Prepare(Duration left);
  CURL* handle() const { return handle_.get(); }
  /// Ends the request. False: a redirect needs another request; call Prepare again.
  bool OnEnded(CURLcode code);
  /// Ends the exchange without libcurl.
  void Fail(Status status) { outcome_.status = std::move(status); }
  Outcome TakeOutcome();
  /// True if the host must be looked up, in a thread that libcurl starts and cannot end.
  bool has_name() const { return has_name_; }
  /// True if that thread may still run.
  bool MayLookUpStill() const;

 private:
  using Easy = std::unique_ptr<CURL, decltype(CurlLibrary::easy_cleanup)>;
  using Lines = std::unique_ptr<curl_slist, decltype(CurlLibrary::slist_free_all)>;

  template <class Value>
  void Set(CURLoption option, Value value);
  void SetConnection(Duration left);
  void SetRequest();
  /// Resolves a URL relative to the requested one; empty: malformed.
  struct Place {
    std::string url, scheme, host;
  };
  Place Resolve(const std::string& target) const;
  /// True: another request follows.
  bool Follow();
  Status StatusOf(CURLcode code) const;
  std::string HostAndPort() const;
  long Info(CURLINFO what) const;

  size_t OnHeader(std::string_view line);
  size_t OnBody(std::string_view data);
  static int OpenSocket(void* user, curlsocktype purpose, curl_sockaddr* address);
  static size_t HeaderCallback(const char* data, size_t size, size_t count, void* user);
  static size_t BodyCallback(const char* data, size_t size, size_t count, void* user);

  const CurlLibrary& curl_;
  Exchange exchange_;
  std::string host_;  // host of the first URL
  bool has_name_ = false;
  int requests_ = 0;
  Easy handle_;
  Lines lines_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  Outcome outcome_;
  std::string location_;
  bool too_long_ = false, enough_ = false;
  int socket_error_ = 0;
};

}  // namespace splitlet::http
