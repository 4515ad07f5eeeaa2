#include "ctl/chaos_program.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "libs/operate/command_line.h"

namespace splitlet::ctl {

Status BecomeChaos(const std::optional<std::string>& top, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"splitletctl chaos"};
  if (top) setenv(operate::kStateDirVariable, top->c_str(), /*overwrite=*/1);
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (auto& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string program = operate::ProgramPath("splitlet-chaos");
  execvp(program.c_str(), arguments.data());
  if (errno == ENOENT)
    return NotFound("splitlet-chaos is not installed: it is in the package splitlet-chaos");
  return Annotate(ErrnoStatus(errno), program);
}

}  // namespace splitlet::ctl
