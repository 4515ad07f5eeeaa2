#include "libs/apiclient/https_transport.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "libs/apiclient/https_request.h"
#include "libs/base/cancel.h"

namespace splitlet::apiclient {
namespace {

/// Time before a failed read is repeated.
constexpr Duration kReadAgain = 1s;
/// Interval of the check for silent connections.
constexpr int kChecksInTheLimit = 5;
/// Sized for watches with thousands of changes a second; no caller waits for these answers.
constexpr Duration kRestOfWatches = 2ms;

}  // namespace

class HttpsTransport::Engine {
 public:
  explicit Engine(HttpsTransport& owner) : owner_(owner) {}

  void Run() {
    while (Step()) {
    }
    while (!calls_.empty()) End(calls_.begin()->first, Cancelled("given up"));
  }

 private:
  struct Active {
    Call call;
    int cancel_id = 0;                      // id in the deadline's token
    std::unique_ptr<HttpsRequest> request;  // null: waits for the credentials
    std::optional<Response> refused;        // the 401 that the request got
    std::shared_ptr<const ServerAccess> refused_access;
  };

  Clock::Time Now() const { return owner_.deps_.clock.Now(); }

  bool Step() {
    const bool only_watches = std::ranges::all_of(
        calls_, [](const auto& each) { return each.second.call.on_data != nullptr; });
    const auto ended =
        owner_.multi_.Step(NextDeadline(), only_watches ? kRestOfWatches : Duration{0});
    Inbox inbox = owner_.TakeInbox();
    for (const auto& [handle, code] : ended) OnEnded(handle, code);
    if (inbox.stop) {
      for (auto& call : inbox.begun) Refuse(call);
      return false;
    }
    for (auto& call : inbox.begun) Begin(std::move(call));
    for (const uint64_t id : inbox.cancelled)
      if (calls_.contains(id)) End(id, Cancelled("given up"));
    if (inbox.read) OnRead(std::move(*inbox.read));
    EndLate();
    CheckQuiet();
    return true;
  }

  /// Earliest deadline of the waiting requests and of the connection check. libcurl watches the
  /// other deadlines.
  std::optional<Clock::Time> NextDeadline() const {
    std::optional<Clock::Time> next = check_at_;
    for (const uint64_t id : waiting_) {
      const Clock::Time at = calls_.at(id).call.deadline.at;
      if (!next || at < *next) next = at;
    }
    return next;
  }

  void EndLate() {
    const auto now = Now();
    for (const uint64_t id : std::vector<uint64_t>(waiting_))
      if (calls_.contains(id) && calls_.at(id).call.deadline.at <= now)
        End(id, DeadlineExceeded("the credentials were not read in time"));
  }

  void CheckQuiet() {
    const auto now = Now();
    if (check_at_ && *check_at_ <= now) {
      owner_.connections_.EndQuiet(owner_.options_.quiet_limit);
      ReadForWatches();
      check_at_.reset();
    }
    if (calls_.empty()) check_at_.reset();
    if (!calls_.empty() && !check_at_)
      check_at_ = now + owner_.options_.quiet_limit / kChecksInTheLimit;
  }

  /// A running stream whose connection has a client certificate.
  static bool IsCertifiedStream(const Active& active) {
    return active.call.on_data && active.request != nullptr &&
           !active.request->access()->certificate.empty();
  }

  /// Streams may run so long that no other request would notice a replaced certificate.
  void ReadForWatches() {
    const bool due = !reading_ && read_at_ && Now() - *read_at_ >= owner_.options_.read_every;
    if (due && std::ranges::any_of(calls_,
                                   [](const auto& each) { return IsCertifiedStream(each.second); }))
      AskToRead(nullptr);
  }

  /// The server identifies the client by the connection, so a watch keeps the identity with which
  /// it began.
  void EndStreamsOfBefore() {
    std::vector<uint64_t> ended;
    for (const auto& [id, active] : calls_)
      if (IsCertifiedStream(active) &&
          active.request->access()->certificate != (*access_)->certificate)
        ended.push_back(id);
    for (const uint64_t id : ended) End(id, Unavailable("the client certificate has changed"));
  }

  void Refuse(Call& call) {
    owner_.OnAnswered();
    call.done(Cancelled("given up"));
  }

