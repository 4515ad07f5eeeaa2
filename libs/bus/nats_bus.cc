#include "libs/bus/nats_bus.h"

#include <atomic>
#include <fstream>
#include <set>
#include <utility>

#include "libs/bus/bus_metrics.h"
#include "libs/bus/core_bus.h"
#include "libs/bus/list_client.h"
#include "libs/bus/nats_link.h"
#include "libs/bus/nats_trust.h"
#include "libs/bus/quiet_heartbeats.h"
#include "libs/bus/tables_service.h"
#include "libs/bus/wire.h"
#include "libs/exec/periodic.h"
#include "libs/rpc/rpc.h"

namespace splitlet::bus {
namespace {

constexpr size_t kMaxUntaken = 16384;  // messages posted to the loop and not taken yet
constexpr size_t kMaxUntakenBytes = 16u << 20;
constexpr Duration kMetricsPeriod = 1s;

class RealBus final : public NatsBus, private Transport {
 public:
  RealBus(NatsBusOptions options, LinkOptions link);
  ~RealBus() override;
  RealBus(const RealBus&) = delete;
  RealBus& operator=(const RealBus&) = delete;

  StatusOr<std::unique_ptr<RawTable>> OwnRaw(const std::string& table) override {
    return core_.OwnRaw(table);
  }
  StatusOr<std::unique_ptr<RawView>> ViewRaw(const std::string& table,
                                             const std::string& owner) override {
    return core_.ViewRaw(table, owner);
  }
  void Signal(const std::string& signal, const std::string& payload) override {
    core_.Signal(signal, payload);
  }
  void OnSignal(const std::string& process, const std::string& signal,
                std::function<void(const std::string&)> f) override {
    core_.OnSignal(process, signal, std::move(f));
  }
  bool connected() const override { return link_ != nullptr && link_->connected(); }
  std::vector<ViewInfo> Views() const override { return core_.Views(); }
  grpc::Service& TablesService() override { return tables_; }

 private:
  void Publish(const std::string& table, const Envelope& envelope) override;
  void Subscribe(const std::string& table) override;
  void List(const std::string& owner, const std::string& table, const Since& since,
            Listed listed) override;
  void PublishSignal(const std::string& signal, const std::string& payload) override;
  QuietHeartbeats::Kept TakeHeartbeats() override { return quiet_.Take(); }
  void SubscribeSignal(const std::string& process, const std::string& signal) override;

  // On threads of the library.
  void OnMessage(std::string_view subject, std::string_view bytes);
  void OnTableMessage(const std::string& table, std::string_view bytes);
  void OnSignalMessage(const std::string& rest, std::string_view bytes);
  void OnError(LinkError kind, const std::string& text);
  void Count(NatsLink::Taken taken);
  void PostLost();
  /// False: the loop is behind, and will never get the task.
  bool PostBounded(size_t bytes, exec::Task task);
  /// Runs on the loop, unless this bus is gone by then.
  void Post(exec::Task task);
  void ObserveLag(const std::string& table, const Envelope& heartbeat);

