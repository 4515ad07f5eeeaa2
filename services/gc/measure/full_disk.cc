#include "services/gc/measure/full_disk.h"

namespace splitlet::gc {
namespace {

constexpr uint64_t kFullBytes = 1 << 20;

}  // namespace

bool DiskIsFull(fs::FileSystem& files, const std::string& path) {
  const auto usage = files.Usage(path);
  return usage.ok() &&
         (usage->available_bytes < kFullBytes || (usage->inodes > 0 && usage->inodes_free == 0));
}

}  // namespace splitlet::gc
