// splitlet-kubelet: the command line of a kubelet, and the stack of a node behind it.

#include <unistd.h>

#include <climits>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kubelet/arguments.h"
#include "kubelet/document.h"
#include "kubelet/node_lock.h"
#include "kubelet/stack.h"
#include "kubelet/supervise.h"
#include "libs/base/one_line.h"
#include "libs/fs/real_file_system.h"

#ifndef SPLITLET_VERSION
#define SPLITLET_VERSION "0.0.0"
#endif

namespace splitlet::kubelet {
namespace {

std::string OwnPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

/// nullopt: no --lock-file is given.
StatusOr<std::optional<NodeLock>> TakeLock(const Arguments& arguments) {
  if (arguments.lock_file.empty()) return std::optional<NodeLock>();
  const auto on_wait = [&arguments](const std::string& holder) {
    std::fprintf(stderr, "splitlet-kubelet: waiting for the file lock on %s, which %s holds\n",
                 arguments.lock_file.c_str(), holder.c_str());
  };
  auto lock = NodeLock::Take(arguments.lock_file, arguments.exit_on_lock_contention, on_wait);
  if (!lock.ok()) return lock.status();
  return std::optional<NodeLock>(std::move(*lock));
}

Status Run(Arguments arguments) {
  const RealClock clock;
  fs::RealFileSystem files;
  std::error_code error;
  const std::string folder = std::filesystem::current_path(error).string();
  ResolvePassedPaths(folder, arguments);
  const auto document = LoadDocument(files, arguments, folder);
  if (!document.ok()) return document.status();
  for (const auto* warnings : {&std::as_const(arguments).warnings, &document->warnings})
    for (const std::string& warning : *warnings)
      std::fprintf(stderr, "splitlet-kubelet: warning: %s\n", warning.c_str());
  const auto stack = FindStack(files, arguments, OwnPath());
  if (!stack.ok()) return stack.status();
  auto lock = TakeLock(arguments);
  if (!lock.ok()) return lock.status();
  const Status prepared = PrepareStack(files, *stack, arguments, document->json);
  if (!prepared.ok()) return prepared;
  const auto programs = ProgramsOf(files, *stack, arguments);
  if (!programs.ok()) return programs.status();
  return Supervise(clock, *programs,
                   {.notify_path = stack->folder + "/run/notify.sock",
                    .lock = *lock && arguments.exit_on_lock_contention ? &**lock : nullptr});
}

int Main(const std::vector<std::string>& words) {
  auto arguments = ParseArguments(words);
  if (arguments.ok() && arguments->print == Arguments::Print::kHelp) {
    std::fputs(HelpText().c_str(), stdout);
    return 0;
  }
  if (arguments.ok() && arguments->print == Arguments::Print::kVersion) {
    std::fputs("splitlet-kubelet " SPLITLET_VERSION "\n", stdout);
    return 0;
  }
  const Status status = arguments.ok() ? Run(*std::move(arguments)) : arguments.status();
  if (status.ok()) return 0;
  std::fprintf(stderr, "splitlet-kubelet: %s\n", OneLine(Message(status)).c_str());
  return 1;
}

}  // namespace
}  // namespace splitlet::kubelet

int main(int argc, char** argv) {
  return splitlet::kubelet::Main(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
