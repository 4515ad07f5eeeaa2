#include "services/gc/collect/logs/log_rotator.h"

#include <algorithm>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/fs/path.h"

namespace splitlet::gc {

StatusOr<LogState> LogRotator::Inspect(const LogToInspect& log) const {
  ASSIGN_OR_RETURN(const uint64_t bytes, SizeOf(log), "inspect {}", log.path);
  LogState state{.bytes = bytes, .rotated = bytes >= limits_.max_bytes};
  if (!state.rotated && !log.tidy) return state;
  // The live file takes a place, and the file that is rotated now takes another.
  const size_t places = state.rotated ? 2 : 1;
  RETURN_IF_ERROR(RemoveOld(log, limits_.max_files - places), "remove old logs");
  if (state.rotated) RETURN_IF_ERROR(Rotate(log), "rotate");
  // Compress last, because it takes the longest and the writer already has a new file. On a full
  // disk the files stay uncompressed, and their number is limited anyway.
  const Status compressed = CompressOld(log);
  if (!compressed.ok()) state.compression = ToString(compressed);
  return state;
}

/// A log without a live file was renamed but not reopened: an earlier rotation was interrupted.
StatusOr<uint64_t> LogRotator::SizeOf(const LogToInspect& log) const {
  auto info = deps_.files.Stat(log.path, false);
  if (info.status().code() == StatusCode::kNotFound) {
    FAIL_POINT("gc.reopen-log.before");
    RETURN_IF_ERROR(
        deps_.runtime.ReopenContainerLog(log.id, After(deps_.clock, limits_.call_limit)),
        "reopen the log");
    FAIL_POINT("gc.reopen-log.after");
    info = deps_.files.Stat(log.path, false);
  }
  RETURN_IF_ERROR(info, "status");
  if (info->kind != fs::FileInfo::Kind::kFile) return FailedPrecondition("not a regular file");
  return info->size;
}

StatusOr<LogFiles> LogRotator::List(const LogToInspect& log) const {
  const std::string dir = fs::ParentOf(log.path);
  ASSIGN_OR_RETURN(const auto entries, deps_.files.List(dir), "list {}", dir);
  LogFiles files{.live = fs::NameOf(log.path), .names = {}};
  for (const auto& entry : entries) {
    if (entry.kind == fs::FileInfo::Kind::kFile) files.names.push_back(entry.name);
  }
  return files;
}

Status LogRotator::RemoveOld(const LogToInspect& log, size_t keep) const {
  ASSIGN_OR_RETURN(const auto files, List(log), "logs");
  for (const auto& name : LogsToRemove(files, keep)) {
    FAIL_POINT("gc.remove-log.before");
    RETURN_IF_ERROR(deps_.files.Remove(fs::ParentOf(log.path) + "/" + name), "remove {}", name);
    FAIL_POINT("gc.remove-log.after");
  }
  return OkStatus();
}

Status LogRotator::Rotate(const LogToInspect& log) const {
  ASSIGN_OR_RETURN(const auto files, List(log), "logs");
  const std::string rotated =
      fs::ParentOf(log.path) + "/" + RotatedName(files, deps_.clock.WallNow());
  FAIL_POINT("gc.rotate-log.before");
  RETURN_IF_ERROR(deps_.files.Rename(log.path, rotated), "rename");
  FAIL_POINT("gc.rotate-log.after-rename");
  const Status reopened =
      deps_.runtime.ReopenContainerLog(log.id, After(deps_.clock, limits_.call_limit));
  FAIL_POINT("gc.rotate-log.after");
  if (reopened.ok()) return OkStatus();
  // The runtime may have reopened the log although the call failed: then a live file exists.
  const auto live = deps_.files.Stat(log.path, false);
  if (live.status().code() == StatusCode::kNotFound) {
    FAIL_POINT("gc.restore-log.before");
    RETURN_IF_ERROR(deps_.files.Rename(rotated, log.path), "rename back");
    FAIL_POINT("gc.restore-log.after");
  }
  return Annotate(reopened, "reopen the log");
}

Status LogRotator::CompressOld(const LogToInspect& log) const {
  ASSIGN_OR_RETURN(const auto files, List(log), "logs");
  for (const auto& name : LogsToCompress(files))
    RETURN_IF_ERROR(CompressOne(fs::ParentOf(log.path) + "/" + name), "compress");
  return OkStatus();
}

Status LogRotator::CompressOne(const std::string& path) const {
  FAIL_POINT("gc.compress-log.before");
  RETURN_IF_ERROR(deps_.compress(path, path + ".tmp"), "write");
  FAIL_POINT("gc.compress-log.after-write");
  RETURN_IF_ERROR(deps_.files.Rename(path + ".tmp", path + ".gz"), "rename");
  FAIL_POINT("gc.compress-log.after-rename");
  RETURN_IF_ERROR(deps_.files.Remove(path), "remove the original");
  FAIL_POINT("gc.compress-log.after");
  return OkStatus();
}

}  // namespace splitlet::gc
