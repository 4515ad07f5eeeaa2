#include "libs/apiclient/reflector.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

#include "libs/apiclient/client_metrics.h"
#include "libs/apiclient/list_page.h"
#include "libs/apiclient/watch_reader.h"
#include "libs/base/cancel.h"
#include "libs/base/fail_point.h"
#include "libs/exec/work_queue.h"

namespace splitlet::apiclient {
namespace {

constexpr Duration kPageLimit = 60s;
constexpr uint64_t kMinWatchSeconds = 300, kMaxWatchSeconds = 600;
/// A watch may last this much longer than requested.
constexpr Duration kWatchPatience = 30s;
/// Limit for the head of a watch's answer: a server sends it immediately.
constexpr Duration kHeadLimit = 60s;
/// A watch that ended earlier without events is not restarted immediately.
constexpr Duration kShortWatch = 1s;
// first and largest back-off, without jitter of up to 100 %
constexpr Duration kFirstBackoff = 800ms, kLastBackoff = 15s;
/// While a TLS bootstrap creates the kubeconfig no request is sent, so the back-off need not grow.
constexpr Duration kAwaitedRetry = 1s;
/// Undecoded bytes of a watch. Above the bound the watch ends, and another continues from its last
/// event.
constexpr size_t kMaxBuffered = 16u << 20;
/// Events that reach the loop in one task.
constexpr size_t kMaxBatch = 500;
/// If this many batches came within this time, further events are gathered for the same time.
constexpr Duration kGather = 5ms;
constexpr int kFlood = 8;

const std::string kBackoffKey;

Status BeforeList() {
  FAIL_POINT("apiclient.list.before");
  return OkStatus();
}

Status BeforeWatch() {
  FAIL_POINT("apiclient.watch.before");
  return OkStatus();
}

}  // namespace

class Reflector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Deps deps, Options options, Callbacks callbacks)
      : deps_(std::move(deps)),
        options_(std::move(options)),
        callbacks_(std::make_shared<const Callbacks>(std::move(callbacks))),
        backoff_(deps_.clock, {.initial = kFirstBackoff, .max = kLastBackoff, .jitter = 1}) {
    CHECK(options_.item != nullptr && options_.list != nullptr, "{}", options_.path);
    if (options_.newest) list_version_.clear();
  }

  void Start() { List(options_.page_size); }
  void Stop();
  const Status& sync() const { return sync_; }

 private:
  /// A running list. The strand owns it until its last page has arrived.
  struct Listing {
    std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
    std::string version;  // the requested resource version
    int page_size = 0;    // 0: all in one page
    std::vector<Object> objects;
    std::string resource_version;
    std::string next;
  };
  struct PageOutcome {
    Status status;
    std::optional<Duration> retry_after;
    int code = 0;  // 0: no answer
    Duration took{0};
    size_t bytes = 0;
  };
  /// A running watch.
  struct Watching {
    explicit Watching(const google::protobuf::Message& item) : reader(item) {}
    const std::shared_ptr<CancelToken> cancel = std::make_shared<CancelToken>();
    WatchReader reader;  // used by the strand only
    Clock::Time begun;   // this and the next four members: used by the loop only
    bool opened = false;
    bool delivered = false;
    int batches = 0;
    Clock::Time batches_since;

    std::mutex mutex;  // guards the members below
    std::string buffer;
    bool head = false;      // the head has arrived
    bool overflow = false;  // more bytes came than the buffer holds
    std::optional<StatusOr<Response>> end;
    bool busy = false;  // decoding, or a batch is on its way to the loop
  };
  /// Events of a watch that reach the loop together.
  struct Batch {
    std::vector<WatchItem> items;
    bool opened = false;
    bool more = false;            // more events wait to be decoded
    std::optional<Status> ended;  // the end of the watch, after all of `items`
    std::optional<Duration> retry_after;
    int code = 0;  // code of the answer that ended the watch
  };
  using Self = std::shared_ptr<Impl>;

  void List(int page_size);
  void AskPage(const std::shared_ptr<Listing>& listing);
  static PageOutcome ReadPage(Listing& listing, const StatusOr<Response>& answer,
                              const google::protobuf::Message& list);
  void OnPage(const std::shared_ptr<Listing>& listing, const PageOutcome& outcome);
  void OnListFailed(const Listing& listing, const PageOutcome& outcome);

  void Watch();
  void OnPiece(const std::shared_ptr<Watching>& watching, std::string_view piece);
  void OnEnd(const std::shared_ptr<Watching>& watching, StatusOr<Response> end);
  void Decode(const std::shared_ptr<Watching>& watching);
  static Batch ReadBatch(Watching& watching);
  static void ReadItems(WatchReader& reader, Batch& batch);
  void OnBatch(const std::shared_ptr<Watching>& watching, const Batch& batch);
  void OnGathered(const std::shared_ptr<Watching>& watching);
  bool Deliver(const std::shared_ptr<Watching>& watching, const Batch& batch);
  void OnOpened(Watching& watching);
  void OnWatchEnded(const Status& status, std::optional<Duration> retry_after);

  void TryLater(const Status& status, std::optional<Duration> retry_after);
  void SetTimer(Duration wait, std::function<void()> then);
  void CancelTimer();
  void SetSync(const Status& status);
  std::string Query() const;

  const Deps deps_;
  const Options options_;
  std::shared_ptr<const Callbacks> callbacks_;  // null: stopped
  Status sync_ = Unavailable("not listed yet");
  exec::Backoff backoff_;
  exec::TimerId timer_ = 0;
  std::shared_ptr<Listing> listing_;
  std::shared_ptr<Watching> watching_;
  std::string resource_version_;       // version of the last event; empty: list again
  std::string list_version_ = "0";     // oldest acceptable version of the next list; "": the newest
  std::optional<Clock::Time> listed_;  // time of the last list
};

