#include "libs/fs/unfinished.h"

#include "libs/fs/path.h"

namespace splitlet::fs {

Status RemoveUnfinished(FileSystem& files, const std::string& folder, std::string_view prefix) {
  const auto entries = files.List(folder);
  if (entries.status().code() == StatusCode::kNotFound) return OkStatus();
  RETURN_IF_ERROR(entries, "list {}", folder);
  for (const DirEntry& entry : *entries) {
    const std::string_view name = NameOfNewContent(entry.name);
    if (name.empty() || !name.starts_with(prefix) || entry.kind != FileInfo::Kind::kFile) continue;
    const std::string path = folder + "/" + entry.name;
    RETURN_IF_ERROR(files.Remove(path), "remove {}", path);
  }
  return OkStatus();
}

}  // namespace splitlet::fs
