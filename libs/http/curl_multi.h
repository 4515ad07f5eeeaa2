#pragma once

/// libcurl's multi handle on epoll: transfers of one thread, which other threads may wake.
/// Owns:    the connections; not the transfers.
/// Threads: Wake from any; all else from one.
/// Errors:  CHECK: libcurl refuses a call although it is set up.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/http/curl_library.h"

namespace splitlet::http {

class CurlMulti {
 public:
  CurlMulti(const CurlLibrary& curl, const Clock& clock);
  ~CurlMulti();
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;

  /// False: the machine has no descriptor, or libcurl no memory.
  bool IsUsable() const { return epoll_ >= 0 && wake_ >= 0 && multi_ != nullptr; }
  /// Makes Step return.
  void Wake() const;
  void Add(CURL* transfer);
  /// Also allowed for a finished transfer.
  void Remove(CURL* transfer);
  using Ended = std::vector<std::pair<CURL*, CURLcode>>;
  /// Waits for an event or `until`, and lets the transfers proceed. Returns the finished ones.
  /// `rest`: busy sockets are read at most once in this time, which is cheaper for many small
  /// pieces; Wake ends the rest. 0: reads immediately.
  Ended Step(std::optional<Clock::Time> until, Duration rest = {});

 private:
  using Multi = std::unique_ptr<CURLM, decltype(CurlLibrary::multi_cleanup)>;

  template <class Value>
  void Set(CURLMoption option, Value value);
  bool Watch(int operation, int socket, uint32_t events) const;
  void WantSocket(int socket, int what) const;
  void WantTimer(long timeout_ms);
  int WaitMs(std::optional<Clock::Time> until) const;
  void Act(curl_socket_t socket, int mask);
  void Rest(Duration rest) const;
  void NoteSpeech(Duration rest);

  const CurlLibrary& curl_;
  const Clock& clock_;
  const int epoll_;
  const int wake_;
  std::optional<Clock::Time> timer_;
  Clock::Time spoke_at_;     // when a socket was last ready
  int without_a_pause_ = 0;  // steps without a pause in between
  Multi multi_;
};

}  // namespace splitlet::http
