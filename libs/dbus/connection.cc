#include "libs/dbus/connection.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "libs/dbus/errors.h"
#include "libs/dbus/wire.h"

namespace splitlet::dbus {

namespace {

constexpr const char* kSystemBus = "unix:path=/run/dbus/system_bus_socket";
constexpr int kMaxPollMs = 60'000;

/// Freed by the library's own functions, which a type cannot name.
class Message {
 public:
  explicit Message(const SdBus& sd) : sd_(sd) {}
  ~Message() { sd_.message_unref(raw_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  sd_bus_message* get() const { return raw_; }
  sd_bus_message** out() { return &raw_; }

 private:
  const SdBus& sd_;
  sd_bus_message* raw_ = nullptr;
};

std::string Text(const char* text) { return text == nullptr ? "" : text; }
const char* OrAny(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

uint64_t Micros(Duration d) { return static_cast<uint64_t>(std::max(d / 1us, Duration::rep{0})); }

/// Used by the thread in Run() once it runs; before that by the connecting caller.
class Link final : public ServiceBus {
 public:
  Link(const SdBus& sd, ConnectOptions options) : sd_(sd), options_(std::move(options)) {}
  ~Link() override;

  /// Waits until the bus has assigned this client its name.
  Status Open(Deadline deadline);
  Status StartThread();

  StatusOr<Values> Call(const MethodCall& call, Deadline deadline) override;
  StatusOr<std::unique_ptr<Watch>> WatchSignals(const SignalMatch& match, OnSignal callback,
                                                Deadline deadline) override;
  Status Serve(const std::string& name, OnCall answer, Deadline deadline) override;
  Status Emit(const Signal& signal) override;
  void EndWatch(uint64_t id);

 private:
  /// Called on the thread of the bus, with OK or the reason of the loss.
  using Task = std::function<void(const Status& lost)>;
  struct Pending {
    Link& link;
    std::promise<StatusOr<Values>> done;
    sd_bus_slot* slot = nullptr;
  };
  struct Watched {
    Link& link;
    OnSignal callback;
    std::promise<Status> taken;
    bool answered = false;  // true: `taken` has its value
    sd_bus_slot* slot = nullptr;
  };

  void Post(Task task);
  void Run();
  bool RunTasks();
  Status Turn(std::optional<Deadline> until) const;
  void End(const Status& why);
  Status Send(const MethodCall& call, uint64_t timeout_us, Pending& pending) const;
  Status AddWatch(const SignalMatch& match, Watched& watched) const;
  void DropWatch(uint64_t id);
  Status SendSignal(const Signal& signal) const;
  Status Reply(sd_bus_message* call) const;
  StatusOr<Values> ValuesOf(sd_bus_message* reply) const;

  static int OnReply(sd_bus_message* reply, void* pending, sd_bus_error* error) noexcept;
  static int OnTaken(sd_bus_message* reply, void* watched, sd_bus_error* error) noexcept;
  static int OnSignalMessage(sd_bus_message* signal, void* watched, sd_bus_error* error) noexcept;
  static int OnMessage(sd_bus_message* message, void* link, sd_bus_error* error) noexcept;

  const SdBus& sd_;
  const ConnectOptions options_;
  sd_bus* bus_ = nullptr;
  fs::Fd wake_{-1};

  // Used by the bus's thread only.
  std::map<Pending*, std::shared_ptr<Pending>> pending_;
  std::map<uint64_t, std::unique_ptr<Watched>> watched_;
  OnCall answer_;

  std::mutex mutex_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  Status lost_;  // an error once the thread accepts no more tasks

  std::atomic<uint64_t> last_watch_ = 0;
  std::thread thread_;
};

class LinkWatch final : public Watch {
 public:
  LinkWatch(Link& link, uint64_t id) : link_(link), id_(id) {}
  ~LinkWatch() override { link_.EndWatch(id_); }

 private:
  Link& link_;
  const uint64_t id_;
};

Link::~Link() {
  if (thread_.joinable()) {
    CHECK(thread_.get_id() != std::this_thread::get_id(), "a bus does not end in its callback");
    Post([this](const Status&) { stopping_ = true; });
    thread_.join();
  }
  if (bus_ == nullptr) return;
  sd_.close(bus_);
  sd_.bus_unref(bus_);
}

/// Processes one message, or waits for the next one.
Status Link::Turn(std::optional<Deadline> until) const {
  const int done = sd_.process(bus_, nullptr);
  if (done < 0) return SdError(done);
  if (done > 0) return OkStatus();  // more messages may be waiting
  uint64_t timer_us = 0;
  const int events = sd_.get_events(bus_), fd = sd_.get_fd(bus_);
  if (events < 0) return SdError(events);
  if (fd < 0) return SdError(fd);
  const int timed = sd_.get_timeout(bus_, &timer_us);
  if (timed < 0) return SdError(timed);
  const uint64_t now_us = Micros(options_.clock.Now().monotonic);
  uint64_t wait_us = timer_us > now_us ? timer_us - now_us : 0;
  if (until) wait_us = std::min(wait_us, Micros(Remaining(options_.clock, *until)));
  const int wait_ms = static_cast<int>(std::min<uint64_t>(wait_us / 1000 + 1, kMaxPollMs));
  pollfd fds[] = {{fd, static_cast<int16_t>(events), 0}, {wake_.get(), POLLIN, 0}};
  if (::poll(fds, 2, wait_ms) < 0 && errno != EINTR) return ErrnoStatus(errno);
  return OkStatus();
}

Status Link::Open(Deadline deadline) {
  wake_ = fs::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.ok()) return Annotate(ErrnoStatus(errno), "eventfd");
  int result = sd_.bus_new(&bus_);
  if (result >= 0) result = sd_.set_address(bus_, options_.address.c_str());
  if (result >= 0) result = sd_.set_bus_client(bus_, 1);
  if (result >= 0) result = sd_.negotiate_fds(bus_, 1);
  if (result >= 0) result = sd_.start(bus_);
  if (result < 0) return SdError(result);
  while (true) {
    const int ready = sd_.is_ready(bus_);
    if (ready < 0) return SdError(ready);
    if (ready > 0) return OkStatus();
    if (Remaining(options_.clock, deadline) == Duration{0})
      return DeadlineExceeded("the bus does not answer");
    if (Status turned = Turn(deadline); !turned.ok()) return turned;
  }
}

Status Link::StartThread() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& e) {
    return ResourceExhausted("cannot start a thread: {}", e.what());
  }
  return OkStatus();
}

void Link::Post(Task task) {
  Status lost;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_;
    if (lost.ok()) tasks_.push_back(task);
  }
  if (!lost.ok()) return task(lost);
  const uint64_t one = 1;
  // The write cannot fail: the counter is far from its maximum.
  static_cast<void>(::write(wake_.get(), &one, sizeof(one)) == sizeof(one));
}

/// False: the thread must end.
bool Link::RunTasks() {
  uint64_t count = 0;
  // An empty counter is no error.
  static_cast<void>(::read(wake_.get(), &count, sizeof(count)) == sizeof(count));
  while (true) {
    Task task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return !stopping_;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task(OkStatus());
  }
}

void Link::Run() {
  while (RunTasks())
    if (const Status turned = Turn(std::nullopt); !turned.ok()) {
      const Status why =
          Unavailable("the bus {} is lost: {}", options_.address, splitlet::Message(turned));
      End(why);
      if (options_.on_lost) options_.on_lost(why);
      return;
    }
  End(Cancelled("the connection to {} ends", options_.address));
}

/// Fails waiting and later calls with the error.
void Link::End(const Status& why) {
  std::deque<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    lost_ = why;
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) task(why);
  for (const auto& [key, pending] : pending_) {
    sd_.slot_unref(pending->slot);
    pending->done.set_value(why);
  }
  pending_.clear();
  for (const auto& [id, watched] : watched_) {
    sd_.slot_unref(watched->slot);
    if (!watched->answered) watched->taken.set_value(why);
  }
  watched_.clear();
}

