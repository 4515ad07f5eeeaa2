#include "services/pod-worker/volumes/mount_table.h"

#include "libs/fs/mount_table.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxTable = 16u << 20;

}  // namespace

StatusOr<std::string> ReadMountTable(fs::FileSystem& files) {
  auto table = files.Read(fs::kMountTable, kMaxTable);
  if (table.status().code() == StatusCode::kNotFound) return std::string();
  RETURN_IF_ERROR(table, "{}", fs::kMountTable);
  return table;
}

}  // namespace splitlet::pod_worker
