#include "libs/process/proc_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "libs/fs/real_file_system.h"

namespace splitlet::process {
namespace {

constexpr uint64_t kMaxProcFile = 4u << 20;

/// "pid:[4026531836]"; empty: the process has ended or is invisible.
std::string PidNamespaceOf(const std::string& process) {
  return fs::RealFileSystem().ReadSymlink(process + "/ns/pid").value_or(std::string());
}

}  // namespace

std::vector<pid_t> AllPids(const std::string& proc) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator it(proc, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      pids.push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
  }
  return pids;
}

std::string ReadProcFile(pid_t pid, const std::string& name, const std::string& proc) {
  return fs::RealFileSystem()
      .Read(fmt::format("{}/{}/{}", proc, pid, name), kMaxProcFile)
      .value_or(std::string());
}

bool IsOfOurNamespaceAndUser(pid_t pid, const std::string& proc) {
  const std::string process = fmt::format("{}/{}", proc, pid);
  struct stat info {};
  if (::stat(process.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  const std::string name_space = PidNamespaceOf(process);
  return !name_space.empty() && name_space == PidNamespaceOf(proc + "/self");
}

}  // namespace splitlet::process
