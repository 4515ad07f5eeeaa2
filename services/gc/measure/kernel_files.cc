#include "services/gc/measure/kernel_files.h"

#include <charconv>
#include <system_error>
#include <utility>

#include "libs/base/trim.h"

namespace splitlet::gc {
namespace {

constexpr uint64_t kMaxFile = 1 << 20;

}  // namespace

std::string ReadOrEmpty(fs::FileSystem& files, const std::string& path) {
  auto text = files.Read(path, kMaxFile);
  return text.ok() ? *std::move(text) : std::string();
}

std::optional<uint64_t> NumberIn(std::string_view file) {
  const std::string_view text = Trimmed(file);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace splitlet::gc
