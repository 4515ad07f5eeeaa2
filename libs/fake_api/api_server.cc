#include "libs/fake_api/api_server.h"

#include <google/protobuf/message.h>

#include <deque>
#include <mutex>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/base/cancel.h"
#include "libs/exec/exec.h"
#include "libs/fake_api/handler.h"
#include "libs/fake_api/journal.h"
#include "libs/kube/codec.h"

namespace splitlet::fake_api {

using apiclient::Request;
using apiclient::Response;

namespace {

constexpr size_t kMaxSeen = 100'000;

const FakeUser& Admin() {
  static const FakeUser admin{"admin", "", {"system:masters", "system:authenticated"}};
  return admin;
}

std::string RequestPath(const Request& request) {
  return request.path.substr(0, request.path.find('?'));
}

Place PlaceOf(const std::string& path) {
  const auto place = ParsePath(path);
  CHECK(place.has_value(), "{} is no path of the API", path);
  return *place;
}

Response FaultResponse(const FakeApiServer::Fault& fault, const Request& request) {
  if (!fault.body.empty() || fault.code == 200)
    return {.code = fault.code == 0 ? 200 : fault.code,
            .content_type = fault.content_type,
            .body = fault.body,
            .retry_after = fault.retry_after};
  const Status why = MakeStatus(StatusCodeOf(fault.code), "injected fault {}", fault.code);
  Response response = ErrorResponse(why, nullptr, FormatOf(request.accept));
  response.code = fault.code;
  response.retry_after = fault.retry_after;
  return response;
}

}  // namespace

class FakeApiServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  /// A pending request.
  struct Pending {
    FakeUser user;
    Request request;
    Deadline deadline;
    OnData on_data;  // empty: not a stream
    Done done;
  };

  Impl(const Clock& the_clock, const Options& the_options)
      : clock(the_clock),
        options(the_options),
        handler(the_clock, the_options.seed, the_options.window,
                [this](const Store::Change& change) {
                  if (journal != nullptr) journal->OnChange(change);
                  watches.OnChange(change);
                }) {
    if (options.keep.empty()) return;
    auto opened = Journal::Open(options.keep, handler.store());
    CHECK(opened.ok(), "{}", opened.status());
    journal = *std::move(opened);
  }

  void Start(Pending pending) {
    Tick();
    std::optional<StatusOr<Response>> answer;
    Watches::WatchPtr waiting;
    {
      const std::lock_guard lock(mutex);
      answer = Take(pending, waiting);
      if (waiting != nullptr) watches.Add(waiting);
    }
    if (waiting != nullptr) Guard(waiting);
    watches.Deliver(mutex);
    if (answer) Finish(pending, *answer);
  }

  void Tick() {
    const std::lock_guard lock(mutex);
    watches.Tick(clock.Now(), handler.store().revision());
  }

  /// Runs `change` under the lock, then delivers the events to the watches.
  template <class Change>
  auto With(Change change) {
    if constexpr (std::is_void_v<decltype(change())>) {
      {
        const std::lock_guard lock(mutex);
        change();
      }
      watches.Deliver(mutex);
    } else {
      std::unique_lock lock(mutex);
      auto result = change();
      lock.unlock();
      watches.Deliver(mutex);
      return result;
    }
  }

  const Clock& clock;
  const Options options;
  std::mutex mutex;
  Watches watches;
  std::unique_ptr<Journal> journal;  // declared before `handler`, which writes into it
  Handler handler;
  std::vector<Fault> faults;
  std::deque<Seen> seen;
  bool away = false;

 private:
  static void Finish(const Pending& pending, StatusOr<Response> answer) {
    if (pending.on_data && answer.ok() && answer->code / 100 == 2) {
      const std::string body = std::move(answer->body);
      answer->body.clear();
      pending.on_data({});
      if (!body.empty()) pending.on_data(body);
    }
    pending.done(std::move(answer));
  }

  /// The answer, or none and `waiting` is set.
  std::optional<StatusOr<Response>> Take(const Pending& pending, Watches::WatchPtr& waiting) {
    if (pending.deadline.cancel != nullptr && pending.deadline.cancel->cancelled())
      return Cancelled("given up");
    if (away) return Unavailable("connection refused");
    const Request& request = pending.request;
    seen.push_back({request.method, request.path, request.content_type, request.body});
    if (seen.size() > kMaxSeen) seen.pop_front();
    if (const auto fault = TakeFault(request)) return Fail(*fault, pending, waiting);
    return CarryOut(pending, waiting);
  }

  std::optional<StatusOr<Response>> CarryOut(const Pending& pending, Watches::WatchPtr& waiting) {
    if (!Handler::IsWatch(pending.request)) return handler.Serve(pending.request, pending.user);
    auto watch = handler.OpenWatch(pending.request);
    if (watch->end && watch->frames.empty()) return *watch->end;
    Fill(pending, *watch);
    watch->frames.emplace_front();  // empty frame: the head of the answer
    waiting = std::move(watch);
    return std::nullopt;
  }

