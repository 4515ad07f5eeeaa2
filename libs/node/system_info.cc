#include "libs/node/system_info.h"

#include <initializer_list>
#include <sstream>
#include <string_view>

#include "libs/base/text.h"
#include "libs/base/trim.h"

namespace splitlet::node {
namespace {

constexpr uint64_t kMaxFile = 64 << 10;
constexpr size_t kMaxText = 256;

/// Reads the first readable file; empty: none is readable.
std::string ReadFirst(fs::FileSystem& files, std::initializer_list<const char*> paths) {
  for (const char* path : paths)
    if (auto text = files.Read(path, kMaxFile); text.ok()) return *std::move(text);
  return {};
}

std::string TextOf(std::string_view text) { return ToText(FirstLine(text), kMaxText); }

/// Removes shell quotes and backslashes.
std::string Unquoted(std::string_view value) {
  const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                      value.back() == value.front();
  if (quoted) value = value.substr(1, value.size() - 2);
  std::string text;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text += value[i];
  }
  return text;
}

}  // namespace

std::string ParseOsImage(const std::string& os_release) {
  static constexpr std::string_view kKey = "PRETTY_NAME=";
  std::istringstream in(os_release);
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with(kKey)) return TextOf(Unquoted(std::string_view(line).substr(kKey.size())));
  return "Linux";
}

SystemInfo ReadSystemInfo(fs::FileSystem& files) {
  SystemInfo info;
  info.machine_id = TextOf(ReadFirst(files, {"/etc/machine-id", "/var/lib/dbus/machine-id"}));
  info.system_uuid = TextOf(ReadFirst(files, {"/sys/class/dmi/id/product_uuid"}));
  if (info.system_uuid.empty()) info.system_uuid = info.machine_id;
  info.boot_id = TextOf(ReadFirst(files, {"/proc/sys/kernel/random/boot_id"}));
  info.kernel_version = TextOf(ReadFirst(files, {"/proc/sys/kernel/osrelease"}));
  info.os_image = ParseOsImage(ReadFirst(files, {"/etc/os-release", "/usr/lib/os-release"}));
  return info;
}

}  // namespace splitlet::node
