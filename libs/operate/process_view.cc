#include "libs/operate/process_view.h"

#include <fmt/format.h>

#include <fstream>

namespace splitlet::operate {

bool IsProcess(int32_t pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
  std::string program;
  std::getline(file, program, '\0');
  return program.substr(program.rfind('/') + 1) == "splitlet-" + name;
}

}  // namespace splitlet::operate