  /// Without streaming, the body holds all frames of the watch.
  static void Fill(const Pending& pending, Watches::Watch& watch) {
    watch.deadline = pending.deadline;
    watch.on_data = pending.on_data;
    watch.done = pending.done;
    if (watch.on_data) return;
    auto body = std::make_shared<std::string>();
    watch.on_data = [body](std::string_view data) { *body += data; };
    watch.done = [body, done = pending.done](StatusOr<Response> answer) {
      if (answer.ok()) answer->body = *body;
      done(std::move(answer));
    };
  }

  std::optional<StatusOr<Response>> Fail(const Fault& fault, const Pending& pending,
                                         Watches::WatchPtr& waiting) {
    if (fault.after_effect && !Handler::IsWatch(pending.request))
      handler.Serve(pending.request, pending.user);
    if (!fault.hang) {
      if (fault.code == 0 && fault.body.empty()) return Unavailable("connection reset by peer");
      return FaultResponse(fault, pending.request);
    }
    if (options.loop == nullptr && !options.ticks && !pending.on_data)
      return DeadlineExceeded("no answer in time");
    waiting = std::make_shared<Watches::Watch>();
    Fill(pending, *waiting);
    waiting->go_on = [this, pending, lost = fault.after_effect] {
      if (lost) return Finish(pending, Unavailable("connection reset by peer"));
      Start(pending);
    };
    return std::nullopt;
  }

  std::optional<Fault> TakeFault(const Request& request) {
    const std::string path = RequestPath(request);
    for (auto& fault : faults) {
      const bool matches = (fault.method.empty() || fault.method == request.method) &&
                           path.starts_with(fault.prefix) && fault.times != 0;
      if (!matches) continue;
      if (fault.times > 0) --fault.times;
      return fault;
    }
    return std::nullopt;
  }

  /// Ends the watch when the client cancels, and at its deadline.
  void Guard(const Watches::WatchPtr& watch) {
    const std::weak_ptr<Impl> weak = weak_from_this();
    const auto tick = [weak] {
      if (const auto self = weak.lock()) {
        self->Tick();
        self->watches.Deliver(self->mutex);
      }
    };
    if (options.loop != nullptr) {
      const auto now = clock.Now();
      options.loop->RunAfter(std::max(watch->deadline.at - now, Duration{0}), tick);
      if (watch->until) options.loop->RunAfter(std::max(*watch->until - now, Duration{0}), tick);
    }
    if (watch->deadline.cancel == nullptr) return;
    // The token is locked in this callback, so a later call delivers the end.
    const int id = watch->deadline.cancel->Add([weak, tick, watch = std::weak_ptr(watch)] {
      const auto self = weak.lock();
      const auto ended = watch.lock();
      if (self == nullptr || ended == nullptr) return;
      {
        const std::lock_guard lock(self->mutex);
        ended->end = Cancelled("given up");
        ended->frames.clear();
      }
      if (self->options.loop != nullptr) self->options.loop->Post(tick);
    });
    const std::lock_guard lock(mutex);
    watch->cancel_id = id;
  }
};

FakeApiServer::FakeApiServer(const Clock& clock) : FakeApiServer(clock, Options{}) {}
FakeApiServer::FakeApiServer(const Clock& clock, Options options)
    : impl_(std::make_shared<Impl>(clock, options)) {}
FakeApiServer::~FakeApiServer() = default;

void FakeApiServer::Begin(Request request, Deadline deadline, Done done) {
  BeginAs(Admin(), std::move(request), std::move(deadline), {nullptr, std::move(done)});
}

void FakeApiServer::BeginStream(Request request, Deadline deadline, OnData on_data, Done done) {
  BeginAs(Admin(), std::move(request), std::move(deadline), {std::move(on_data), std::move(done)});
}

void FakeApiServer::BeginAs(const FakeUser& user, Request request, Deadline deadline,
                            Listener listener) {
  impl_->Start({user, std::move(request), std::move(deadline), std::move(listener.on_data),
                std::move(listener.done)});
}

void FakeApiServer::Put(const std::string& path, const google::protobuf::Message& object) {
  const Place place = PlaceOf(path);
  CHECK(place.kind->item->GetDescriptor() == object.GetDescriptor(), "{} is no {}", path,
        object.GetDescriptor()->name());
  impl_->With([&] { impl_->handler.Put(place, object); });
}

void FakeApiServer::PutJson(const std::string& path, std::string_view json) {
  const Place place = PlaceOf(path);
  const std::unique_ptr<google::protobuf::Message> object(place.kind->item->New());
  const auto read = kube::DecodeInto(json, path, kube::Strictness::kStrict, *object);
  CHECK(read.ok(), "{}", read.status());
  Put(path, *object);
}

void FakeApiServer::Delete(const std::string& path) {
  const Response answer = impl_->With(
      [&] { return impl_->handler.Serve({.method = "DELETE", .path = path}, Admin()); });
  CHECK(answer.code == 200, "DELETE {}: {}", path, answer.body);
}

