#include "libs/process/proc_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "libs/fs/real_file_system.h"

namespace splitlet::process {
namespace {

constexpr uint64_t kMaxProcFile = 4u << 20;

}  // namespace

std::vector<pid_t> AllPids() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      pids.push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
  }
  return pids;
}

std::string ReadProcFile(pid_t pid, const std::string& name) {
  return fs::RealFileSystem()
      .Read(fmt::format("/proc/{}/{}", pid, name), kMaxProcFile)
      .value_or(std::string());
}

}  // namespace splitlet::process
