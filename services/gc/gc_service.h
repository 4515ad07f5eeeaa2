#pragma once

/// Removes what ended pods leave behind and what nobody uses, and says how much room there is.
/// In:    timers (containers 1 min, images 5 min, signals 10 s), views `desired`, `workers`,
/// `runtime`, Gc.Run calls. Owns:  table `pressure`: key `node` -> signals and conditions. Out:
/// puts to `pressure`; holds of pod-worker; removals in the runtime and on disk; node events.
/// Killed at any line: the next round lists everything anew and goes on; a directory moved aside is
/// emptied then; a hold that nobody releases ends after 60 s. Threads: loop thread only. Errors: in
/// the report of a round. Source: gc-and-eviction spec; DESIGN.md rules 8, 10, 25.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/fact_store.h"
#include "libs/fs/file_system.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/config.h"
#include "services/gc/full_disk.h"
#include "services/gc/image_round.h"
#include "services/gc/images.h"
#include "services/gc/log_rotation.h"
#include "services/gc/metrics.h"
#include "services/gc/pressure.h"
#include "services/gc/remover.h"
#include "services/gc/report.h"

namespace splitlet::v1 {
class PressureRecord;
class RuntimeRecord;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct GcDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  cri::Reader& reader;
  cri::Remover& remover;
  cri::Images& images;
  cri::Logs& logs;
  Compress compress;
  StopSandbox stop_sandbox;
  std::unique_ptr<peers::HoldClient> workers_client;
  std::unique_ptr<peers::DesiredOwner> desired_client;
  bus::Table<v1::PressureRecord> pressure;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  Log log;
  prometheus::Registry& metrics;
  daemon::EventRecorder& events;
};

class GcService {
 public:
  using Done = std::function<void(StatusOr<Report>)>;
  GcService(GcDeps deps, GcConfig config);

  void Start();
  daemon::Health GetHealth() const;
  /// One round of everything, after those that run or wait. RESOURCE_EXHAUSTED when too many wait.
  void Run(bool dry_run, Done done);
  /// What the last round of each kind did, in one.
  Report GetReport() const;

 private:
  using Finish = std::function<void(const Report&)>;
  void Enqueue(std::function<void()> job);
  void NextJob();
  void RunSoon();

  // One round of containers, sandboxes, directories and links.
  void OnRemovalTimer();
  void StartRemoval(bool dry_run, Finish finish);
  void OnInventory(const StatusOr<Inventory>& inventory, bool dry_run, const Finish& finish);
  void OnRemoved(const Report& report);
  Fate FateOfPod(const std::string& uid, const PodTraces& traces) const;

  // One round of images.
  void OnImageTimer();
  void StartImages(bool dry_run, Finish finish);
  void OnImagesListed(const StatusOr<ImageListing>& listing, bool dry_run, const Finish& finish);
  /// Why no image may go now; empty: they may.
  std::string WhyImagesStay(const ImageListing& seen, bool readable) const;
  struct ImageRun {
    ImageRound round;
    Clock::Time began;
    Finish finish;
  };
  void NextImage(const std::shared_ptr<ImageRun>& run);
  void EndImages(ImageRun& run);
  void OnImagesRemoved(const Report& report);
  /// False when a pod's images cannot be told.
  bool AddWantedImages(std::set<std::string>& names) const;

  void OnRuntimeChange(const v1::RuntimeRecord& record);
  void ReadFacts();
  void OnFactsRead(const StatusOr<fs::FactStore::All>& facts);
  void OnPressureTimer();
  void OnSignals(const std::vector<PressureSignal>& signals);
  void PutPressure(const std::vector<PressureSignal>& signals,
                   const std::vector<std::string>& conditions);
  void EmptyLogsOfRemoved();
  void LogConditions(const std::vector<std::string>& conditions);
  void NoteDesiredState();
  void NodeEvent(bool warning, std::string reason, std::string message);
  void Count(const Report& report);
  /// Its pod, and the trace of that pod's last change.
  std::vector<LogField> FieldsOf(const ReportItem& item) const;

  GcDeps deps_;
  const GcConfig config_;
  GcMetrics metrics_;
  fs::FactStore facts_;
  ImageBook images_;
  std::map<std::string, std::string> traces_;  // of pods with a worker
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool soon_ = false;
  Report last_removal_, last_images_;
  int image_failures_ = 0;  // in a row
  bool listed_ = false;     // the runtime, once in this start
  std::string runtime_problem_, facts_problem_, images_problem_;
  Clock::Time incomplete_since_;  // `desired`; no time: it is live and complete
  bool facts_read_ = false;       // before, the pressure of this boot is unknown
  LastMet last_met_;
  std::vector<std::string> told_conditions_;
  LogRotation logs_;
  exec::Periodic removal_timer_, image_timer_, pressure_timer_;
};

}  // namespace splitlet::gc
