#include "libs/operate/process_view.h"

#include <fmt/format.h>

#include <fstream>

#include "libs/rpc/rpc.h"

namespace splitlet::operate {

bool IsProcess(int32_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  std::string program;
  std::getline(file, program, '\0');
  return program.substr(program.rfind('/') + 1) == "splitlet-" + name;
}

int32_t PidHere(int32_t said, const std::string& socket, const std::string& name) {
  if (IsProcess(said, name)) return said;
  const auto listener = rpc::ListenerOf(socket);
  return listener.ok() && IsProcess(listener->pid, name) ? listener->pid : 0;
}

}  // namespace splitlet::operate
