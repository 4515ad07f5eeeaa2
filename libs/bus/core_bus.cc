#include "libs/bus/core_bus.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/base/one_line.h"
#include "libs/base/span.h"
#include "libs/exec/periodic.h"

namespace splitlet::bus {

constexpr Duration kShortestWait = 1ms;

struct CoreBus::Members {
  CoreBus* bus = nullptr;
  OwnedTable* table = nullptr;
  std::vector<OpenView*> views;
};

class CoreBus::OwnedTable final : public RawTable {
 public:
  OwnedTable(std::shared_ptr<Members> members, std::string name, StartId start)
      : members_(std::move(members)),
        name_(std::move(name)),
        core_(members_->bus->process_, start) {
    members_->table = this;
  }
  ~OwnedTable() override {
    if (members_->table == this) members_->table = nullptr;
  }
  OwnedTable(const OwnedTable&) = delete;
  OwnedTable& operator=(const OwnedTable&) = delete;

  Status Put(const std::string& key, std::string record, std::string_view traceparent) override {
    Span span("put " + name_, SpanKind::kProducer, std::string(traceparent));
    span.Set("splitlet.key", key);
    RETURN_IF_ERROR(CountIfRefused(CheckPut(key, record)), "put {}/{}", name_, OneLine(key));
    auto put = core_.Put(key, std::move(record), span.traceparent());
    RETURN_IF_ERROR(CountIfRefused(put.status()), "put {}/{}", name_, key);
    const auto envelope = *std::move(put);
    if (!envelope) span.Discard();
    Send(envelope);
    return OkStatus();
  }
  void Remove(const std::string& key, std::string_view traceparent) override {
    Send(core_.Remove(key, traceparent));
  }
  const std::string* Get(const std::string& key) const override { return core_.Get(key); }
  std::vector<std::string> Keys() const override { return core_.Keys(); }
  void SetComplete(Completeness completeness) override {
    auto heartbeat = core_.SetComplete(std::move(completeness));
    if (heartbeat) Heartbeat(std::move(*heartbeat));
  }
  const Completeness& completeness() const override { return core_.completeness(); }
  void SetCheck(Check check) override { check_ = std::move(check); }

  void HeartbeatIfDue(Clock::Time now) {
    if (now >= next_heartbeat_) HeartbeatNow();
  }
  void HeartbeatNow() { Heartbeat(core_.Heartbeat()); }
  Clock::Time next_heartbeat() const { return next_heartbeat_; }
  const std::string& name() const { return name_; }
  const TableCore& core() const { return core_; }

 private:
  Status CheckPut(const std::string& key, const std::string& record) const {
    if (!IsKey(key)) return InvalidArgument("not a key");
    const std::string* known = core_.Get(key);
    if (!check_ || (known != nullptr && *known == record) || check_(key, record)) return OkStatus();
    return InvalidArgument("a record of {} bytes that readers could not take", record.size());
  }
  Status CountIfRefused(const Status& status) const {
    if (!status.ok() && members_->bus != nullptr) ++members_->bus->puts_.refused;
    return status;
  }
  void Send(const std::optional<Envelope>& envelope) {
    if (envelope && members_->bus != nullptr) members_->bus->Publish(name_, *envelope);
  }
  void Heartbeat(Envelope heartbeat) {
    if (members_->bus == nullptr) return;
    const Clock::Time now = heartbeat.sent_at = members_->bus->clock_.Now();
    next_heartbeat_ = now + exec::UntilRound(now.monotonic, kHeartbeatPeriod);
    Send(heartbeat);
  }

  std::shared_ptr<Members> members_;
  const std::string name_;
  TableCore core_;
  Check check_;
  Clock::Time next_heartbeat_;
};

class CoreBus::OpenView final : public RawView {
 public:
  OpenView(std::shared_ptr<Members> members, std::string table, std::string owner, Clock::Time now)
      : members_(std::move(members)),
        table_(std::move(table)),
        owner_(std::move(owner)),
        core_(
            {table_, owner_, now}, [this](const Change& change) { Report(change); },
            [this] {
              if (on_state_) on_state_();
            }) {
    members_->views.push_back(this);
  }
  ~OpenView() override { std::erase(members_->views, this); }
  OpenView(const OpenView&) = delete;
  OpenView& operator=(const OpenView&) = delete;