void FakeApiServer::Remove(const std::string& path) {
  const Place place = PlaceOf(path);
  const bool removed = impl_->With([&] { return impl_->handler.Remove(place); });
  CHECK(removed, "{} is not there", path);
}

bool FakeApiServer::Has(const std::string& path) const {
  const Place place = PlaceOf(path);
  const std::lock_guard lock(impl_->mutex);
  return impl_->handler.store().Find(*place.kind, place.key()) != nullptr;
}

bool FakeApiServer::Get(const std::string& path, google::protobuf::Message& into) const {
  const Place place = PlaceOf(path);
  const std::lock_guard lock(impl_->mutex);
  const Object object = impl_->handler.store().Find(*place.kind, place.key());
  if (object != nullptr) into.CopyFrom(*object);
  return object != nullptr;
}

std::string FakeApiServer::GetJson(const std::string& path) const {
  const Place place = PlaceOf(path);
  const std::lock_guard lock(impl_->mutex);
  const Object object = impl_->handler.store().Find(*place.kind, place.key());
  if (object == nullptr) return "";
  return Encode(*object, {place.kind->api_version(), place.kind->kind}, Format::kJson);
}

std::vector<std::string> FakeApiServer::List(const std::string& collection) const {
  const Place place = PlaceOf(collection);
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> paths;
  for (const auto& object : impl_->handler.store().List(*place.kind, place.name_space)) {
    const auto& meta = MetaOf(*object);
    paths.push_back(PathOf({place.kind, meta.namespace_(), meta.name(), {}}));
  }
  return paths;
}

void FakeApiServer::Inject(Fault fault) {
  const std::lock_guard lock(impl_->mutex);
  impl_->faults.push_back(std::move(fault));
}

void FakeApiServer::ClearFaults() {
  const auto hung = impl_->With([&] {
    impl_->faults.clear();
    return impl_->watches.TakeHung();
  });
  for (const auto& waiting : hung) {
    if (waiting->deadline.cancel != nullptr) waiting->deadline.cancel->Remove(waiting->cancel_id);
    waiting->go_on();
  }
}

void FakeApiServer::SetAway(bool away) {
  impl_->With([&] {
    impl_->away = away;
    if (away) impl_->watches.EndAll(Unavailable("connection reset by peer"));
  });
}

void FakeApiServer::EndWatches() {
  impl_->With([&] { impl_->watches.EndAll(Response{.code = 200}); });
}

void FakeApiServer::Compact() {
  impl_->With([&] { impl_->handler.store().Compact(); });
}

void FakeApiServer::SendBookmarks() {
  impl_->With([&] { impl_->watches.BookmarkAll(impl_->handler.store().revision()); });
}

Response FakeApiServer::Serve(const Request& request) {
  return impl_->With([&] { return impl_->handler.Serve(request, Admin()); });
}

std::vector<FakeApiServer::Seen> FakeApiServer::TakeSeen() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Seen> taken(std::make_move_iterator(impl_->seen.begin()),
                          std::make_move_iterator(impl_->seen.end()));
  impl_->seen.clear();
  return taken;
}

void FakeApiServer::Tick() {
  impl_->Tick();
  impl_->watches.Deliver(impl_->mutex);
}

void FakeApiServer::AddToken(const std::string& token, const FakeUser& user) {
  impl_->With([&] { impl_->handler.reviews().AddToken(token, user); });
}

void FakeApiServer::RemoveToken(const std::string& token) {
  impl_->With([&] { impl_->handler.reviews().RemoveToken(token); });
}

std::optional<FakeUser> FakeApiServer::UserOf(const std::string& token) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handler.reviews().UserOf(token, impl_->clock.WallNow());
}

void FakeApiServer::Allow(const AccessRule& rule) {
  impl_->With([&] { impl_->handler.reviews().Allow(rule); });
}

void FakeApiServer::AllowAll(bool all) {
  impl_->With([&] { impl_->handler.reviews().AllowAll(all); });
}

void FakeApiServer::ForbidAll() {
  impl_->With([&] { impl_->handler.reviews().ForbidAll(); });
}

bool FakeApiServer::IsAllowed(const FakeUser& user, const Access& access) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handler.reviews().IsAllowed(user, access);
}

void FakeApiServer::SetSigning(bool on) {
  impl_->With([&] { impl_->handler.settings().signing = on; });
}

void FakeApiServer::SetScheduling(bool on) {
  impl_->With([&] { impl_->handler.settings().scheduling = on; });
}

void FakeApiServer::PublishCa() {
  impl_->With([&] {
    impl_->handler.settings().publish_ca = true;
    for (const auto& object : impl_->handler.store().List(FindKind("namespaces"), ""))
      impl_->handler.FillNamespace(MetaOf(*object).name());
  });
}

const FakeAuthority& FakeApiServer::authority() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->handler.authority();
}

void FakeApiServer::SetAuthority(std::unique_ptr<FakeAuthority> authority) {
  impl_->With([&] { impl_->handler.SetAuthority(std::move(authority)); });
}

}  // namespace splitlet::fake_api
