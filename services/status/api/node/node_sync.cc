#include "services/status/api/node/node_sync.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/fail_point.h"
#include "libs/bus/names.h"
#include "libs/daemon/event_record.h"
#include "services/status/api/heartbeat_retry.h"
#include "services/status/api/node/node_patch.h"
#include "services/status/api/node/node_volumes.h"
#include "services/status/api/node/report_plan.h"

namespace splitlet::status {
namespace {

namespace core = k8s::io::api::core::v1;

constexpr const char* kStrand = "api/node";
constexpr double kPeriodJitter = 0.04;
constexpr Duration kObservationWait = std::chrono::milliseconds{100};  // until the machine is read
constexpr Duration kImagesPeriod = std::chrono::seconds{30};
constexpr Duration kImagesTimeout = std::chrono::seconds{10};
/// How long after the start the server's Ready stands while the runtime could not be asked.
constexpr Duration kReadinessWait = std::chrono::seconds{30};
constexpr uint64_t kMaxProcFile = 1 << 20;

int64_t ReadSwapBytes(fs::FileSystem& files) {
  const auto text = files.Read("/proc/meminfo", kMaxProcFile);
  if (!text.ok()) return 0;
  std::istringstream in(*text);
  std::string name, rest;
  int64_t kib = 0;
  while (in >> name >> kib) {
    std::getline(in, rest);
    if (name == "SwapTotal:") return kib * 1024;
  }
  return 0;
}

}  // namespace

/// A report on the strand, with copies of all that it needs.
struct NodeSync::Report {
  const Clock& clock;
  std::shared_ptr<apiclient::Client> client;
  std::shared_ptr<CancelToken> stop;
  HeartbeatRetry retry;
  const NodeSettings& settings;
  Duration timeout;
  NodeObservation observed;
  std::shared_ptr<const kube::Node> known;  // null: read the node first
  bool due = false;                         // report even if nothing has changed
  bool may_read_cache = true;               // the first read may return an old version
  Unkept unkept;                            // fields that this server drops

