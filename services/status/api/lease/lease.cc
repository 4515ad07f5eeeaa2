#include "services/status/api/lease/lease.h"

#include <utility>

#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/fail_point.h"
#include "services/status/api/heartbeat_retry.h"
#include "services/status/api/lease/lease_plan.h"
#include "services/status/api/paths.h"

namespace splitlet::status {
namespace {

constexpr const char* kLeaseStrand = "api/lease";
constexpr const char* kNamespace = "kube-node-lease";
constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
constexpr const char* kApiVersion = "coordination.k8s.io/v1";
constexpr double kRenewalJitter = 0.04;

}  // namespace

/// A round on the strand, with copies of all that it needs.
struct NodeLease::Round {
  const Clock& clock;
  std::shared_ptr<apiclient::Client> client;
  std::shared_ptr<CancelToken> stop;
  HeartbeatRetry retry;
  std::string node;
  int32_t duration_seconds = 0;
  Duration timeout{0};
  std::shared_ptr<const Lease> held;

  Renewed Run() const;

 private:
  std::string Path() const { return std::string(kLeasesPath) + "/" + apiclient::Escaped(node); }
  Deadline NextDeadline() const {
    auto deadline = After(clock, timeout);
    deadline.cancel = stop;
    return deadline;
  }
  StatusOr<std::shared_ptr<const Lease>> Read() const;
  StatusOr<std::shared_ptr<const Lease>> Create(const Lease& lease) const;
  StatusOr<std::shared_ptr<const Lease>> Update(std::shared_ptr<const Lease> lease) const;
  void SetTimes(Lease& lease) const;
  Status SetOwner(Lease& lease) const;
};

struct NodeLease::Renewed {
  Status status;
  std::shared_ptr<const Lease> lease;  // null: could not be read or created
  bool waits_for_node = false;
};

void NodeLease::Round::SetTimes(Lease& lease) const {
  auto& spec = *lease.mutable_spec();
  spec.set_lease_duration_seconds(duration_seconds);
  const int64_t micros =
      std::chrono::floor<std::chrono::microseconds>(clock.WallNow()).time_since_epoch().count();
  spec.mutable_renew_time()->set_seconds(micros / 1'000'000);
  spec.mutable_renew_time()->set_nanos(static_cast<int32_t>(micros % 1'000'000) * 1000);
}

/// The owner reference lets the garbage collector delete the lease with its node.
Status NodeLease::Round::SetOwner(Lease& lease) const {
  if (lease.metadata().owner_references_size() > 0) return OkStatus();
  k8s::io::api::core::v1::Node owner;
  RETURN_IF_ERROR(client->Get(NodePath(node), &owner, NextDeadline()), "get node");
  auto& reference = *lease.mutable_metadata()->add_owner_references();
  reference.set_api_version("v1");
  reference.set_kind("Node");
  reference.set_name(node);
  reference.set_uid(owner.metadata().uid());
  return OkStatus();
}

StatusOr<std::shared_ptr<const NodeLease::Lease>> NodeLease::Round::Read() const {
  auto lease = std::make_shared<Lease>();
  RETURN_IF_ERROR(client->Get(Path(), lease.get(), NextDeadline()), "get lease");
  return std::shared_ptr<const Lease>(std::move(lease));
}

StatusOr<std::shared_ptr<const NodeLease::Lease>> NodeLease::Round::Create(
    const Lease& lease) const {
  auto made = std::make_shared<Lease>();
  FAIL_POINT("status.create-lease.before");
  RETURN_IF_ERROR(
      client->Create(kLeasesPath, {kApiVersion, "Lease", lease}, made.get(), NextDeadline()),
      "create lease");
  FAIL_POINT("status.create-lease.after");
  return std::shared_ptr<const Lease>(std::move(made));
}

/// After a conflict the newer version is read; after any other error the call is repeated.
StatusOr<std::shared_ptr<const NodeLease::Lease>> NodeLease::Round::Update(
    std::shared_ptr<const Lease> lease) const {
  Status last = Cancelled("stopping");
  for (int done = 1; !stop->cancelled(); ++done) {
    Lease next = *lease;
    SetTimes(next);
    // A renewal does not wait for the owner; a later renewal can set it.
    if (!SetOwner(next).ok()) next.mutable_metadata()->clear_owner_references();
    auto updated = std::make_shared<Lease>();
    FAIL_POINT("status.renew-lease.before");
    last = client->Update(Path(), {kApiVersion, "Lease", next}, updated.get(), NextDeadline());
    FAIL_POINT("status.renew-lease.after");
    if (last.ok()) return std::shared_ptr<const Lease>(std::move(updated));
    const AfterUpdate after = AfterFailedUpdate(last);
    if (after == AfterUpdate::kReadOrCreate) break;
    if (after == AfterUpdate::kReadNewer)
      if (auto newer = Read(); newer.ok()) lease = *std::move(newer);
    if (!retry.WaitForNext(done, last)) break;
  }
  return Annotate(last, "update lease");
}

NodeLease::Renewed NodeLease::Round::Run() const {
  if (held != nullptr) {
    auto renewed = Update(held);
    if (renewed.ok()) return {.lease = *std::move(renewed)};
    if (KeepsLease(renewed.status())) return {.status = renewed.status(), .lease = held};
  }
  auto lease = Read();
  if (lease.status().code() == StatusCode::kNotFound) {
    Lease first;
    first.mutable_metadata()->set_name(node);
    first.mutable_metadata()->set_namespace_(kNamespace);
    first.mutable_spec()->set_holder_identity(node);
    SetTimes(first);
    if (Status owned = SetOwner(first); !owned.ok())
      return {.status = owned, .waits_for_node = owned.code() == StatusCode::kNotFound};
    auto made = Create(first);
    if (made.ok()) return {.lease = *std::move(made)};
    return {.status = made.status()};
  }
  if (!lease.ok()) return {.status = lease.status()};
  auto renewed = Update(*lease);
  if (renewed.ok()) return {.lease = *std::move(renewed)};
  return {.status = renewed.status(), .lease = *std::move(lease)};
}

NodeLease::NodeLease(Deps deps, const StatusConfig& config)
    : deps_(std::move(deps)),
      config_(config),
      client_(std::make_shared<apiclient::Client>(deps_.env.clock, deps_.transport, deps_.client)),
      stop_(std::make_shared<CancelToken>()),
      random_(config.seed + 1),
      asker_(deps_.env.loop, deps_.env.strands) {}

NodeLease::~NodeLease() {
  if (timer_ != 0) deps_.env.loop.CancelTimer(timer_);
}

void NodeLease::Start() {
  CHECK(deps_.env.loop.IsCurrent());
  Renew();
}

void NodeLease::BeginStop() { stop_->Cancel(); }

void NodeLease::Schedule(Duration delay) {
  timer_ = deps_.env.loop.RunAfter(delay, [this] {
    timer_ = 0;
    Renew();
  });
}

void NodeLease::Renew() {
  Round round{.clock = deps_.env.clock,
              .client = client_,
              .stop = stop_,
              .retry = {deps_.env.clock, deps_.client.wait, stop_},
              .node = config_.node.name,
              .duration_seconds = config_.lease_duration_seconds,
              .timeout = config_.api_timeout,
              .held = held_};
  asker_.Ask(
      kLeaseStrand, [round = std::move(round)] { return round.Run(); },
      [this](const Renewed& renewed) { OnRenewed(renewed); });
}

void NodeLease::OnRenewed(const Renewed& renewed) {
  held_ = renewed.lease;
  deps_.metrics.renewals.Add({{"result", renewed.status.ok() ? "ok" : "error"}}).Increment();
  if (renewed.status.ok()) {
    logged_error_.clear();
    deps_.metrics.renewed_at.Set(static_cast<double>(ToNanos(deps_.env.clock.WallNow())) / 1e9);
  } else if (const std::string error = ToString(renewed.status);
             error != logged_error_ && !IsAwaited(renewed.status)) {
    // A node that is not registered has no lease.
    if (!renewed.waits_for_node)
      deps_.env.log.Error("cannot renew the lease of the node, will retry",
                          {KV("node", config_.node.name), KV("err", renewed.status)});
    logged_error_ = error;
  }
  if (held_ == nullptr) {
    ensure_wait_ = WaitWithoutLease(ensure_wait_);
    Schedule(ensure_wait_);
    return;
  }
  ensure_wait_ = {};
  Schedule(random_.Jitter(RenewalPeriod(config_.lease_duration_seconds), kRenewalJitter));
}

}  // namespace splitlet::status
