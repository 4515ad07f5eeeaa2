#pragma once

/// A pod in the tables of the processes. Client fills it, splitletctl prints it.
/// Threads: values.
/// Errors: none.
/// Units: wall times in ns.

#include <memory>
#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::v1 {
class AdmissionRecord;
class DesiredRecord;
class RuntimeRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::operate {

/// A null pointer stands for a missing report.
struct PodView {
  std::string uid, name, name_space, source;
  std::shared_ptr<kube::Pod> pod;  // spec of `desired`, status of `podstatus`
  bool has_status = false;
  bool removed = false;  // its source has removed it
  int64_t seen_at_wall_ns = 0;
  int64_t removed_at_wall_ns = 0;  // removal time; 0: unknown, as after a reboot
  std::shared_ptr<v1::DesiredRecord> desired;
  std::shared_ptr<v1::AdmissionRecord> admission;
  std::shared_ptr<v1::WorkerRecord> worker;
  std::shared_ptr<v1::RuntimeRecord> runtime;
};

}  // namespace splitlet::operate