StatusOr<Values> Link::ValuesOf(sd_bus_message* reply) const {
  const sd_bus_error* const error = sd_.get_error(reply);
  if (error != nullptr && error->name != nullptr)
    return StatusOf(error->name, Text(error->message));
  return ReadValues(sd_, reply);
}

int Link::OnReply(sd_bus_message* reply, void* pending, sd_bus_error*) noexcept {
  auto* const key = static_cast<Pending*>(pending);
  const auto found = key->link.pending_.find(key);
  if (found == key->link.pending_.end()) return 0;
  const auto held = found->second;
  held->link.pending_.erase(found);
  // For a lost bus sd-bus reports a timeout.
  held->done.set_value(held->link.sd_.is_open(held->link.bus_) > 0
                           ? held->link.ValuesOf(reply)
                           : StatusOr<Values>(Unavailable("the bus is lost")));
  held->link.sd_.slot_unref(held->slot);
  return 0;
}

Status Link::Send(const MethodCall& call, uint64_t timeout_us, Pending& pending) const {
  Message message(sd_);
  const int made =
      sd_.new_method_call(bus_, message.out(), call.destination.c_str(), call.path.path.c_str(),
                          call.interface.c_str(), call.member.c_str());
  if (made < 0) return Annotate(SdError(made), "make the call");
  RETURN_IF_ERROR(Append(sd_, message.get(), call.arguments), "arguments");
  const int sent =
      sd_.call_async(bus_, &pending.slot, message.get(), &Link::OnReply, &pending, timeout_us);
  return sent < 0 ? SdError(sent) : OkStatus();
}

