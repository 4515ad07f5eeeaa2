#include "chaos/node/text_files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>

namespace splitlet::chaos {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> part{};
  // read() does not throw for a file in /proc whose process has ended.
  while (file.read(part.data(), part.size()) || file.gcount() > 0)
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  return text;
}

Status WriteByRename(const std::string& path, const std::string& content) {
  const auto slash = path.rfind('/');
  const std::string beside = path.substr(0, slash + 1) + ".chaos." + path.substr(slash + 1);
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << content << std::flush;
    if (!file) return Annotate(ErrnoStatus(errno), beside);
  }
  if (rename(beside.c_str(), path.c_str()) != 0) return Annotate(ErrnoStatus(errno), path);
  return OkStatus();
}

}  // namespace splitlet::chaos
