#include "libs/process/process_tree.h"

#include <signal.h>

#include <map>
#include <sstream>

#include "libs/process/proc_files.h"

namespace splitlet::process {
namespace {

std::map<pid_t, std::vector<pid_t>> Children() {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const pid_t pid : AllPids()) {
    const std::string line = ReadProcFile(pid, "stat");
    const auto close = line.rfind(')');
    if (close == std::string::npos) continue;
    std::istringstream rest(line.substr(close + 1));
    std::string state;
    pid_t parent = 0;
    rest >> state >> parent;
    children[parent].push_back(pid);
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
  for (const pid_t pid : AllPids()) {
    const std::string line = ReadProcFile(pid, "cmdline");
    bool all = !line.empty();
    for (const auto& part : parts) all = all && line.find(part) != std::string::npos;
    if (all) pids.push_back(pid);
  }
  return pids;
}

void KillTrees(const std::vector<pid_t>& roots) {
  const auto children = Children();
  for (const pid_t root : roots) KillAll(root, children);
}

}  // namespace splitlet::process