StatusOr<Values> Link::Call(const MethodCall& call, Deadline deadline) {
  CHECK(thread_.get_id() != std::this_thread::get_id(), "{}: calls in a callback are not allowed",
        call.member);
  const std::string what = fmt::format("{}.{}", call.interface, call.member);
  const auto pending = std::make_shared<Pending>(Pending{*this, {}});
  Post([this, &call, deadline, pending](const Status& lost) {
    const uint64_t left_us = Micros(Remaining(options_.clock, deadline));
    Status sent = lost;
    if (sent.ok() && left_us == 0) sent = DeadlineExceeded("not sent in time");
    if (sent.ok()) sent = Send(call, left_us, *pending);
    if (!sent.ok()) return pending->done.set_value(sent);
    pending_.emplace(pending.get(), pending);
  });
  return Annotate(pending->done.get_future().get(), what);
}

int Link::OnTaken(sd_bus_message* reply, void* watched, sd_bus_error*) noexcept {
  auto& w = *static_cast<Watched*>(watched);
  if (w.answered) return 0;
  w.answered = true;
  w.taken.set_value(w.link.ValuesOf(reply).status());
  return 1;  // otherwise sd-bus would close the connection after a refusal by the bus
}

int Link::OnSignalMessage(sd_bus_message* signal, void* watched, sd_bus_error*) noexcept {
  const auto& w = *static_cast<Watched*>(watched);
  auto values = ReadValues(w.link.sd_, signal);
  if (!values.ok()) return 0;  // a signal with types that Value does not support
  w.callback({{Text(w.link.sd_.get_path(signal))},
              Text(w.link.sd_.get_interface(signal)),
              Text(w.link.sd_.get_member(signal)),
              std::move(*values)});
  return 0;
}

Status Link::AddWatch(const SignalMatch& match, Watched& watched) const {
  const int added = sd_.match_signal_async(
      bus_, &watched.slot, OrAny(match.sender), OrAny(match.path.path), OrAny(match.interface),
      OrAny(match.member), &Link::OnSignalMessage, &Link::OnTaken, &watched);
  return added < 0 ? SdError(added) : OkStatus();
}

StatusOr<std::unique_ptr<Watch>> Link::WatchSignals(const SignalMatch& match, OnSignal callback,
                                                    Deadline deadline) {
  CHECK(thread_.get_id() != std::this_thread::get_id(), "no call in a callback");
  const uint64_t id = ++last_watch_;
  auto made = std::make_unique<Watched>(Watched{*this, std::move(callback), {}});
  auto taken = made->taken.get_future();
  // Shared, because a task is copied.
  const auto held = std::make_shared<std::unique_ptr<Watched>>(std::move(made));
  Post([this, match, id, held](const Status& lost) {
    Watched& watched = **held;
    const Status added = lost.ok() ? AddWatch(match, watched) : lost;
    if (!added.ok()) return watched.taken.set_value(added);
    watched_.emplace(id, std::move(*held));
  });
  auto watch = std::make_unique<LinkWatch>(*this, id);
  const std::string what = fmt::format("watch {}.{}", match.interface, match.member);
  if (taken.wait_for(Remaining(options_.clock, deadline)) != std::future_status::ready)
    return DeadlineExceeded("{}: the bus does not answer", what);
  RETURN_IF_ERROR(taken.get(), "{}", what);
  return watch;
}

void Link::DropWatch(uint64_t id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;  // the bus refused the match
  sd_.slot_unref(found->second->slot);
  watched_.erase(found);
}

void Link::EndWatch(uint64_t id) {
  CHECK(thread_.get_id() != std::this_thread::get_id(), "a watch does not end in a callback");
  const auto done = std::make_shared<std::promise<void>>();
  Post([this, id, done](const Status& lost) {
    if (lost.ok()) DropWatch(id);
    done->set_value();
  });
  done->get_future().wait();
}