  const NatsBusOptions options_;
  const std::string prefix_;  // "splitlet.<node>."
  BusMetrics metrics_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::atomic<size_t> untaken_ = 0, untaken_bytes_ = 0;
  std::atomic<bool> lost_posted_ = false;
  std::set<std::string> logged_errors_;  // loop
  QuietHeartbeats quiet_;
  CoreBus core_;
  class TablesService tables_;
  exec::Periodic update_metrics_;
  std::unique_ptr<NatsLink> link_;  // nullptr: no NATS
  ListClient lists_;
};

ListClient::Connect ConnectOf(const NatsBusOptions& options) {
  if (options.connect) return options.connect;
  return [dir = options.run_dir](const std::string& process) {
    return rpc::Connect(rpc::SocketPath(dir, process));
  };
}

RealBus::RealBus(NatsBusOptions options, LinkOptions link)
    : options_(std::move(options)),
      prefix_(Subject(options_.node_name, "")),
      metrics_(options_.metrics),
      core_(options_.process, options_.loop, options_.clock, *this),
      tables_(options_.loop,
              [this, alive = std::weak_ptr<int>(alive_)](
                  const std::string& table, const Since& since) -> StatusOr<ListAnswer> {
                if (alive.expired()) return Unavailable("the process ends");
                return core_.ListTable(table, since);
              }),
      update_metrics_(options_.loop, kMetricsPeriod,
                      [this] {
                        core_.TakeHeartbeats();
                        metrics_.Update(core_.Stats(), core_.puts(), options_.clock.Now());
                      }),
      lists_(ConnectOf(options_), options_.clock) {
  if (link.url.empty()) return;
  LinkEvents events;
  events.message = [this](std::string_view subject, std::string_view bytes) {
    OnMessage(subject, bytes);
  };
  events.connection = [this](bool up) {
    quiet_.Forget();
    Post([this, up] {
      options_.log.Info(up ? "connected to NATS" : "connection to NATS lost, reconnecting");
      if (up) logged_errors_.clear();
      core_.OnConnection(up);
    });
  };
  events.error = [this](LinkError kind, const std::string& text) { OnError(kind, text); };
  events.lost = [this] { PostLost(); };
  link_ = std::make_unique<NatsLink>(std::move(link), std::move(events), options_.clock);
}

RealBus::~RealBus() { link_.reset(); }

void RealBus::Publish(const std::string& table, const Envelope& envelope) {
  if (link_ != nullptr) Count(link_->Publish(prefix_ + table, EncodeEnvelope(envelope)));
}

void RealBus::PublishSignal(const std::string& signal, const std::string& payload) {
  if (link_ != nullptr) Count(link_->Publish(prefix_ + options_.process + "." + signal, payload));
}

void RealBus::Count(NatsLink::Taken taken) {
  switch (taken) {
    case NatsLink::Taken::kQueued: return;
    case NatsLink::Taken::kAway: metrics_.dropped_away.Increment(); return;
    case NatsLink::Taken::kFull: metrics_.dropped_full.Increment(); return;
  }
}

void RealBus::Subscribe(const std::string& table) {
  if (link_ != nullptr) link_->Subscribe(prefix_ + table);
}

void RealBus::SubscribeSignal(const std::string& process, const std::string& signal) {
  if (link_ != nullptr) link_->Subscribe(prefix_ + process + "." + signal);
}

void RealBus::List(const std::string& owner, const std::string& table, const Since& since,
                   Listed listed) {
  lists_.List(owner, table, since, [this, listed = std::move(listed)](StatusOr<ListAnswer> answer) {
    Post([listed, answer = std::move(answer)]() mutable { listed(std::move(answer)); });
  });
}

void RealBus::Post(exec::Task task) {
  options_.loop.Post([alive = std::weak_ptr<int>(alive_), task = std::move(task)] {
    if (!alive.expired()) task();
  });
}

bool RealBus::PostBounded(size_t bytes, exec::Task task) {
  if (untaken_ >= kMaxUntaken || untaken_bytes_ + bytes > kMaxUntakenBytes) {
    metrics_.overflows.Increment();
    PostLost();
    return false;
  }
  ++untaken_;
  untaken_bytes_ += bytes;
  Post([this, bytes, task = std::move(task)] {
    --untaken_;
    untaken_bytes_ -= bytes;
    task();
  });
  return true;
}

void RealBus::PostLost() {
  quiet_.Forget();
  if (lost_posted_.exchange(true)) return;
  Post([this] {
    lost_posted_ = false;
    for (const auto& view : core_.Views()) core_.OnLost(view.table);
  });
}

void RealBus::OnMessage(std::string_view subject, std::string_view bytes) {
  if (!subject.starts_with(prefix_)) return;
  const std::string rest(subject.substr(prefix_.size()));
  if (rest.find('.') == std::string::npos) {
    OnTableMessage(rest, bytes);
  } else {
    OnSignalMessage(rest, bytes);
  }
}

void RealBus::OnTableMessage(const std::string& table, std::string_view bytes) {
  auto envelope = DecodeEnvelope(bytes);
  if (!envelope.ok()) {
    metrics_.undecodable.Increment();
    return;
  }
  if (quiet_.Keep(table, *envelope)) return ObserveLag(table, *envelope);
  const bool posted = PostBounded(bytes.size(), [this, table, envelope = *std::move(envelope)] {
    quiet_.Taken(table);
    if (!envelope.change) ObserveLag(table, envelope);
    core_.OnEnvelope(table, envelope);
  });
  if (!posted) quiet_.Taken(table);
}

void RealBus::OnSignalMessage(const std::string& rest, std::string_view bytes) {
  const size_t dot = rest.find('.');
  PostBounded(bytes.size(),
              [this, process = rest.substr(0, dot), signal = rest.substr(dot + 1),
               payload = std::string(bytes)] { core_.OnSignalReceived(process, signal, payload); });
}

void RealBus::ObserveLag(const std::string& table, const Envelope& heartbeat) {
  const auto now = options_.clock.Now();
  if (heartbeat.sent_at.SameBoot(now)) metrics_.ObserveLag(table, now - heartbeat.sent_at);
}

void RealBus::OnError(LinkError kind, const std::string& text) {
  (kind == LinkError::kRefused ? metrics_.permission_errors : metrics_.errors).Increment();
  Post([this, kind, text] {
    if (!logged_errors_.insert(text).second) return;
    const std::vector<LogField> fields = {KV("err", text)};
    switch (kind) {
      case LinkError::kOther:
        options_.log.Warn("the bus reported an error, the client continues", fields);
        return;
      case LinkError::kRefused: options_.log.Error("NATS refuses this process", fields); return;
      case LinkError::kUntrusted:
        options_.log.Error("certificate of the NATS server is not trusted", fields);
        return;
    }
  });
}

Status ReadCredentials(const std::string& path, LinkOptions& link) {
  std::ifstream file(path);
  if (!std::getline(file, link.user) || !std::getline(file, link.password))
    return InvalidArgument("{}: not readable, or without user and password on a line each", path);
  return OkStatus();
}

/// Checks early what the link would meet later and repeat for ever.
Status CheckTrust(const NatsBusOptions& options) {
  if (options.nats_ca.empty() && !options.nats_plaintext)
    return InvalidArgument("there is none, and the bus is spoken to over TLS");
  natsOptions* raw = nullptr;
  if (natsOptions_Create(&raw) != NATS_OK) return ResourceExhausted("no memory for libnats");
  const NatsOptions made(raw);
  return SetTrust(*raw, options.nats_url, options.nats_ca);
}

}  // namespace

StatusOr<std::unique_ptr<NatsBus>> ConnectBus(NatsBusOptions options) {
  LinkOptions link;
  link.url = options.nats_url;
  link.name = options.process;
  link.ca_file = options.nats_ca;
  if (!options.nats_creds.empty())
    RETURN_IF_ERROR(ReadCredentials(options.nats_creds, link), "bus credentials");
  if (!link.url.empty()) RETURN_IF_ERROR(CheckTrust(options), "--nats-ca");
  return std::unique_ptr<NatsBus>(std::make_unique<RealBus>(std::move(options), std::move(link)));
}

}  // namespace splitlet::bus