  Deadline NextDeadline() const {
    auto deadline = After(clock, timeout);
    deadline.cancel = stop;
    return deadline;
  }
  Status Once(bool first, Reported& result) const;
  Reported Run() const;
};

struct NodeSync::Reported {
  Status status;
  std::shared_ptr<const kube::Node> node;  // as the server has it after the report
  std::string boot_id_before;
  bool patched = false, changed = false;
  bool is_current = false;  // `node` is the newest version of this time
  Unkept unkept;
};

Status NodeSync::Report::Once(bool first, Reported& result) const {
  const std::string path = NodePath(settings.name);
  auto before = first ? known : nullptr;
  if (before == nullptr) {
    auto read = std::make_shared<kube::Node>();
    // The first read takes any version, so that the server answers from its cache.
    const bool reads_cache = first && may_read_cache;
    RETURN_IF_ERROR(
        client->Get(reads_cache ? path + "?resourceVersion=0" : path, read.get(), NextDeadline()),
        "get node");
    before = std::move(read);
    result.is_current = !reads_cache;
  }
  kube::Node after = *before;
  UpdateNode(settings, observed, after);
  const kube::Node all = after;
  unkept.LeaveAsIn(*before, after);
  NodePatch patch = MakeNodePatch(*before, after);
  result.changed = patch.changed;
  result.unkept = unkept;
  result.node = before;
  result.boot_id_before = before->status().node_info().boot_id();
  if (patch.json.empty() || (!patch.changed && !due)) return OkStatus();
  // The server may have been upgraded, and keep more fields now.
  if (due) patch = MakeNodePatch(*before, all);
  auto patched = std::make_shared<kube::Node>();
  FAIL_POINT("status.patch-node.before");
  RETURN_IF_ERROR(
      client->Patch(path + "/status", {apiclient::PatchType::kStrategicMerge, patch.json},
                    patched.get(), NextDeadline()),
      "patch status");
  FAIL_POINT("status.patch-node.after");
  result.unkept = due ? Unkept::In(all, *patched) : unkept | Unkept::In(after, *patched);
  result.node = std::move(patched);
  result.patched = result.is_current = true;
  return OkStatus();
}

NodeSync::Reported NodeSync::Report::Run() const {
  Reported result;
  for (int done = 1;; ++done) {
    result.status = Once(done == 1, result);
    if (result.status.ok() || !retry.WaitForNext(done, result.status)) break;
  }
  return result;
}

NodeSync::NodeSync(Deps deps, const StatusConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      client_(std::make_shared<apiclient::Client>(deps_.env.clock, deps_.transport, deps_.client)),
      stop_(std::make_shared<CancelToken>()),
      random_(config.seed),
      asker_(deps_.env.loop, deps_.env.strands) {}

NodeSync::~NodeSync() {
  for (const auto timer : {timer_, images_timer_})
    if (timer != 0) deps_.env.loop.CancelTimer(timer);
}

void NodeSync::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  started_ = deps_.env.clock.Now();
  RecordEvent(false, "Starting", "Starting kubelet.");
  ReadMachine();
  AskForImages();
  StartWatch();
  Schedule(config_.register_node ? registration_.wait : Duration{0});
}

void NodeSync::BeginStop() {
  stop_->Cancel();
  watch_.reset();
}

void NodeSync::StartWatch() {
  watch_ = std::make_unique<apiclient::Reflector>(
      apiclient::Reflector::Deps{.clock = deps_.env.clock,
                                 .loop = deps_.env.loop,
                                 .strands = deps_.env.strands,
                                 .transport = deps_.transport,
                                 .random = random_,
                                 .log = deps_.env.log,
                                 .metrics = deps_.client.metrics},
      apiclient::Reflector::Options{.path = kNodesPath,
                                    .field_selector = "metadata.name=" + config_.node.name,
                                    .item = &core::Node::default_instance(),
                                    .list = &core::NodeList::default_instance(),
                                    .strand = "api/node-watch"},
      apiclient::Reflector::Callbacks{.on_list = [this](const auto& objects) { OnListed(objects); },
                                      .on_event =
                                          [this](apiclient::Reflector::Event event,
                                                 const apiclient::Reflector::Object& object) {
                                            if (event == apiclient::Reflector::Event::kDeleted) {
                                              server_.deleted = true;
                                              return;
                                            }
                                            OnNode(
                                                std::static_pointer_cast<const kube::Node>(object));
                                          },
                                      .on_sync = [](const Status&) {}});
  watch_->Start();
}

void NodeSync::ReadMachine() {
  const auto read = [&files = deps_.files, devices = config_.root_dir + "/device-plugins"] {
    MachineInfo observed{.system = node::ReadSystemInfo(files), .swap_bytes = ReadSwapBytes(files)};
    const auto entries = files.List(devices);
    observed.devices_known = entries.ok() && std::ranges::any_of(*entries, [](const auto& entry) {
                               return entry.name.ends_with("_internal_checkpoint");
                             });
    return observed;
  };
  asker_.Ask(kStrand, read, [this](const MachineInfo& observed) { machine_ = observed; });
}

void NodeSync::AskForImages() {
  if (deps_.images == nullptr || config_.node.max_images == 0) return;
  const auto limit = static_cast<uint32_t>(std::max(config_.node.max_images, 0));
  asker_.Ask(
      "api/images",
      [&lister = *deps_.images, limit, deadline = After(deps_.env.clock, kImagesTimeout)] {
        return lister.List(limit, deadline);
      },
      [this](const StatusOr<std::vector<peers::NodeImage>>& images) {
        if (images.ok()) images_ = *images;
        images_timer_ = deps_.env.loop.RunAfter(kImagesPeriod, [this] {
          images_timer_ = 0;
          AskForImages();
        });
      });
}

void NodeSync::Schedule(Duration delay) {
  if (timer_ != 0) deps_.env.loop.CancelTimer(timer_);
  timer_at_ = deps_.env.clock.Now() + delay;
  timer_ = deps_.env.loop.RunAfter(delay, [this] {
    timer_ = 0;
    OnTimer();
  });
}

void NodeSync::ScheduleWithin(Duration delay) {
  if (timer_ == 0 || deps_.env.clock.Now() + delay < timer_at_) Schedule(delay);
}

std::optional<Duration> NodeSync::SinceLastRound() const {
  if (!last_round_) return std::nullopt;
  return deps_.env.clock.Now() - last_round_;
}

void NodeSync::Kick() { KickAfter(KickDelay(SinceLastRound(), server_.was_ready)); }

void NodeSync::OnVolumes() {
  if (AreVolumesUnreported()) KickAfter(VolumesDelay(SinceLastRound()));
}

bool NodeSync::AreVolumesUnreported() const {
  const auto wanted = deps_.volumes_in_use();
  if (!wanted || server_.node == nullptr) return false;
  return *wanted != ShownVolumesInUse(*server_.node) || (!wanted->empty() && !server_.current);
}

std::vector<std::string> NodeSync::ReportedVolumes() const {
  if (server_.node == nullptr || !server_.current) return {};
  return ShownVolumesInUse(*server_.node);
}

void NodeSync::KickAfter(Duration delay) {
  if (!started_ || (config_.register_node && !registration_.done)) return;
  if (round_ != Round::kNone) {
    round_ = Round::kRunsOnceMore;
    return;
  }
  ScheduleWithin(delay);
}

void NodeSync::OnTimer() {
  if (round_ != Round::kNone) return;
  const auto observed = Gather();
  if (!observed) {
    Schedule(kObservationWait);
    return;
  }
  round_ = Round::kRuns;
  last_round_ = deps_.env.clock.Now();
  if (config_.register_node && !registration_.done) {
    RegisterSoon(*observed);
  } else {
    ReportSoon(*observed);
  }
}

std::optional<NodeObservation> NodeSync::Gather() const {
  const auto record = deps_.table.Get(bus::kNodeKey);
  if (record == nullptr || !machine_) return std::nullopt;
  NodeObservation observed{.record = record->node(),
                           .system = machine_->system,
                           .swap_bytes = machine_->swap_bytes,
                           .images = images_,
                           .volumes_in_use = deps_.volumes_in_use(),
                           .now = deps_.env.clock.WallNow()};
  const auto& runtime = deps_.runtime;
  if (!runtime.name.empty()) observed.runtime_version = runtime.name + "://" + runtime.version;
  observed.readiness_unknown = !runtime.known && deps_.env.clock.Now() - started_ < kReadinessWait;
  return observed;
}

void NodeSync::RegisterSoon(const NodeObservation& observed) {
  if (!registration_.started) registration_.started = deps_.env.clock.Now();
  asker_.Ask(
      kStrand,
      [client = client_, stop = stop_, &clock = deps_.env.clock,
       initial = MakeInitialNode(config_.node, observed), timeout = config_.api_timeout,
       reset_extended = !machine_->devices_known] {
        return RegisterNode({.clock = clock,
                             .client = *client,
                             .timeout = timeout,
                             .stop = stop,
                             .reset_extended = reset_extended},
                            initial);
      },
      [this](const StatusOr<Registered>& registered) { OnRegistered(registered); });
}

void NodeSync::OnRegistered(const StatusOr<Registered>& registered) {
  EndRound();
  deps_.metrics.registrations.Add({{"result", registered.ok() ? "ok" : "error"}}).Increment();
  if (!registered.ok()) {
    LogFailure("cannot register the node, will retry", registered.status());
    registration_.wait = RegisterWait(registration_.wait);
    Schedule(registration_.wait);
    return;
  }
  registration_.done = true;
  logged_error_.clear();
  deps_.env.log.Info(
      registered->created ? "node registered" : "node was registered before, updated it",
      {KV("node", config_.node.name)});
  if (registered->created) reports_.last = registration_.created = deps_.env.clock.Now();
  if (registered->created)
    for (const auto& reason : EventsOfNewNode(*registered->node))
      RecordEvent(false, reason.c_str(), "Node " + config_.node.name + " status is now: " + reason);
  server_.current = true;
  OnNode(registered->node);
  Schedule(Duration{0});
}

void NodeSync::ReportSoon(const NodeObservation& observed) {
  const bool due = IsReportDue(reports_.last, deps_.env.clock.Now(),
                               config_.status_report_frequency + reports_.delay);
  const bool needs_current =
      !server_.current && observed.volumes_in_use && !observed.volumes_in_use->empty();
  Report report{.clock = deps_.env.clock,
                .client = client_,
                .stop = stop_,
                .retry = {deps_.env.clock, deps_.client.wait, stop_},
                .settings = config_.node,
                .timeout = config_.api_timeout,
                .observed = observed,
                .known = server_.deleted || needs_current ? nullptr : server_.node,
                .due = due,
                .may_read_cache = !needs_current,
                .unkept = reports_.unkept};
  asker_.Ask(
      kStrand, [report = std::move(report)] { return report.Run(); },
      [this](const Reported& reported) { OnReported(reported); });
}

void NodeSync::OnReported(const Reported& reported) {
  const bool kicked = EndRound();
  const char* result = !reported.status.ok() ? "error" : reported.patched ? "sent" : "unchanged";
  deps_.metrics.reports.Add({{"result", result}}).Increment();
  if (reported.status.ok()) {
    logged_error_.clear();
    const bool first = !reports_.last;
    if (reported.patched) {
      reports_.delay = Duration{0};
      if (reported.changed || first)
        reports_.delay = ReportDelay(config_.status_report_frequency, random_.Unit());
      reports_.last = deps_.env.clock.Now();
    }
    ReportReboot(reported.boot_id_before);
    if (reported.patched) server_.deleted = false;
    reports_.unkept = reported.unkept;
    server_.current = server_.current || reported.is_current;
    OnNode(reported.node);
  } else {
    LogFailure("cannot report the node, will retry", reported.status);
  }
  if (kicked) {
    Schedule(AreVolumesUnreported() ? VolumesDelay(Duration{0}) : KickWait(server_.was_ready));
  } else {
    Schedule(random_.Jitter(config_.status_update_frequency, kPeriodJitter));
  }
}

void NodeSync::LogFailure(const char* message, const Status& status) {
  if (IsAwaited(status)) return;
  std::string error = std::string(message) + ToString(status);
  if (error != logged_error_)
    deps_.env.log.Error(message, {KV("node", config_.node.name), KV("err", status)});
  logged_error_ = std::move(error);
}

void NodeSync::ReportReboot(const std::string& boot_id_before) {
  const auto& boot_id = machine_->system.boot_id;
  if (reboot_reported_ || boot_id.empty() || boot_id_before.empty() || boot_id_before == boot_id)
    return;
  reboot_reported_ = true;
  RecordEvent(true, "Rebooted",
              "Node " + config_.node.name + " has been rebooted, boot id: " + boot_id);
}

void NodeSync::ReportSchedulable(const kube::Node& node) {
  if (unschedulable_ == node.spec().unschedulable()) return;
  unschedulable_ = node.spec().unschedulable();
  const char* reason = unschedulable_ ? "NodeNotSchedulable" : "NodeSchedulable";
  RecordEvent(false, reason,
              "Node " + config_.node.name + " status is now: " + std::string(reason));
}

/// An empty list may have started before the node was created, and is ignored. The first list may
/// come from a cache that is behind. A later list with an older version shows that the server was
/// restored.
void NodeSync::OnListed(const std::vector<apiclient::Reflector::Object>& objects) {
  const bool is_first = !std::exchange(server_.listed, true);
  for (const auto& object : objects) {
    auto node = std::static_pointer_cast<const kube::Node>(object);
    if (is_first) {
      OnNode(std::move(node));
    } else if (node->metadata().name() == config_.node.name) {
      if (server_.node != nullptr && IsOlder(*node, *server_.node)) server_.current = false;
      SetNode(std::move(node));
    }
  }
}

void NodeSync::OnNode(std::shared_ptr<const kube::Node> node) {
  if (node->metadata().name() != config_.node.name) return;
  if (server_.node != nullptr && IsOlder(*node, *server_.node)) return;
  SetNode(std::move(node));
}

void NodeSync::SetNode(std::shared_ptr<const kube::Node> node) {
  const bool another =
      server_.node != nullptr && server_.node->metadata().uid() != node->metadata().uid();
  if (another) {
    server_.deleted = false;
    reports_.unkept = {};
  }
  server_.node = std::move(node);
  deps_.metrics.registered.Set(1);
  ReportSchedulable(*server_.node);
  CheckReady();
  deps_.on_node(*server_.node);
  if (another) OnVolumes();
}

/// Sets the metrics of a node start once, and only for a Node that this process has created.
void NodeSync::CheckReady() {
  const bool ready = IsNodeReady(*server_.node);
  server_.was_ready = server_.was_ready || ready;
  if (!registration_.created || !ready) return;
  const auto seconds = [](Duration duration) {
    return std::chrono::duration<double>(duration).count();
  };
  const auto now = deps_.env.clock.Now();
  deps_.metrics.startup.Set(seconds(now.monotonic));  // time since the boot
  deps_.metrics.before_process.Set(seconds(started_.monotonic));
  deps_.metrics.before_registration.Set(seconds(registration_.started - started_));
  deps_.metrics.registration.Set(seconds(registration_.created - registration_.started));
  deps_.metrics.after_registration.Set(seconds(now - registration_.created));
  registration_.created = {};
}

void NodeSync::RecordEvent(bool warning, const char* reason, std::string message) {
  deps_.record_events({daemon::RecordOf(daemon::NodeEvent(
      config_.node.name, {.reason = reason, .message = std::move(message), .warning = warning}))});
}

}  // namespace splitlet::status
