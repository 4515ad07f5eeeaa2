#include "libs/http/curl_multi.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace splitlet::http {
namespace {

/// Limit for one connection; a server may allow fewer.
constexpr long kMaxStreams = 1000;
/// More steps in a row than one answer needs.
constexpr int kSpeaksWithoutAPause = 32;

int MaskOf(uint32_t events) {
  return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
         ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
         ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
}

}  // namespace

CurlMulti::CurlMulti(const CurlLibrary& curl, const Clock& clock)
    : curl_(curl),
      clock_(clock),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      multi_(curl.multi_init(), curl.multi_cleanup) {
  if (!IsUsable()) return;
  Watch(EPOLL_CTL_ADD, wake_, EPOLLIN);
  Set(
      CURLMOPT_SOCKETFUNCTION,
      +[](CURL* /*transfer*/, curl_socket_t socket, int what, void* user, void* /*unused*/) {
        static_cast<CurlMulti*>(user)->WantSocket(socket, what);
        return 0;
      });
  Set(CURLMOPT_SOCKETDATA, this);
  Set(
      CURLMOPT_TIMERFUNCTION, +[](CURLM* /*multi*/, long timeout_ms, void* user) {
        static_cast<CurlMulti*>(user)->WantTimer(timeout_ms);
        return 0;
      });
  Set(CURLMOPT_TIMERDATA, this);
  Set(CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  Set(CURLMOPT_MAX_CONCURRENT_STREAMS, kMaxStreams);
}

CurlMulti::~CurlMulti() {
  multi_.reset();  // destroyed first, because it calls back for its sockets
  if (wake_ >= 0) ::close(wake_);
  if (epoll_ >= 0) ::close(epoll_);
}

template <class Value>
void CurlMulti::Set(CURLMoption option, Value value) {
  CHECK(curl_.multi_setopt(multi_.get(), option, value) == CURLM_OK, "curl has no option {}",
        static_cast<int>(option));
}

void CurlMulti::Wake() const {
  const uint64_t one = 1;
  // fails only if the event is set already
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
}

void CurlMulti::Add(CURL* transfer) {
  CHECK(curl_.multi_add_handle(multi_.get(), transfer) == CURLM_OK);
}

void CurlMulti::Remove(CURL* transfer) {
  CHECK(curl_.multi_remove_handle(multi_.get(), transfer) == CURLM_OK);
}

bool CurlMulti::Watch(int operation, int socket, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.fd = socket;
  return ::epoll_ctl(epoll_, operation, socket, &event) == 0;
}

/// libcurl waits for `what` on this socket.
void CurlMulti::WantSocket(int socket, int what) const {
  if (what == CURL_POLL_REMOVE) {
    Watch(EPOLL_CTL_DEL, socket, 0);
    return;
  }
  const uint32_t events = ((what & CURL_POLL_IN) != 0 ? uint32_t{EPOLLIN} : 0u) |
                          ((what & CURL_POLL_OUT) != 0 ? uint32_t{EPOLLOUT} : 0u);
  if (!Watch(EPOLL_CTL_MOD, socket, events)) Watch(EPOLL_CTL_ADD, socket, events);
}

void CurlMulti::WantTimer(long timeout_ms) {
  timer_.reset();
  if (timeout_ms >= 0) timer_ = clock_.Now() + std::chrono::milliseconds{timeout_ms};
}

int CurlMulti::WaitMs(std::optional<Clock::Time> until) const {
  if (timer_ && (!until || *timer_ < *until)) until = timer_;
  if (!until) return -1;
  const Duration left = *until - clock_.Now();
  if (left <= Duration{0}) return 0;
  constexpr int64_t kMostMs = 3'600'000;
  return static_cast<int>(
      std::min(kMostMs, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
}

void CurlMulti::Act(curl_socket_t socket, int mask) {
  int running = 0;
  curl_.multi_socket_action(multi_.get(), socket, mask, &running);
}

/// Only Wake ends the rest early.
void CurlMulti::Rest(Duration rest) const {
  pollfd wake{.fd = wake_, .events = POLLIN, .revents = 0};
  const timespec limit{.tv_sec = 0, .tv_nsec = static_cast<long>(rest.count())};
  ::ppoll(&wake, 1, &limit, nullptr);
}

/// A silence longer than the rest counts as a pause.
void CurlMulti::NoteSpeech(Duration rest) {
  const Clock::Time now = clock_.Now();
  without_a_pause_ = now - spoke_at_ < 2 * rest ? without_a_pause_ + 1 : 0;
  spoke_at_ = now;
}

CurlMulti::Ended CurlMulti::Step(std::optional<Clock::Time> until, Duration rest) {
  if (rest > Duration{0} && without_a_pause_ >= kSpeaksWithoutAPause) Rest(rest);
  std::array<epoll_event, 64> events{};
  const int count =
      ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), WaitMs(until));
  CHECK(count >= 0 || errno == EINTR, "epoll: {}", errno);
  bool spoke = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    if (event.data.fd == wake_) {
      uint64_t times = 0;
      [[maybe_unused]] const ssize_t n = ::read(wake_, &times, sizeof(times));
    } else {
      spoke = true;
      Act(event.data.fd, MaskOf(event.events));
    }
  }
  if (spoke) NoteSpeech(rest);
  if (timer_ && clock_.Now() >= *timer_) {
    timer_.reset();
    Act(CURL_SOCKET_TIMEOUT, 0);
  }
  Ended ended;
  int left = 0;
  while (const CURLMsg* message = curl_.multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE)
      ended.emplace_back(message->easy_handle, message->data.result);
  return ended;
}

}  // namespace splitlet::http