  ViewState state() const override { return core_.state(); }
  Clock::Time stale_since() const override { return core_.stale_since(); }
  bool IsComplete(std::string_view scope) const override { return core_.IsComplete(scope); }
  const Completeness& completeness() const override { return core_.completeness(); }
  bool was_live() const override { return core_.was_live(); }
  Clock::Time owner_start() const override { return core_.owner_start(); }
  bool Contains(const std::string& key) const override { return core_.records().contains(key); }
  Record Find(const std::string& key) const override {
    const auto it = core_.records().find(key);
    return it == core_.records().end() ? nullptr : it->second;
  }
  void ForEach(const std::function<void(const std::string&, const Record&)>& f) const override {
    for (const auto& [key, record] : core_.records()) f(key, record);
  }
  size_t size() const override { return core_.records().size(); }
  void OnChange(std::function<void(const Change&)> f) override { on_change_ = std::move(f); }
  void OnState(std::function<void()> f) override { on_state_ = std::move(f); }

  const std::string& table() const { return table_; }
  const std::string& owner() const { return owner_; }
  ViewCore& core() { return core_; }
  const ViewCore& core() const { return core_; }

 private:
  void Report(const Change& change) {
    if (!on_change_) return;
    Span span("take " + table_, SpanKind::kConsumer, change.traceparent);
    if (!span.recorded()) return on_change_(change);
    span.Set("splitlet.key", change.key);
    Change traced = change;
    traced.traceparent = span.traceparent();
    on_change_(traced);
  }

