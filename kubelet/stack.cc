#include "kubelet/stack.h"

#include <algorithm>
#include <utility>

#include "libs/base/processes.h"
#include "libs/fs/path.h"
#include "libs/process/run_program.h"

namespace splitlet::kubelet {
namespace {

constexpr uint64_t kMaxPort = 64;
constexpr size_t kLongestFolder = 75;  // limit for the unix sockets below the folder
constexpr const char* kScript = "nats.sh";

bool HasApiServer(const Arguments& arguments) {
  const auto flag = std::ranges::find(arguments.passed, "--kubeconfig");
  return arguments.passed.end() - flag > 1 && !std::next(flag)->empty();
}

std::vector<std::string> ProcessesOf(const Arguments& arguments) {
  std::vector<std::string> names = ProcessNames();
  if (!HasApiServer(arguments)) return names;
  names.insert(names.end(), ClusterProcessNames().begin(), ClusterProcessNames().end());
  return names;
}

StatusOr<std::string> FindScripts(fs::FileSystem& files, const std::string& given,
                                  const std::string& programs) {
  std::vector<std::string> places = {given};
  if (given.empty())
    places = {programs + "/../lib/splitlet", "/usr/lib/splitlet",
              programs + "/../../../deploy/local"};
  for (const std::string& place : places)
    if (files.Stat(place + "/" + kScript, true).ok()) return place;
  return NotFound("{} is not in {}", kScript, fmt::join(places, ", "));
}

/// Flags of all processes.
std::vector<std::string> CommonFlags(const Stack& stack, const Arguments& arguments) {
  std::vector<std::string> flags = {
      "--config",    stack.config(),          "--run-dir",      stack.folder + "/run",
      "--state-dir", stack.folder + "/state", "--http-address", "127.0.0.1:0"};
  flags.insert(flags.end(), arguments.passed.begin(), arguments.passed.end());
  if (!arguments.node_ip.empty()) flags.insert(flags.end(), {"--node-ip", arguments.node_ip});
  return flags;
}

std::vector<std::string> CommandOf(const Stack& stack, const std::string& process,
                                   const std::vector<std::string>& flags) {
  std::vector<std::string> argv = {stack.programs + "/splitlet-" + process};
  argv.insert(argv.end(), flags.begin(), flags.end());
  return argv;
}

}  // namespace

StatusOr<Stack> FindStack(fs::FileSystem& files, const Arguments& arguments,
                          const std::string& self) {
  Stack stack{.folder = arguments.directory, .programs = fs::ParentOf(self), .scripts = {}};
  while (stack.folder.size() > 1 && stack.folder.ends_with('/')) stack.folder.pop_back();
  if (stack.folder.size() > kLongestFolder)
    return InvalidArgument(
        "--splitlet-dir: the path has {} characters, want at most {} because of the unix sockets "
        "below it",
        stack.folder.size(), kLongestFolder);
  for (const std::string& process : ProcessesOf(arguments)) {
    const std::string program = stack.programs + "/splitlet-" + process;
    if (!files.Stat(program, true).ok())
      return NotFound("{} is missing: all programs of splitlet must be in one folder", program);
  }
  ASSIGN_OR_RETURN(stack.scripts, FindScripts(files, arguments.scripts, stack.programs), "scripts");
  return stack;
}

Status PrepareStack(fs::FileSystem& files, const Stack& stack, const Arguments& arguments,
                    const std::string& config) {
  RETURN_IF_ERROR(files.MakeDirs(stack.folder, 0755), "make {}", stack.folder);
  for (const auto& [name, mode] : {std::pair{"/run", 0755u}, {"/state", 0700u}, {"/nats", 0711u}})
    RETURN_IF_ERROR(files.MakeDirs(stack.folder + name, mode), "make {}{}", stack.folder, name);
  if (!HasApiServer(arguments))
    for (const std::string& process : ClusterProcessNames())
      RETURN_IF_ERROR(files.RemoveTree(stack.folder + "/run/" + process), "forget {}", process);
  // Readable by root alone: the configuration may hold the password of a URL or a header with a
  // token.
  RETURN_IF_ERROR(files.Replace(stack.config(), config, {.fsync = false, .mode = 0600}), "write {}",
                  stack.config());
  // Checked before the start, so that the error appears once and not from each process in a loop.
  auto check = CommandOf(stack, ProcessNames().front(), CommonFlags(stack, arguments));
  check.emplace_back("--check-config");
  const auto checked = process::RunProgram({.argv = std::move(check)});
  if (!checked.ok()) return checked.status();
  return Annotate(
      process::RunProgram({.argv = {stack.scripts + "/" + kScript, "config", stack.bus()}})
          .status(),
      "configure the bus");
}

StatusOr<std::vector<SupervisedProgram>> ProgramsOf(fs::FileSystem& files, const Stack& stack,
                                                    const Arguments& arguments) {
  ASSIGN_OR_RETURN(std::string port, files.Read(stack.bus() + "/port", kMaxPort),
                   "port of the bus");
  while (port.ends_with('\n')) port.pop_back();
  std::vector<SupervisedProgram> programs = {
      {.name = "nats",
       .argv = {stack.scripts + "/" + kScript, "serve", stack.bus()},
       .notifies = false,
       .last = true,
       .confinement = ConfinementOf("nats")}};
  for (const std::string& process : ProcessesOf(arguments)) {
    auto flags = CommonFlags(stack, arguments);
    flags.insert(flags.end(), {"--nats-url", "nats://127.0.0.1:" + port,           //
                               "--nats-creds", stack.bus() + "/creds/" + process,  //
                               "--nats-ca", stack.bus() + "/tls/current/ca.pem"});
    programs.push_back({.name = process,
                        .argv = CommandOf(stack, process, flags),
                        .confinement = ConfinementOf(process)});
  }
  return programs;
}

}  // namespace splitlet::kubelet
