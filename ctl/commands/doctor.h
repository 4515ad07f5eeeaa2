#pragma once

/// `doctor`: checks everything the stack needs and advises what to do.
/// Threads: calls block.
/// Errors: none; they are findings.

#include <string>
#include <vector>

#include "libs/operate/client.h"
#include "libs/operate/process_view.h"

namespace splitlet::v1 {
class FaultList;
}

namespace splitlet::ctl {

struct Finding {
  enum class Grade { kOk, kNote, kBad };
  Grade grade = Grade::kOk;
  std::string what;   // "bus"
  std::string found;  // "connected to nats://127.0.0.1:24001"
  std::string to_do;  // only for notes and failed checks
};

std::vector<Finding> Examine(const operate::Client& client, const std::string& runtime_endpoint);

/// A line for each finding, its advice below it, and a last line with the counts.
std::string DoctorText(const std::vector<Finding>& findings);

// Judges the data that was already gathered.

Finding JudgeCgroups(bool unified, bool legacy);
/// Checks the file system of the directory.
Finding JudgeDisk(const std::string& directory, uint64_t capacity_bytes, uint64_t available_bytes);
/// `compose`: true under docker compose.
Finding JudgeProcess(const operate::ProcessView& view, bool compose = false);
/// A finding for each note in the process's own report.
std::vector<Finding> NotesOf(const operate::ProcessView& view);
/// `error`: errno of stat; without permission the socket is not known to be absent.
Finding JudgeNoSocket(const std::string& path, int error);
/// `status`: of the attempt to connect. PERMISSION_DENIED concerns this user, not the bus.
Finding JudgeNoBus(const Status& status);
Finding JudgeFaults(const std::string& process, const v1::FaultList& faults);

}  // namespace splitlet::ctl
