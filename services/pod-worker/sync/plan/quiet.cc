#include "services/pod-worker/sync/plan/quiet.h"

#include <csignal>

#include "libs/cri/container_end.h"
#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kQuiet = 500ms;

/// By SIGKILL or SIGTERM, and not for memory.
bool WasKilled(const v1::ContainerRecord& record) {
  const bool signal = record.exit_code() == 128 + SIGKILL || record.exit_code() == 128 + SIGTERM;
  return record.state() == v1::ContainerRecord::EXITED && signal && !cri::EndedForMemory(record);
}

}  // namespace

Quiet ComputeQuiet(const QuietInput& in) {
  Quiet quiet;
  for (const auto& record : in.seen.containers()) {
    if (record.sandbox_id() != in.sandbox_id || !WasKilled(record)) continue;
    if (in.replacing.contains(record.id())) continue;
    if (NewestRecord(in.seen, record.name()) != &record) continue;
    const auto known = in.killed.find(record.id());
    const Clock::Time since = known == in.killed.end() ? in.now : known->second;
    quiet.killed.emplace(record.id(), since);
    if (!quiet.until || since + kQuiet > *quiet.until) quiet.until = since + kQuiet;
  }
  return quiet;
}

}  // namespace splitlet::pod_worker
