#include "services/gc/stats/kernel_files.h"

#include <utility>

namespace splitlet::gc {
namespace {

constexpr uint64_t kMaxFile = 1 << 20;

}  // namespace

std::string ReadOrEmpty(fs::FileSystem& files, const std::string& path) {
  auto text = files.Read(path, kMaxFile);
  return text.ok() ? *std::move(text) : std::string();
}

}  // namespace splitlet::gc