void Reflector::Impl::Stop() {
  callbacks_.reset();
  CancelTimer();
  // Moved out first, because the transport may answer immediately.
  const auto listing = std::exchange(listing_, nullptr);
  const auto watching = std::exchange(watching_, nullptr);
  if (listing != nullptr) listing->cancel->Cancel();
  if (watching != nullptr) watching->cancel->Cancel();
}

std::string Reflector::Impl::Query() const {
  return options_.field_selector.empty() ? std::string()
                                         : "&fieldSelector=" + Escaped(options_.field_selector);
}

void Reflector::Impl::List(int page_size) {
  listing_ = std::make_shared<Listing>();
  listing_->version = list_version_;
  // A server answers a list with a minimum version in one page.
  listing_->page_size = list_version_.empty() || list_version_ == "0" ? page_size : 0;
  AskPage(listing_);
}

void Reflector::Impl::AskPage(const std::shared_ptr<Listing>& listing) {
  if (const Status point = BeforeList(); !point.ok()) return OnPage(listing, {.status = point});
  std::string query = Query();
  if (listing->page_size > 0) query += fmt::format("&limit={}", listing->page_size);
  if (!listing->next.empty()) {
    query += "&continue=" + Escaped(listing->next);
  } else if (!listing->version.empty()) {
    query += "&resourceVersion=" + Escaped(listing->version);
  }
  if (!query.empty()) query.front() = '?';
  const auto begun = deps_.clock.Now();
  deps_.transport.Begin({.path = options_.path + query, .accept = AcceptOf(options_.content)},
                        {begun + kPageLimit, listing->cancel},
                        [weak = weak_from_this(), listing, begun](StatusOr<Response> answer) {
                          const Self self = weak.lock();
                          if (self == nullptr) return;
                          const auto kept = std::make_shared<StatusOr<Response>>(std::move(answer));
                          self->deps_.strands.Run(
                              self->options_.strand, [weak, listing, begun, kept] {
                                const Self me = weak.lock();
                                if (me == nullptr) return;
                                const Duration took = me->deps_.clock.Now() - begun;
                                auto outcome = ReadPage(*listing, *kept, *me->options_.list);
                                outcome.took = took;
                                me->deps_.loop.Post([weak, listing, outcome = std::move(outcome)] {
                                  if (const Self then = weak.lock()) then->OnPage(listing, outcome);
                                });
                              });
                        });
}