Status Link::Reply(sd_bus_message* call) const {
  Message reply(sd_);
  auto arguments = ReadValues(sd_, call);
  const StatusOr<Values> answer = !arguments.ok() ? StatusOr<Values>(arguments.status())
                                                  : answer_({Text(sd_.get_destination(call)),
                                                             {Text(sd_.get_path(call))},
                                                             Text(sd_.get_interface(call)),
                                                             Text(sd_.get_member(call)),
                                                             std::move(*arguments)});
  const int made = answer.ok() ? sd_.new_method_return(call, reply.out())
                               : sd_.new_method_errorf(
                                     call, reply.out(), ErrorNameOf(answer.status().code()).c_str(),
                                     "%s", splitlet::Message(answer.status()).c_str());
  if (made < 0) return SdError(made);
  if (answer.ok()) RETURN_IF_ERROR(Append(sd_, reply.get(), *answer), "reply");
  const int sent = sd_.send(bus_, reply.get(), nullptr);
  return sent < 0 ? SdError(sent) : OkStatus();
}

int Link::OnMessage(sd_bus_message* message, void* link, sd_bus_error*) noexcept {
  const auto& self = *static_cast<const Link*>(link);
  uint8_t type = 0;
  if (self.sd_.get_type(message, &type) < 0 || type != SD_BUS_MESSAGE_METHOD_CALL) return 0;
  // The deadline ends a call without an answer.
  self.Reply(message).IgnoreError();
  return 1;
}

Status Link::Serve(const std::string& name, OnCall answer, Deadline deadline) {
  const auto added = std::make_shared<std::promise<Status>>();
  Post([this, answer = std::move(answer), added](const Status& lost) {
    answer_ = answer;
    const int result = lost.ok() ? sd_.add_filter(bus_, nullptr, &Link::OnMessage, this) : 0;
    added->set_value(result < 0 ? SdError(result) : lost);
  });
  RETURN_IF_ERROR(added->get_future().get(), "serve {}", name);
  constexpr uint32_t kDoNotQueue = 4;
  return Call({"org.freedesktop.DBus",
               {"/org/freedesktop/DBus"},
               "org.freedesktop.DBus",
               "RequestName",
               {Value(name), Value(kDoNotQueue)}},
              deadline)
      .status();
}

Status Link::SendSignal(const Signal& signal) const {
  Message message(sd_);
  const int made = sd_.new_signal(bus_, message.out(), signal.path.path.c_str(),
                                  signal.interface.c_str(), signal.member.c_str());
  if (made < 0) return SdError(made);
  RETURN_IF_ERROR(Append(sd_, message.get(), signal.arguments), "signal");
  const int sent = sd_.send(bus_, message.get(), nullptr);
  return sent < 0 ? SdError(sent) : OkStatus();
}

Status Link::Emit(const Signal& signal) {
  if (thread_.get_id() == std::this_thread::get_id()) return SendSignal(signal);
  const auto sent = std::make_shared<std::promise<Status>>();
  Post([this, &signal, sent](const Status& lost) {
    sent->set_value(lost.ok() ? SendSignal(signal) : lost);
  });
  return sent->get_future().get();
}

StatusOr<std::unique_ptr<Link>> OpenLink(ConnectOptions options, Deadline deadline) {
  ASSIGN_OR_RETURN(const SdBus* const sd, LoadSdBus(), "D-Bus");
  const std::string address = options.address;
  auto link = std::make_unique<Link>(*sd, std::move(options));
  RETURN_IF_ERROR(link->Open(deadline), "{}", address);
  RETURN_IF_ERROR(link->StartThread(), "{}", address);
  return link;
}

}  // namespace

std::string SystemBusAddress() {
  const char* const given = std::getenv("DBUS_SYSTEM_BUS_ADDRESS");
  return given == nullptr || *given == '\0' ? kSystemBus : given;
}

StatusOr<std::unique_ptr<Bus>> ConnectBus(ConnectOptions options, Deadline deadline) {
  auto link = OpenLink(std::move(options), deadline);
  if (!link.ok()) return link.status();
  return std::unique_ptr<Bus>(std::move(*link));
}

StatusOr<std::unique_ptr<ServiceBus>> ConnectService(ConnectOptions options, Deadline deadline) {
  auto link = OpenLink(std::move(options), deadline);
  if (!link.ok()) return link.status();
  return std::unique_ptr<ServiceBus>(std::move(*link));
}

Connect ConnectTo(const Clock& clock, std::string address) {
  return [&clock, address = std::move(address)](OnLost on_lost, Deadline deadline) {
    return ConnectBus({clock, address, std::move(on_lost)}, deadline);
  };
}

StatusOr<Value> GetProperty(Bus& bus, MethodCall object, const std::string& name,
                            Deadline deadline) {
  const std::string interface = object.interface;
  object.interface = "org.freedesktop.DBus.Properties";
  object.member = "Get";
  object.arguments = {Value(interface), Value(name)};
  const auto reply = bus.Call(object, deadline);
  RETURN_IF_ERROR(reply, "{}.{}", interface, name);
  return ValueAt(*reply, 0);
}

}  // namespace splitlet::dbus