  void Begin(Call call) {
    const uint64_t id = call.id;
    Active& active = calls_[id];
    active.call = std::move(call);
    if (const auto& token = active.call.deadline.cancel)
      active.cancel_id = token->Add([owner = &owner_, id] { owner->PostCancel(id); });
    const Duration good_for = access_.ok() ? owner_.options_.read_every : kReadAgain;
    const bool fresh = read_at_ && Now() - *read_at_ < good_for;
    if (!fresh) {
      waiting_.push_back(id);
      return AskToRead(nullptr);
    }
    Perform(id);
  }

  void AskToRead(std::shared_ptr<const ServerAccess> refused) {
    if (reading_) {  // a read that began earlier may find the old credentials
      if (refused != nullptr) refused_meanwhile_ = std::move(refused);
      return;
    }
    reading_ = true;
    owner_.PostRead(std::move(refused));
  }

  void OnRead(ReadResult result) {
    reading_ = false;
    read_at_ = Now();
    Note(result.status());
    if (result.ok()) {
      access_ = std::move(*result);
      owner_.SetHost((*access_)->host);
      EndStreamsOfBefore();
    } else if (!access_.ok()) {
      access_ = result.status();
    }
    if (refused_meanwhile_ != nullptr) AskToRead(std::exchange(refused_meanwhile_, nullptr));
    for (const uint64_t id : std::exchange(waiting_, {})) {
      Active& active = calls_.at(id);
      if (reading_ && active.refused) {
        waiting_.push_back(id);
      } else if (active.refused && (!access_.ok() || *access_ == active.refused_access)) {
        End(id, std::move(*active.refused));
      } else {
        Perform(id);
      }
    }
  }

  /// Logs a change.
  void Note(const Status& status) {
    if (status == noted_) return;
    noted_ = status;
    if (status.ok()) {
      owner_.deps_.log.Info("kubeconfig loaded", {});
    } else if (IsAwaited(status)) {
      owner_.deps_.log.Debug("waiting for the kubeconfig", {KV("err", status)});
    } else {
      owner_.deps_.log.Warn("cannot load kubeconfig, will try again",
                            {KV("err", status), KV("usesLast", access_.ok())});
    }
  }

  void Perform(uint64_t id) {
    if (!access_.ok()) return End(id, access_.status());
    Active& active = calls_.at(id);
    const Duration left = Remaining(owner_.deps_.clock, active.call.deadline);
    if (left <= Duration{0}) return End(id, DeadlineExceeded("no time left to send the request"));
    active.request = std::make_unique<HttpsRequest>(
        owner_.deps_.curl, HttpsRequest::Call{.request = active.call.request,
                                              .access = *access_,
                                              .user_agent = owner_.options_.user_agent,
                                              .now = owner_.deps_.clock.WallNow(),
                                              .connections = owner_.connections_,
                                              .on_data = active.call.on_data});
    const Status ready = active.request->Prepare(left);
    if (!ready.ok()) return End(id, ready);
    ids_[active.request->handle()] = id;
    owner_.multi_.Add(active.request->handle());
  }

  void OnEnded(CURL* handle, CURLcode code) {
    const uint64_t id = ids_.at(handle);
    Active& active = calls_.at(id);
    const Duration waited = active.request->Waited();
    if (code == CURLE_OPERATION_TIMEDOUT && waited >= owner_.options_.least_wait)
      owner_.connections_.EndUnanswered(waited);
    auto answer = active.request->TakeAnswer(code);
    const bool refused = answer.ok() && answer->code == 401 && !active.refused;
    if (!refused) return End(id, std::move(answer));
    active.refused = std::move(*answer);
    active.refused_access = active.request->access();
    Detach(active);
    waiting_.push_back(id);
    AskToRead(active.refused_access);
  }

  void Detach(Active& active) {
    if (active.request == nullptr) return;
    CURL* const handle = active.request->handle();
    if (ids_.erase(handle) != 0) owner_.multi_.Remove(handle);
    active.request.reset();
  }

  void End(uint64_t id, StatusOr<Response> answer) {
    const auto found = calls_.find(id);
    Detach(found->second);  // before its parts move, because libcurl points to them
    Active active = std::move(found->second);
    calls_.erase(found);
    std::erase(waiting_, id);
    // No lock is held here, since the token holds its own lock while it runs callbacks.
    if (active.cancel_id != 0) active.call.deadline.cancel->Remove(active.cancel_id);
    owner_.OnAnswered();
    active.call.done(std::move(answer));
  }