Reflector::Impl::PageOutcome Reflector::Impl::ReadPage(Listing& listing,
                                                       const StatusOr<Response>& answer,
                                                       const google::protobuf::Message& list) {
  if (!answer.ok()) return {.status = answer.status()};
  PageOutcome outcome{
      .retry_after = answer->retry_after, .code = answer->code, .bytes = answer->body.size()};
  auto page = ReadListPage(*answer, list);
  outcome.status = page.status();
  if (!page.ok()) return outcome;
  listing.resource_version = std::move(page->resource_version);
  listing.next = std::move(page->next);
  listing.objects.insert(listing.objects.end(), std::make_move_iterator(page->objects.begin()),
                         std::make_move_iterator(page->objects.end()));
  return outcome;
}

void Reflector::Impl::OnPage(const std::shared_ptr<Listing>& listing, const PageOutcome& outcome) {
  if (callbacks_ == nullptr || listing != listing_) return;
  if (deps_.metrics != nullptr)
    deps_.metrics->NoteCall({.method = "GET",
                             .host = deps_.transport.host(),
                             .code = outcome.code,
                             .took = outcome.took,
                             .received_bytes = outcome.bytes});
  if (!outcome.status.ok()) return OnListFailed(*listing, outcome);
  if (!listing->next.empty()) return AskPage(listing);
  listing_.reset();
  resource_version_ = listing->resource_version;
  list_version_ = resource_version_;
  listed_ = deps_.clock.Now();
  const auto callbacks = callbacks_;
  callbacks->on_list(std::move(listing->objects));
  if (callbacks_ == nullptr) return;
  SetSync(OkStatus());
  if (callbacks_ != nullptr) Watch();
}

void Reflector::Impl::OnListFailed(const Listing& listing, const PageOutcome& outcome) {
  const bool was_paging = !listing.next.empty();
  listing_.reset();
  // The server has forgotten the version of the first page: list again, in one page.
  if (was_paging && outcome.status.code() == StatusCode::kOutOfRange) return List(0);
  // A server that lacks the last version, or has forgotten it, reports an error. Listing the newest
  // version always works, but costs the server more.
  if (outcome.code != 0) list_version_.clear();
  TryLater(Annotate(outcome.status, "list " + options_.path), outcome.retry_after);
}

void Reflector::Impl::Watch() {
  const uint64_t seconds =
      kMinWatchSeconds + deps_.random.Below(kMaxWatchSeconds - kMinWatchSeconds + 1);
  const auto watching = std::make_shared<Watching>(*options_.item);
  watching->begun = watching->batches_since = deps_.clock.Now();
  watching_ = watching;
  if (const Status point = BeforeWatch(); !point.ok()) return OnWatchEnded(point, std::nullopt);
  const auto weak = weak_from_this();
  SetTimer(kHeadLimit, [this] { OnWatchEnded(DeadlineExceeded("no answer"), std::nullopt); });
  deps_.transport.BeginStream(
      {.path = fmt::format("{}?watch=true&allowWatchBookmarks=true&resourceVersion={}"
                           "&timeoutSeconds={}{}",
                           options_.path, Escaped(resource_version_), seconds, Query()),
       .accept = AcceptOf(options_.content)},
      {watching->begun + std::chrono::seconds{seconds} + kWatchPatience, watching->cancel},
      [weak, watching](std::string_view piece) {
        if (const Self self = weak.lock()) self->OnPiece(watching, piece);
      },
      [weak, watching](StatusOr<Response> end) {
        if (const Self self = weak.lock()) self->OnEnd(watching, std::move(end));
      });
}

void Reflector::Impl::OnPiece(const std::shared_ptr<Watching>& watching, std::string_view piece) {
  bool too_much = false, idle = false;
  {
    const std::lock_guard lock(watching->mutex);
    if (watching->overflow) return;
    watching->head = true;
    too_much = watching->overflow = watching->buffer.size() + piece.size() > kMaxBuffered;
    if (!too_much) watching->buffer += piece;
    idle = !std::exchange(watching->busy, true);
  }
  if (too_much) watching->cancel->Cancel();
  if (idle) Decode(watching);
}