  std::shared_ptr<Members> members_;
  const std::string table_, owner_;
  std::function<void(const Change&)> on_change_;
  std::function<void()> on_state_;
  ViewCore core_;
};

CoreBus::CoreBus(std::string process, exec::EventLoop& loop, const Clock& clock,
                 Transport& transport)
    : process_(std::move(process)),
      loop_(loop),
      clock_(clock),
      transport_(transport),
      members_(std::make_shared<Members>()) {
  members_->bus = this;
}

CoreBus::~CoreBus() {
  loop_.CancelTimer(timer_);
  members_->bus = nullptr;
}

StatusOr<std::unique_ptr<RawTable>> CoreBus::OwnRaw(const std::string& table) {
  const std::string owner = OwnerOf(table);
  if (!owner.empty() && owner != process_)
    return PermissionDenied("{} belongs to {}", table, owner);
  if (members_->table != nullptr)
    return AlreadyExists("{} owns {} already", process_, members_->table->name());
  // Two tables of one process need two start ids, even if the clock stands still.
  Clock::Time start = clock_.Now();
  if (last_start_.SameBoot(start) && start <= last_start_) start = last_start_ + Duration{1};
  last_start_ = start;
  auto owned =
      std::make_unique<OwnedTable>(members_, table, StartId{start.boot, start.monotonic.count()});
  owned->HeartbeatIfDue(clock_.Now());
  ArmBy(owned->next_heartbeat());
  return owned;
}

StatusOr<std::unique_ptr<RawView>> CoreBus::ViewRaw(const std::string& table,
                                                    const std::string& owner) {
  transport_.Subscribe(table);
  auto view = std::make_unique<OpenView>(members_, table, owner, clock_.Now());
  if (transport_.connected()) view->core().OnConnection(true, clock_.Now());
  // The caller sets its callbacks first; the loop has not run since.
  loop_.Post([members = std::weak_ptr<Members>(members_)] {
    if (const auto m = members.lock(); m != nullptr && m->bus != nullptr) m->bus->Tick();
  });
  return view;
}

void CoreBus::Signal(const std::string& signal, const std::string& payload) {
  if (FAIL_POINT_DROP("bus.signal.before")) return;
  transport_.PublishSignal(signal, payload);
}

void CoreBus::OnSignal(const std::string& process, const std::string& signal,
                       std::function<void(const std::string&)> f) {
  auto& listeners = signals_[{process, signal}];
  if (listeners.empty()) transport_.SubscribeSignal(process, signal);
  listeners.push_back(std::move(f));
}

void CoreBus::Publish(const std::string& table, const Envelope& envelope) {
  if (envelope.change) ++puts_.published;
  if (FAIL_POINT_DROP("bus.publish.before")) return;
  transport_.Publish(table, envelope);
  FAIL_POINT_VOID("bus.publish.after");
}

void CoreBus::TakeHeartbeats() {
  for (const auto& [table, heartbeat] : transport_.TakeHeartbeats()) {
    const auto views = members_->views;
    for (auto* view : views)
      if (view->table() == table) view->core().OnEnvelope(heartbeat, clock_.Now());
  }
}

void CoreBus::Tick() {
  TakeHeartbeats();
  if (members_->table != nullptr) {
    members_->table->HeartbeatIfDue(clock_.Now());
    ArmBy(members_->table->next_heartbeat());
  }
  const auto views = members_->views;
  for (auto* view : views) Pump(*view);
}

void CoreBus::ArmBy(Clock::Time due) {
  if (timer_ != 0 && timer_at_ <= due) return;
  loop_.CancelTimer(timer_);
  timer_at_ = due;
  timer_ = loop_.RunAfter(std::max(due - clock_.Now(), kShortestWait), [this] {
    timer_ = 0;
    Tick();
  });
}

void CoreBus::Pump(OpenView& view) {
  const auto request = view.core().NextList(clock_.Now());
  if (const auto due = view.core().NextDue()) ArmBy(*due);
  if (!request) return;
  auto listed = [members = std::weak_ptr<Members>(members_), view = &view,
                 id = request->id](const StatusOr<ListAnswer>& answer) {
    const auto m = members.lock();
    if (m == nullptr || m->bus == nullptr) return;
    m->bus->TakeHeartbeats();
    if (m->bus == nullptr || std::ranges::find(m->views, view) == m->views.end()) return;
    const auto now = m->bus->clock_.Now();
    if (answer.ok()) {
      view->core().OnListed(id, *answer, now);
    } else {
      view->core().OnListFailed(id, now);
    }
    m->bus->Pump(*view);
  };
  transport_.List(view.owner(), view.table(), request->since, std::move(listed));
}

void CoreBus::OnEnvelope(const std::string& table, const Envelope& envelope) {
  TakeHeartbeats();
  const auto views = members_->views;
  for (auto* view : views) {
    if (view->table() != table) continue;
    view->core().OnEnvelope(envelope, clock_.Now());
    Pump(*view);
  }
}

void CoreBus::OnSignalReceived(const std::string& process, const std::string& signal,
                               const std::string& payload) {
  const auto it = signals_.find({process, signal});
  if (it == signals_.end()) return;
  for (const auto& listener : it->second) listener(payload);
}

void CoreBus::OnConnection(bool connected) {
  // Readers that missed our last messages get the heartbeat now rather than a second later.
  if (connected && members_->table != nullptr) members_->table->HeartbeatNow();
  for (auto* view : members_->views) view->core().OnConnection(connected, clock_.Now());
  Tick();
}

void CoreBus::OnLost(const std::string& table) {
  for (auto* view : members_->views) {
    if (view->table() == table) view->core().OnLost();
  }
  Tick();
}

StatusOr<ListAnswer> CoreBus::ListTable(const std::string& table, const Since& since) const {
  if (members_->table == nullptr || members_->table->name() != table)
    return NotFound("{} does not own {}", process_, table);
  ListAnswer answer = members_->table->core().List(since);
  answer.sent_at = clock_.Now();
  return answer;
}

std::vector<ViewInfo> CoreBus::Views() const {
  std::vector<ViewInfo> infos;
  for (const auto& stats : Stats()) infos.push_back(stats.info);
  return infos;
}

std::vector<ViewStats> CoreBus::Stats() const {
  std::vector<ViewStats> all;
  for (const auto* view : members_->views) {
    const auto& core = view->core();
    ViewStats stats;
    stats.info = {view->table(), core.state(), core.records().size(), core.IsCompleteEverywhere()};
    stats.heard_at = core.heard_at();
    stats.counts = core.counts();
    all.push_back(stats);
  }
  return all;
}

}  // namespace splitlet::bus
