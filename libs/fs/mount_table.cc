#include "libs/fs/mount_table.h"

#include <sstream>

namespace splitlet::fs {
namespace {

constexpr uint64_t kMaxTable = 16u << 20;

/// Decodes "\040" to a blank: the kernel writes characters that would end a field or line as three
/// octal digits.
std::string Unescaped(const std::string& field) {
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    const std::string digits = field[i] == '\\' ? field.substr(i + 1, 3) : "";
    if (digits.size() == 3 && digits.find_first_not_of("01234567") == std::string::npos) {
      text += static_cast<char>(std::stoi(digits, nullptr, 8));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

}  // namespace

StatusOr<std::string> ReadMountTable(FileSystem& files) {
  auto table = files.Read(kMountTable, kMaxTable);
  if (table.status().code() == StatusCode::kNotFound) return std::string();
  RETURN_IF_ERROR(table, "{}", kMountTable);
  return table;
}

std::vector<std::string> ParseMountPoints(std::string_view mountinfo) {
  std::vector<std::string> points;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    // A line has the form: 36 35 98:0 /root /mount/point options...
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5 && fields >> field; ++i) {
      if (i == 4) points.push_back(Unescaped(field));
    }
  }
  return points;
}

std::vector<std::string> MountPointsBelow(std::string_view mountinfo, std::string_view folder) {
  std::vector<std::string> below;
  for (auto& point : ParseMountPoints(mountinfo))
    if (point.starts_with(folder) && (point.size() == folder.size() || point[folder.size()] == '/'))
      below.push_back(std::move(point));
  return below;
}

}  // namespace splitlet::fs