void Reflector::Impl::OnEnd(const std::shared_ptr<Watching>& watching, StatusOr<Response> end) {
  bool idle = false;
  {
    const std::lock_guard lock(watching->mutex);
    watching->end = std::move(end);
    idle = !std::exchange(watching->busy, true);
  }
  if (idle) Decode(watching);
}

/// Decodes one batch at a time, so that later events are gathered.
void Reflector::Impl::Decode(const std::shared_ptr<Watching>& watching) {
  deps_.strands.Run(options_.strand, [weak = weak_from_this(), watching] {
    const auto batch = std::make_shared<const Batch>(ReadBatch(*watching));
    const Self self = weak.lock();
    if (self == nullptr) return;
    self->deps_.loop.Post([weak, watching, batch] {
      if (const Self then = weak.lock()) then->OnBatch(watching, *batch);
    });
  });
}

Reflector::Impl::Batch Reflector::Impl::ReadBatch(Watching& watching) {
  Batch batch;
  std::optional<StatusOr<Response>> end;
  bool overflow = false;
  {
    const std::lock_guard lock(watching.mutex);
    batch.opened = watching.head;
    watching.reader.Feed(std::exchange(watching.buffer, {}));
    end = watching.end;
    overflow = watching.overflow;
  }
  ReadItems(watching.reader, batch);
  // Events before the end are decoded before the end takes effect.
  if (batch.ended || batch.more || !end) return batch;
  batch.ended = end->ok() ? StatusOf(**end) : end->status();
  if (end->ok()) {
    batch.code = (*end)->code;
    batch.retry_after = (*end)->retry_after;
  }
  if (overflow) batch.ended = ResourceExhausted("events arrive faster than they are processed");
  return batch;
}

void Reflector::Impl::ReadItems(WatchReader& reader, Batch& batch) {
  while (batch.items.size() < kMaxBatch) {
    auto item = reader.Next();
    if (!item.ok()) {
      batch.ended = item.status();
      return;
    }
    if (!*item) return;
    if ((*item)->kind == WatchItem::Kind::kError) {
      batch.ended = (*item)->error;
      return;
    }
    batch.items.push_back(std::move(**item));
  }
  batch.more = true;
}

void Reflector::Impl::OnBatch(const std::shared_ptr<Watching>& watching, const Batch& batch) {
  if (callbacks_ == nullptr || watching != watching_) return;
  if (batch.opened) OnOpened(*watching);
  if (!Deliver(watching, batch)) return;
  if (batch.ended) {
    if (!watching->opened && deps_.metrics != nullptr)
      deps_.metrics->NoteWatch(deps_.transport.host(), batch.code);
    return OnWatchEnded(*batch.ended, batch.retry_after);
  }
  bool now = batch.more;
  {
    const std::lock_guard lock(watching->mutex);
    now = now || watching->end;
  }
  if (now) return Decode(watching);
  const Clock::Time at = deps_.clock.Now();
  if (at - watching->batches_since >= kGather) {
    watching->batches_since = at;
    watching->batches = 0;
  }
  if (++watching->batches < kFlood) return OnGathered(watching);
  // For single events in a row, waking two threads for each would cost more than all other work.
  deps_.loop.RunAfter(kGather, [weak = weak_from_this(), watching] {
    if (const Self self = weak.lock()) self->OnGathered(watching);
  });
}

void Reflector::Impl::OnGathered(const std::shared_ptr<Watching>& watching) {
  if (watching != watching_) return;
  {
    const std::lock_guard lock(watching->mutex);
    watching->busy = watching->end || !watching->buffer.empty();
    if (!watching->busy) return;
  }
  Decode(watching);
}

