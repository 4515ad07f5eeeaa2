#include "services/gc/collect/logs/log_truncator.h"

#include <utility>

#include "libs/base/fail_point.h"

namespace splitlet::gc {
namespace {

constexpr const char* kReason = "the disk is full";

Status Empty(fs::FileSystem& files, const std::string& path, bool live) {
  FAIL_POINT("gc.empty-log.before");
  RETURN_IF_ERROR(live ? files.Truncate(path) : files.Remove(path), "empty");
  FAIL_POINT("gc.empty-log.after");
  return OkStatus();
}

/// Nothing of a directory that does not exist: no container has logged, or gc has removed it.
std::vector<fs::DirEntry> ListOrNote(fs::FileSystem& files, const std::string& dir,
                                     const std::string& uid, std::vector<ReportItem>& items) {
  auto entries = files.List(dir);
  if (entries.ok()) return *std::move(entries);
  if (entries.status().code() != StatusCode::kNotFound)
    items.push_back({.kind = "log",
                     .name = dir,
                     .reason = kReason,
                     .error = ToString(entries.status()),
                     .uid = uid});
  return {};
}

void EmptyDirectory(fs::FileSystem& files, const std::string& dir, const std::string& uid,
                    std::vector<ReportItem>& items) {
  for (const auto& entry : ListOrNote(files, dir, uid, items)) {
    if (entry.kind != fs::FileInfo::Kind::kFile) continue;
    const std::string path = dir + "/" + entry.name;
    const auto info = files.Stat(path, false);
    if (!info.ok() || info->size == 0) continue;
    const Status emptied = Empty(files, path, entry.name.ends_with(".log"));
    items.push_back({.kind = "log",
                     .name = path,
                     .reason = kReason,
                     .bytes = info->size,
                     .removed = emptied.ok(),
                     .error = emptied.ok() ? "" : ToString(emptied),
                     .uid = uid});
  }
}

}  // namespace

std::string LogDirectoryOf(const std::string& name_space, const std::string& name,
                           const std::string& uid) {
  return fmt::format("{}_{}_{}", name_space, name, uid);
}

std::vector<ReportItem> TruncateLogs(fs::FileSystem& files, const std::vector<RemovedPod>& pods,
                                     const GcConfig& config) {
  std::vector<ReportItem> items;
  for (const auto& pod : pods) {
    const std::string root = config.pod_logs_dir + "/" + pod.log_dir;
    for (const auto& container : ListOrNote(files, root, pod.uid, items)) {
      if (container.kind == fs::FileInfo::Kind::kDirectory)
        EmptyDirectory(files, root + "/" + container.name, pod.uid, items);
    }
  }
  return items;
}

}  // namespace splitlet::gc
