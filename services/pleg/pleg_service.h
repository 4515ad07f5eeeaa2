#pragma once

/// Lists and inspects the runtime, and publishes what runs. This class routes between
/// its parts: Lister, Inspector, UnseenEvents, Vouching, RuntimeHealth and EventFeed.
/// In:    runtime events, the timer of listings, Pleg.GetPodStatus and Relist calls.
/// Owns:  table `runtime`: pod UID -> sandboxes and containers as last inspected.
/// Out:   puts to `runtime`; its completeness (when the last listing began, pods not vouched for);
/// signal `pod-changed` with the UID, after the put.
/// Killed at any line: nothing is lost; the first listing after the start rebuilds every record. An
/// event only makes its pod be inspected, so events may be lost, doubled or late.
/// Threads: loop thread only; runtime calls run on strands.
/// Errors: in GetHealth and in the records.
/// Source: docs/behaviour/relist.md; docs/design.md, "Runtime events without waiting";
/// docs/safety.md, rules 7 and 21.

#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pleg/config.h"
#include "services/pleg/events/event_feed.h"
#include "services/pleg/events/unseen_events.h"
#include "services/pleg/health/runtime_health.h"
#include "services/pleg/inspection/inspector.h"
#include "services/pleg/listing/lister.h"
#include "services/pleg/metrics.h"
#include "services/pleg/vouching/vouching.h"

namespace splitlet::v1 {
class PlegHealth;
class RuntimeRecord;
}  // namespace splitlet::v1

namespace splitlet::pleg {

struct PlegDeps {
  exec::Env env;
  cri::Reader& reader;
  cri::TailReader read_tail;  // of termination messages and logs
  std::vector<NamedSource> sources;
  bus::Table<v1::RuntimeRecord> table;
  bus::Bus& bus;      // for the signal
  uint64_t seed = 1;  // of trace ids
};

class PlegService {
 public:
  PlegService(PlegDeps deps, PlegConfig config);

  void Start();
  daemon::Health GetHealth() const;
  v1::PlegHealth GetPlegHealth() const;
  const PlegConfig& config() const { return config_; }

  /// Answers with an inspection that begins after this call.
  void OnGetPodStatus(const std::string& uid, Inspector::Done done);
  /// Answers with the begin of a listing that begins after this call, when its pods were inspected.
  void OnRelist(Lister::Done done);
  void OnContainerEvent(const cri::ContainerEvent& event);

 private:
  void OnListed(Listing& listing, bool back);
  void OnListingEnd();
  void SignalPodChanged(const std::string& uid);

  PlegDeps deps_;
  const PlegConfig config_;
  PlegMetrics metrics_;
  Lister lister_;
  Vouching vouching_;
  Inspector inspector_;
  UnseenEvents unseen_;
  RuntimeHealth health_;
  EventFeed feed_;
};

}  // namespace splitlet::pleg
