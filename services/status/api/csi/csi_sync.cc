#include "services/status/api/csi/csi_sync.h"

#include <utility>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/text.h"
#include "services/status/api/csi/csi_objects.h"
#include "services/status/api/node/report_plan.h"

namespace splitlet::status {
namespace {

constexpr const char* kCsiStrand = "api/csi";
constexpr double kCsiWaitJitter = 0.1;

}  // namespace

struct CsiSync::Result {
  Status ensured;             // of the CSINode as such
  std::string node_uid;       // whose CSINode it is
  bool created = false;       // before the drivers were written
  bool created_late = false;  // a driver that was written before may be lost
  std::string deleted_text;   // why an earlier CSINode was deleted; empty: none was
  std::vector<CsiWritten> written;
  std::vector<std::pair<std::string, Status>> removed;
};

/// A round on the strand, with copies of all that it needs.
class CsiSync::Round {
 public:
  Round(CsiObjects::Deps deps, CsiSteps steps) : deps_(std::move(deps)), steps_(std::move(steps)) {}
  Result Run() const {
    CsiObjects objects(deps_);
    Result result{.ensured = objects.Ensure()};
    result.created = objects.creations() > 0;
    const int creations = objects.creations();
    if (result.ensured.ok()) {
      for (const auto& write : steps_.writes) result.written.push_back(objects.WriteDriver(write));
      for (const auto& name : steps_.removals)
        result.removed.emplace_back(name, objects.RemoveDriver(name));
    }
    result.node_uid = objects.node_uid();
    result.created_late = objects.creations() > creations;
    result.deleted_text = objects.deleted_text();
    return result;
  }

 private:
  const CsiObjects::Deps deps_;
  const CsiSteps steps_;
};

CsiSync::CsiSync(Deps deps, const StatusConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      client_(std::make_shared<apiclient::Client>(deps_.env.clock, deps_.transport, deps_.client)),
      stop_(std::make_shared<CancelToken>()),
      random_(config.seed + 2),
      asker_(deps_.env.loop, deps_.env.strands) {}

CsiSync::~CsiSync() {
  if (timer_ != 0) deps_.env.loop.CancelTimer(timer_);
}

void CsiSync::BeginStop() { stop_->Cancel(); }

void CsiSync::OnNode(const kube::Node& node) {
  const std::string& uid = node.metadata().uid();
  if (uid == known_.node_uid) return;
  if (known_.node_uid.empty()) {
    if (IsNodeReady(node)) known_.ready_at_start = uid;
  } else {
    registrations_.OnNewObjects();
  }
  known_.node_uid = uid;
  SyncSoon();
}

void CsiSync::OnWorkerNode(Clock::Time worker_start, const v1::WorkerNode& worker) {
  registrations_.OnReported(worker_start, worker);
  CountDrivers();
  SyncSoon();
}

void CsiSync::SyncSoon() {
  if (known_.node_uid.empty() || running_ || timer_ != 0 || stop_->cancelled()) return;
  CsiSteps steps = registrations_.Steps();
  if (known_.initialised_for == known_.node_uid && steps.empty()) return;
  running_ = true;
  Round round({.clock = deps_.env.clock,
               .client = client_,
               .stop = stop_,
               .node_name = config_.node.name,
               .timeout = config_.api_timeout},
              std::move(steps));
  asker_.Ask(
      kCsiStrand, [round = std::move(round)] { return round.Run(); },
      [this](const Result& result) { OnRound(result); });
}

void CsiSync::OnRound(const Result& result) {
  running_ = false;
  const Status status = TakeResults(result);
  deps_.metrics.csi_rounds.Add({{"result", status.ok() ? "ok" : "error"}}).Increment();
  CountDrivers();
  deps_.on_change();
  if (status.ok()) {
    wait_ = Duration{0};
    logged_error_.clear();
    return SyncSoon();
  }
  std::string error = ToString(status);
  if (error != logged_error_ && !IsAwaited(status))
    deps_.env.log.Error("cannot write the CSINode or a CSI driver, will retry",
                        {KV("node", config_.node.name), KV("err", status)});
  logged_error_ = std::move(error);
  wait_ = CsiRetryWait(wait_);
  timer_ = deps_.env.loop.RunAfter(random_.Jitter(wait_, kCsiWaitJitter), [this] {
    timer_ = 0;
    SyncSoon();
  });
}

/// The error that another round may mend.
Status CsiSync::TakeResults(const Result& result) {
  if (!result.deleted_text.empty())
    deps_.env.log.Info("deleted the CSINode of an earlier Node",
                       {KV("node", config_.node.name), KV("reason", result.deleted_text)});
  if (result.created) registrations_.OnNewObjects();
  if (!result.ensured.ok()) {
    ++known_.failures;
    known_.last_error = result.ensured;
    return result.ensured;
  }
  known_.failures = 0;
  known_.initialised_for = result.node_uid;
  const Status status = TakeDrivers(result);
  if (result.created_late) registrations_.OnNewObjects();
  if (status.ok() && result.node_uid != known_.node_uid)
    return Awaited(Unavailable("the watch does not show the new Node yet"));
  return status;
}

/// The first error of a driver.
Status CsiSync::TakeDrivers(const Result& result) {
  Status first;
  for (const auto& written : result.written) {
    if (registrations_.OnWritten(written)) {
      deps_.env.log.Error("cannot register a CSI driver, will wait for its next registration",
                          {KV("driver", ToText(written.driver.name())), KV("err", written.status)});
    } else if (first.ok() && !written.refused) {
      first = written.status;
    }
  }
  for (const auto& [driver, status] : result.removed) {
    registrations_.OnRemoved(driver, status);
    if (first.ok()) first = status;
  }
  return first;
}

void CsiSync::CountDrivers() {
  using State = CsiRegistrations::State;
  const auto count = [&](const char* state, State which) {
    deps_.metrics.csi_drivers.Add({{"state", state}})
        .Set(static_cast<double>(registrations_.Count(which)));
  };
  count("waiting", State::kWaiting);
  count("written", State::kWritten);
  count("refused", State::kRefused);
}

}  // namespace splitlet::status
