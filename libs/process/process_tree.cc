#include "libs/process/process_tree.h"

#include <signal.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace splitlet::process {
namespace {

namespace stdfs = std::filesystem;

/// By read(), which does not throw when the process has ended; empty then.
std::string ReadProcFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0)
    text.append(part.data(), static_cast<size_t>(file.gcount()));
  return text;
}

std::map<pid_t, std::vector<pid_t>> Children() {
  std::map<pid_t, std::vector<pid_t>> children;
  std::error_code error;
  for (stdfs::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = ReadProcFile("/proc/" + name + "/stat");
    const auto close = line.rfind(')');
    if (close == std::string::npos) continue;
    std::istringstream rest(line.substr(close + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    children[parent].push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
  }
  return children;
}

void KillAll(pid_t root, const std::map<pid_t, std::vector<pid_t>>& children) {
  kill(root, SIGKILL);
  if (const auto found = children.find(root); found != children.end())
    for (const pid_t child : found->second) KillAll(child, children);
}

}  // namespace

std::vector<pid_t> PidsWith(const std::vector<std::string>& parts) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (stdfs::directory_iterator it("/proc", error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string line = ReadProcFile("/proc/" + name + "/cmdline");
    bool all = !line.empty();
    for (const auto& part : parts) all = all && line.find(part) != std::string::npos;
    if (all) pids.push_back(static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10)));
  }
  return pids;
}

void KillTrees(const std::vector<pid_t>& roots) {
  const auto children = Children();
  for (const pid_t root : roots) KillAll(root, children);
}

}  // namespace splitlet::process