/// False: a callback ended this reflector.
bool Reflector::Impl::Deliver(const std::shared_ptr<Watching>& watching, const Batch& batch) {
  const auto callbacks = callbacks_;
  for (const auto& item : batch.items) {
    if (callbacks_ == nullptr || watching != watching_) return false;
    watching->delivered = true;
    resource_version_ = list_version_ = item.resource_version;
    switch (item.kind) {
      case WatchItem::Kind::kAdded: callbacks->on_event(Event::kAdded, item.object); break;
      case WatchItem::Kind::kModified: callbacks->on_event(Event::kModified, item.object); break;
      case WatchItem::Kind::kDeleted: callbacks->on_event(Event::kDeleted, item.object); break;
      case WatchItem::Kind::kBookmark:
      case WatchItem::Kind::kError: break;
    }
  }
  return callbacks_ != nullptr && watching == watching_;
}

void Reflector::Impl::OnOpened(Watching& watching) {
  if (std::exchange(watching.opened, true)) return;
  CancelTimer();
  if (deps_.metrics != nullptr) deps_.metrics->NoteWatch(deps_.transport.host(), 200);
  SetSync(OkStatus());
}

void Reflector::Impl::OnWatchEnded(const Status& status, std::optional<Duration> retry_after) {
  const auto watching = std::exchange(watching_, nullptr);
  CancelTimer();
  watching->cancel->Cancel();  // a sender of garbage may send more
  const bool gone = status.code() == StatusCode::kOutOfRange;
  const bool garbage = status.code() == StatusCode::kDataLoss;
  const bool went_well = watching->opened && (watching->delivered ||
                                              deps_.clock.Now() - watching->begun >= kShortWatch);
  if (went_well) backoff_.Reset(kBackoffKey);
  if (gone || garbage) {
    resource_version_.clear();
    // A list shows the state that an unreadable event would have shown. List immediately, unless a
    // list was just done.
    const bool just_listed = listed_ && deps_.clock.Now() - *listed_ < kLastBackoff;
    if (gone && !just_listed) return List(options_.page_size);
  } else if (went_well && (status.ok() || status.code() == StatusCode::kUnavailable ||
                           status.code() == StatusCode::kDeadlineExceeded)) {
    return Watch();
  }
  const Status why = status.ok() ? Unavailable("the watch ended immediately") : status;
  TryLater(Annotate(why, "watch " + options_.path), retry_after);
}

void Reflector::Impl::TryLater(const Status& status, std::optional<Duration> retry_after) {
  const Duration wait = IsAwaited(status) ? kAwaitedRetry
                                          : std::max(backoff_.Next(kBackoffKey, &deps_.random),
                                                     retry_after.value_or(Duration{0}));
  SetTimer(wait, [this] { resource_version_.empty() ? List(options_.page_size) : Watch(); });
  SetSync(status);
}

/// The one timer: for another attempt, or for the head of a watch.
void Reflector::Impl::SetTimer(Duration wait, std::function<void()> then) {
  timer_ = deps_.loop.RunAfter(wait, [weak = weak_from_this(), then = std::move(then)] {
    const Self self = weak.lock();
    if (self == nullptr || self->callbacks_ == nullptr) return;
    self->timer_ = 0;
    then();
  });
}

void Reflector::Impl::CancelTimer() { deps_.loop.CancelTimer(std::exchange(timer_, 0)); }

void Reflector::Impl::SetSync(const Status& status) {
  if (callbacks_ == nullptr || sync_ == status) return;
  sync_ = status;
  if (!status.ok() && !IsAwaited(status))
    deps_.log.Warn("watch failed, will list again", {KV("path", options_.path), KV("err", status)});
  if (callbacks_->on_sync) {
    const auto callbacks = callbacks_;
    callbacks->on_sync(status);
  }
}

Reflector::Reflector(Deps deps, Options options, Callbacks callbacks)
    : impl_(std::make_shared<Impl>(std::move(deps), std::move(options), std::move(callbacks))) {}

Reflector::~Reflector() { impl_->Stop(); }

void Reflector::Start() { impl_->Start(); }

const Status& Reflector::sync() const { return impl_->sync(); }

}  // namespace splitlet::apiclient
