#include "libs/fs/reserve.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "libs/base/fail_point.h"
#include "libs/fs/unfinished.h"

namespace splitlet::fs {

Reserve::Reserve(FileSystem& files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}

StatusOr<std::vector<std::string>> Reserve::Files() const {
  std::vector<std::string> paths;
  const auto entries = files_.List(directory_);
  if (entries.status().code() == StatusCode::kNotFound) return paths;
  RETURN_IF_ERROR(entries, "list {}", directory_);
  for (const auto& entry : *entries) {
    if (!entry.name.starts_with('.')) paths.push_back(directory_ + "/" + entry.name);
  }
  return paths;
}

Status Reserve::Keep() const {
  ASSIGN_OR_RETURN(const auto present, Files(), "reserve");
  if (present.size() >= kFiles) return OkStatus();
  // Also when the disk had no space to complete the file.
  RETURN_IF_ERROR(RemoveUnfinished(files_, directory_), "reserve");
  RETURN_IF_ERROR(files_.MakeDirs(directory_, 0750), "make {}", directory_);
  ASSIGN_OR_RETURN(const auto usage, files_.Usage(directory_), "room at {}", directory_);
  if (usage.available_bytes < 2 * kFiles * kFileBytes) return OkStatus();
  FAIL_POINT("fs.keep-reserve.before");
  for (uint64_t i = 0; i < kFiles; ++i) {
    const std::string path = fmt::format("{}/{:02}", directory_, i);
    if (std::find(present.begin(), present.end(), path) != present.end()) continue;
    const Status made = files_.Allocate(path, kFileBytes);
    // Another program took the space first.
    if (made.code() == StatusCode::kResourceExhausted) return OkStatus();
    RETURN_IF_ERROR(made, "allocate {}", path);
  }
  FAIL_POINT("fs.keep-reserve.after");
  return OkStatus();
}

Status Reserve::GiveHalf() const {
  ASSIGN_OR_RETURN(const auto usage, files_.Usage(directory_), "room at {}", directory_);
  if (usage.available_bytes >= kFiles * kFileBytes) return OkStatus();
  ASSIGN_OR_RETURN(auto present, Files(), "reserve");
  FAIL_POINT("fs.give-reserve.before");
  for (; present.size() > kFiles / 2; present.pop_back())
    RETURN_IF_ERROR(files_.Remove(present.back()), "give up {}", present.back());
  FAIL_POINT("fs.give-reserve.after");
  return OkStatus();
}

Status Reserve::Write(const std::string& path, std::string_view content,
                      FileSystem::WriteOptions options) const {
  ASSIGN_OR_RETURN(const auto present, Files(), "reserve");
  if (present.empty()) return ResourceExhausted("the disk is full, and its reserve is used up");
  FAIL_POINT("fs.spend-reserve.before");
  if (content.size() <= kFileBytes) {
    const Status written = files_.ReplaceFrom(present.back(), path, content, options);
    FAIL_POINT("fs.spend-reserve.after");
    return written;
  }
  for (const auto& file : present) RETURN_IF_ERROR(files_.Remove(file), "give up {}", file);
  FAIL_POINT("fs.spend-reserve.after");
  return files_.Replace(path, content, options);
}

}  // namespace splitlet::fs
