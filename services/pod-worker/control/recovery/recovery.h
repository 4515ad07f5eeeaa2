#pragma once

/// Restores the state of an earlier start of this process: reads the records on disk, makes their
/// workers, then lists the runtime once before anything is made.
/// In:      Start; files that were put aside later.
/// Owns:    how far the start is, and what is in its way.
/// Out:     workers as the records have them; on_read and on_listed, once each.
/// Killed:  the next start does the same; the runtime was only listed.
/// Threads: the loop's, but for files and the listing.
/// Errors:  shown in the health of the process; tried again every second.
/// Source:  docs/safety.md, rules 1, 3 and 17.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/control/recovery/found_incarnations.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/probes/results.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/termination/pod_terminator.h"

namespace splitlet::pod_worker {

class Recovery {
 public:
  struct Deps {
    exec::Env env;
    cri::Reader& reader;
    const DiskRecords& records;
    Duration request_timeout;
    Duration crash_loop_max;
    const Workers& workers;
    WorkerStore& store;
    FoundIncarnations& found;
    PodTerminator& terminator;
    ProbeResults& probes;
    std::function<Worker&(std::unique_ptr<Worker>)> add;
    /// The workers are there; the rest of the records is for others.
    std::function<void(DiskRecords::All& records)> on_read;
    std::function<void(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers)>
        on_listed;
    PodAdvancer& pods;
  };
  explicit Recovery(Deps deps)
      : deps_(std::move(deps)), asker_(deps_.env.loop, deps_.env.strands) {}

  void Start() { ReadRecords(); }
  /// Adds the workers of these records.
  void AddWorkers(const DiskRecords::All& records);
  bool is_read() const { return is_read_; }
  bool is_listed() const { return is_listed_; }
  /// Why the records cannot be read; empty: they can, or that is not known yet.
  const std::string& trouble() const { return trouble_; }

 private:
  void ReadRecords();
  void OnRecordsRead(StatusOr<DiskRecords::All> records);
  void AddPermanent(const v1::SavedPod& saved);
  void ListRuntime();
  struct Listed {
    std::vector<cri::Sandbox> sandboxes;
    std::vector<cri::Container> containers;
  };
  static StatusOr<Listed> List(cri::Reader& reader, const Deadline& deadline);
  void OnRuntimeListed(const StatusOr<Listed>& listed);

  const Deps deps_;
  bool is_read_ = false, is_listed_ = false;
  std::string trouble_, runtime_trouble_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::pod_worker
