#pragma once

/// How a container has ended, as its record shows it.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  CRI v1, ContainerStatus.

#include "splitlet/v1/records.pb.h"

namespace splitlet::cri {

/// The kernel has killed it because it needed more memory than it may have.
inline bool EndedForMemory(const v1::ContainerRecord& record) {
  return record.state() == v1::ContainerRecord::EXITED && record.reason() == "OOMKilled";
}

}  // namespace splitlet::cri
