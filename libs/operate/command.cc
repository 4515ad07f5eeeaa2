#include "libs/operate/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace splitlet::operate {

StatusOr<std::string> RunCommand(std::vector<std::string> argv) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno);
  std::vector<char*> raw;
  for (std::string& word : argv) raw.push_back(word.data());
  raw.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, raw[0], &actions, nullptr, raw.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; error == 0 && (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<size_t>(n));
  close(ends[0]);
  if (error != 0) return Annotate(ErrnoStatus(error), argv[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (status == 0) return out;
  out.erase(out.find_last_not_of('\n') + 1);
  return Unavailable("{} {}: {}", argv[0], argv.size() > 1 ? argv[1] : "", out);
}

}  // namespace splitlet::operate
