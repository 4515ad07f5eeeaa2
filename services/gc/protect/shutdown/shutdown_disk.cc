#include "services/gc/protect/shutdown/shutdown_disk.h"

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"
#include "libs/fs/unfinished.h"
#include "services/gc/protect/shutdown/shutdown_watch.h"

namespace splitlet::gc {
namespace {

constexpr const char* kProgressRecord = "progress";
constexpr const char* kTimesFile = "/graceful_node_shutdown_state";
constexpr uint64_t kMostTimesBytes = 4096;

}  // namespace

ShutdownDisk::ShutdownDisk(fs::FileSystem& files, const Clock& clock, const GcConfig& config)
    : files_(files),
      clock_(clock),
      times_path_(config.root_dir + kTimesFile),
      records_(files, clock, {.directory = config.shutdown_dir, .this_boot_only = true}) {}

SavedShutdown ShutdownDisk::Read() const {
  SavedShutdown saved;
  for (const std::string& path : {times_path_, std::string(kLogindDropIn)}) {
    const Status removed = fs::RemoveUnfinished(files_, fs::ParentOf(path), fs::NameOf(path));
    if (!removed.ok()) saved.problems.push_back(Message(removed));
  }
  ReadTimes(saved);
  ReadProgress(saved);
  return saved;
}

void ShutdownDisk::ReadTimes(SavedShutdown& saved) const {
  const auto text = files_.Read(times_path_, kMostTimesBytes);
  if (text.status().code() == StatusCode::kNotFound) return;
  const auto times = text.ok() ? DecodeTimes(*text) : text.status();
  if (times.ok()) saved.times = *times;
  if (!times.ok()) saved.problems.push_back(Message(times.status()));
}

void ShutdownDisk::ReadProgress(SavedShutdown& saved) const {
  const auto records = records_.ReadAll();
  if (!records.ok()) {
    saved.problems.push_back(Message(records.status()));
    return;
  }
  for (const auto& bad : records->unreadable) saved.problems.push_back(bad.reason);
  for (const auto& record : records->records) {
    const auto progress = DecodeProgress(record.bytes, clock_.Now().boot);
    if (progress.ok()) saved.progress = *progress;
    if (!progress.ok()) saved.problems.push_back(Message(progress.status()));
  }
}

Status ShutdownDisk::Save(const std::optional<ShutdownProgress>& progress,
                          const ShutdownTimes& times) const {
  FAIL_POINT("gc.save-shutdown.before");
  const Status saved = progress ? records_.Save(kProgressRecord, EncodeProgress(*progress), false)
                                : records_.Forget(kProgressRecord);
  RETURN_IF_ERROR(files_.Replace(times_path_, EncodeTimes(times), {.fsync = true, .mode = 0644}),
                  "write {}", times_path_);
  FAIL_POINT("gc.save-shutdown.after");
  return saved;
}

}  // namespace splitlet::gc
