#include "libs/http/async_client.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <system_error>
#include <utility>

#include "libs/base/cancel.h"
#include "libs/http/transfer.h"

namespace splitlet::http {

class AsyncClient::Engine {
 public:
  explicit Engine(AsyncClient& client) : client_(client) {
    if (wake_ >= 0) Watch(EPOLL_CTL_ADD, wake_, EPOLLIN);
  }
  ~Engine() {
    ::close(wake_);
    ::close(epoll_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  bool IsUsable() const { return epoll_ >= 0 && wake_ >= 0; }
  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written =
        ::write(wake_, &one, sizeof(one));  // fails only if the event is set already
  }
  void Run() {
    const auto curl = LoadCurl();
    if (curl.ok()) {
      curl_ = *curl;
      multi_ = Multi(curl_->multi_init(), curl_->multi_cleanup);
    }
    if (multi_ != nullptr) {
      Set(
          CURLMOPT_SOCKETFUNCTION,
          +[](CURL* /*easy*/, curl_socket_t socket, int what, void* user, void* /*unused*/) {
            static_cast<Engine*>(user)->WantSocket(socket, what);
            return 0;
          });
      Set(CURLMOPT_SOCKETDATA, this);
      Set(CURLMOPT_TIMERFUNCTION, &Engine::OnTimerWanted);
      Set(CURLMOPT_TIMERDATA, this);
      Set(CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
    } else {
      trouble_ = curl.ok() ? FailedPrecondition("libcurl cannot be set up") : curl.status();
    }
    while (Step()) {
    }
    while (!active_.empty()) EndBy(active_.begin()->first, Cancelled("given up"));
    multi_.reset();
  }

 private:
  struct Active {
    Call call;
    std::unique_ptr<Transfer> transfer;
    int cancel_id = 0;  // id in the deadline's token
  };
  using Multi = std::unique_ptr<CURLM, decltype(CurlLibrary::multi_cleanup)>;

  template <class Value>
  void Set(CURLMoption option, Value value) {
    CHECK(curl_->multi_setopt(multi_.get(), option, value) == CURLM_OK, "curl has no option {}",
          static_cast<int>(option));
  }
  bool Watch(int operation, int socket, uint32_t events) const {
    epoll_event event{};
    event.events = events;
    event.data.fd = socket;
    return ::epoll_ctl(epoll_, operation, socket, &event) == 0;
  }

  /// libcurl waits for `what` on this socket.
  void WantSocket(int socket, int what) const {
    if (what == CURL_POLL_REMOVE) {
      Watch(EPOLL_CTL_DEL, socket, 0);
      return;
    }
    const uint32_t events = ((what & CURL_POLL_IN) != 0 ? uint32_t{EPOLLIN} : 0u) |
                            ((what & CURL_POLL_OUT) != 0 ? uint32_t{EPOLLOUT} : 0u);
    if (!Watch(EPOLL_CTL_MOD, socket, events)) Watch(EPOLL_CTL_ADD, socket, events);
  }

  static int OnTimerWanted(CURLM* /*multi*/, long timeout_ms, void* user) {
    auto& engine = *static_cast<Engine*>(user);
    engine.timer_.reset();
    if (timeout_ms >= 0)
      engine.timer_ = engine.client_.clock_.Now() + std::chrono::milliseconds{timeout_ms};
    return 0;
  }

  /// Waits for an event and handles it. False: the engine must end.
  bool Step() {
    std::array<epoll_event, 64> events{};
    const int count =
        ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), WaitMs());
    CHECK(count >= 0 || errno == EINTR, "epoll: {}", errno);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.fd == wake_) {
        uint64_t times = 0;
        [[maybe_unused]] const ssize_t n = ::read(wake_, &times, sizeof(times));
      } else {
        Act(event.data.fd, MaskOf(event.events));
      }
    }
    if (timer_ && client_.clock_.Now() >= *timer_) {
      timer_.reset();
      Act(CURL_SOCKET_TIMEOUT, 0);
    }
    Inbox inbox = client_.TakeInbox();
    if (inbox.stop) {
      for (auto& call : inbox.begun) Answer(call, Cancelled("given up"));
      return false;
    }
    for (auto& call : inbox.begun) Begin(std::move(call));
    for (const uint64_t id : inbox.cancelled)
      if (active_.contains(id)) EndBy(id, Cancelled("given up"));
    TakeEnded();
    return true;
  }

  static int MaskOf(uint32_t events) {
    return ((events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
           ((events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
           ((events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
  }

  int WaitMs() const {
    if (!timer_) return -1;
    const Duration left = *timer_ - client_.clock_.Now();
    if (left <= Duration{0}) return 0;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }

  void Act(curl_socket_t socket, int mask) {
    int running = 0;
    curl_->multi_socket_action(multi_.get(), socket, mask, &running);
  }

  void Answer(Call& call, Status status) {
    Outcome outcome;
    outcome.status = std::move(status);
    outcome.url = call.exchange.url;
    client_.OnAnswered();
    call.done(std::move(outcome));
  }

  void Begin(Call call) {
    if (!trouble_.ok()) return Answer(call, trouble_);
    Active active{.call = {}, .transfer = std::make_unique<Transfer>(*curl_, call.exchange)};
    if (active.transfer->has_name() && names_ + Lingering() >= client_.options_.max_names)
      return Answer(call, Aborted("too many names are being looked up"));
    names_ += active.transfer->has_name() ? 1 : 0;
    const uint64_t id = call.id;
    active.call = std::move(call);
    if (const auto& token = active.call.deadline.cancel)
      active.cancel_id = token->Add([client = &client_, id] { client->PostCancel(id); });
    active_[id] = std::move(active);
    Perform(id);
  }

  void Perform(uint64_t id) {
    Active& active = active_.at(id);
    const Duration left = Remaining(client_.clock_, active.call.deadline);
    const Status ready = left > Duration{0} ? active.transfer->Prepare(left)
                                            : DeadlineExceeded("context deadline exceeded");
    if (!ready.ok()) {
      active.transfer->Fail(ready);
      return End(id);
    }
    ids_[active.transfer->handle()] = id;
    CHECK(curl_->multi_add_handle(multi_.get(), active.transfer->handle()) == CURLM_OK);
  }

  void Detach(Active& active) {
    CURL* const handle = active.transfer->handle();
    if (ids_.erase(handle) != 0) curl_->multi_remove_handle(multi_.get(), handle);
  }

  void EndBy(uint64_t id, Status status) {
    active_.at(id).transfer->Fail(std::move(status));
    End(id);
  }

  void End(uint64_t id) {
    const auto found = active_.find(id);
    Active active = std::move(found->second);
    active_.erase(found);
    if (active.transfer->has_name()) {
      --names_;
      if (active.transfer->MayLookUpStill())
        lingering_.push_back(client_.clock_.Now() + client_.options_.lookup_limit);
    }
    Detach(active);
    // Holds no lock here, because the token holds its own lock while it runs callbacks.
    if (active.cancel_id != 0) active.call.deadline.cancel->Remove(active.cancel_id);
    client_.OnAnswered();
    active.call.done(active.transfer->TakeOutcome());
  }

  void TakeEnded() {
    std::vector<std::pair<uint64_t, CURLcode>> ended;
    int left = 0;
    while (multi_ != nullptr) {
      const CURLMsg* message = curl_->multi_info_read(multi_.get(), &left);
      if (message == nullptr) break;
      if (message->msg == CURLMSG_DONE)
        ended.emplace_back(ids_.at(message->easy_handle), message->data.result);
    }
    for (const auto& [id, code] : ended) {
      Active& active = active_.at(id);
      const bool over = active.transfer->OnEnded(code);
      if (over) {
        End(id);
      } else {
        Detach(active);
        Perform(id);
      }
    }
  }

  size_t Lingering() {
    while (!lingering_.empty() && lingering_.front() <= client_.clock_.Now())
      lingering_.pop_front();
    return lingering_.size();
  }

  AsyncClient& client_;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  const int wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const CurlLibrary* curl_ = nullptr;
  Status trouble_;
  Multi multi_{nullptr, nullptr};
  std::optional<Clock::Time> timer_;
  std::map<uint64_t, Active> active_;
  std::map<CURL*, uint64_t> ids_;
  size_t names_ = 0;                   // number of calls with a host name
  std::deque<Clock::Time> lingering_;  // end times of lookup threads that outlive their calls
};

/// False: the machine has no free descriptor or thread.
bool AsyncClient::EnsureEngine() {
  if (engine_ != nullptr) return true;
  auto engine = std::make_shared<Engine>(*this);
  if (!engine->IsUsable()) return false;
  try {
    thread_ = std::thread([engine] { engine->Run(); });
  } catch (const std::system_error&) {
    return false;
  }
  engine_ = std::move(engine);
  return true;
}

void AsyncClient::Begin(Exchange exchange, Deadline deadline, Done done) {
  Outcome refused;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.stop) {
      refused.status = Cancelled("given up");
    } else if (calls_ >= options_.max_calls) {
      refused.status = Aborted("too many calls");
    } else if (!EnsureEngine()) {
      refused.status = Aborted("no thread or descriptor for calls by HTTP");
    } else {
      ++calls_;
      inbox_.begun.push_back(
          {++last_id_, std::move(exchange), std::move(deadline), std::move(done)});
      return engine_->Wake();
    }
  }
  refused.url = std::move(exchange.url);
  done(std::move(refused));
}

void AsyncClient::PostCancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  inbox_.cancelled.push_back(id);
  engine_->Wake();
}

void AsyncClient::OnAnswered() {
  const std::lock_guard lock(mutex_);
  --calls_;
}

AsyncClient::Inbox AsyncClient::TakeInbox() {
  const std::lock_guard lock(mutex_);
  const bool stop = inbox_.stop;
  return std::exchange(inbox_, {.begun = {}, .cancelled = {}, .stop = stop});
}

void AsyncClient::Stop() {
  {
    const std::lock_guard lock(mutex_);
    inbox_.stop = true;
    if (engine_ == nullptr) return;
    engine_->Wake();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace splitlet::http