  HttpsTransport& owner_;
  std::map<uint64_t, Active> calls_;
  std::map<CURL*, uint64_t> ids_;
  std::vector<uint64_t> waiting_;  // requests that wait for access_, oldest first
  ReadResult access_ = Unavailable("not read yet");
  std::optional<Clock::Time> read_at_;
  std::optional<Clock::Time> check_at_;  // next check of the connections, while requests run
  bool reading_ = false;
  std::shared_ptr<const ServerAccess>
      refused_meanwhile_;  // refused since the running read was requested
  Status noted_;
};

HttpsTransport::HttpsTransport(Deps deps, Options options)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      multi_(deps_.curl, deps_.clock),
      reader_({.clock = deps_.clock,
               .files = deps_.files,
               .run = deps_.run,
               .plugin_metrics = deps_.plugin_metrics,
               .made_within = options_.made_within},
              options_.kubeconfig, options_.rotated_certificate) {}

HttpsTransport::~HttpsTransport() {
  {
    const std::lock_guard lock(mutex_);
    inbox_.stop = true;
    asked_.notify_all();
    multi_.Wake();
  }
  reader_.GiveUp();  // checked afterwards, because no request waits for a plugin's answer now
  if (engine_thread_.joinable()) engine_thread_.join();
  if (reader_thread_.joinable()) reader_thread_.join();
}

void HttpsTransport::Begin(Request request, Deadline deadline, Done done) {
  BeginStream(std::move(request), std::move(deadline), nullptr, std::move(done));
}

void HttpsTransport::BeginStream(Request request, Deadline deadline, OnData on_data, Done done) {
  Enqueue({.request = std::move(request),
           .deadline = std::move(deadline),
           .on_data = std::move(on_data),
           .done = std::move(done)});
}

std::string HttpsTransport::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

void HttpsTransport::Enqueue(Call call) {
  Status refused;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.stop) {
      refused = Cancelled("given up");
    } else if (calls_ >= options_.max_calls) {
      refused = ResourceExhausted("too many running requests");
    } else if (!EnsureThreads()) {
      refused = Unavailable("no thread or descriptor for requests to the API server");
    } else {
      ++calls_;
      call.id = ++last_id_;
      inbox_.begun.push_back(std::move(call));
      return multi_.Wake();
    }
  }
  call.done(refused);
}

/// False: the machine has no free descriptor or thread.
bool HttpsTransport::EnsureThreads() {
  if (started_) return true;
  if (!multi_.IsUsable()) return false;
  try {
    if (!reader_thread_.joinable()) reader_thread_ = std::thread([this] { ReadAsAsked(); });
    engine_thread_ = std::thread([this] { Engine(*this).Run(); });
  } catch (const std::system_error&) {
    return false;
  }
  started_ = true;
  return true;
}

/// Body of the second thread.
void HttpsTransport::ReadAsAsked() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return inbox_.stop || to_read_; });
    if (inbox_.stop) return;
    const std::shared_ptr<const ServerAccess> refused = *std::exchange(to_read_, std::nullopt);
    lock.unlock();
    auto result = reader_.Read(refused.get());
    lock.lock();
    inbox_.read = std::move(result);
    multi_.Wake();
  }
}

void HttpsTransport::PostRead(std::shared_ptr<const ServerAccess> refused) {
  const std::lock_guard lock(mutex_);
  to_read_ = std::move(refused);
  asked_.notify_all();
}

void HttpsTransport::PostCancel(uint64_t id) {
  const std::lock_guard lock(mutex_);
  inbox_.cancelled.push_back(id);
  multi_.Wake();
}

void HttpsTransport::OnAnswered() {
  const std::lock_guard lock(mutex_);
  --calls_;
}

void HttpsTransport::SetHost(const std::string& host) {
  const std::lock_guard lock(mutex_);
  host_ = host;
}

HttpsTransport::Inbox HttpsTransport::TakeInbox() {
  const std::lock_guard lock(mutex_);
  const bool stop = inbox_.stop;
  return std::exchange(inbox_, {.stop = stop});
}

}  // namespace splitlet::apiclient
