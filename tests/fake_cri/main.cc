// fake-cri: a container runtime that runs no processes. See README.md.

#include <poll.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "libs/cri/fake_runtime.h"
#include "tests/fake_cri/commands.h"
#include "tests/fake_cri/server.h"
#include "tests/harness/command_socket.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::fake_cri {
namespace {

struct Flags {
  std::string socket, control, events = "cri", state, image_fs;
};

/// Writes the whole state on each change, so that a kill -9 right after an answer loses nothing.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  void Load(cri::FakeRuntime& runtime, Commands& commands) {
    if (path_.empty()) return;
    std::ifstream lines(path_ + ".commands");
    for (std::string line; std::getline(lines, line);) {
      CHECK(commands.Run(line).ok(), "the command \"{}\" of the state file", line);
    }
    std::ifstream file(path_, std::ios::binary);
    if (!file) return;
    std::stringstream content;
    content << file.rdbuf();
    const Status restored = runtime.Restore(content.str());
    CHECK(restored.ok(), "{}: {}", path_, restored);
  }

  void Save(const cri::FakeRuntime& runtime) {
    if (path_.empty()) return;
    const std::lock_guard lock(mutex_);
    const std::string now = runtime.Save();
    if (now != saved_) Replace(path_, now);
    saved_ = now;
  }

  void SaveCommands(const Commands& commands) {
    if (path_.empty()) return;
    std::string all;
    for (const auto& line : commands.lasting()) all += line + "\n";
    Replace(path_ + ".commands", all);
  }

 private:
  static void Replace(const std::string& path, const std::string& content) {
    std::ofstream(path + ".new", std::ios::binary) << content;
    std::filesystem::rename(path + ".new", path);
  }

  std::string path_, saved_;
  std::mutex mutex_;
};

int Run(const Flags& flags) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const RealClock clock;
  const auto waiter = cri::MakeRealWaiter();
  const auto append = [](const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::app)
        << content;  // as in a runtime, where a missing folder is the agent's error
  };
  cri::FakeRuntime runtime(clock, {.waiter = waiter.get(), .append_file = append});
  if (!flags.image_fs.empty()) runtime.SetImageFs({flags.image_fs, 1 << 30, 1000});
  Commands commands(runtime);
  StateFile state(flags.state);
  state.Load(runtime, commands);
  Server::Options options{
      .socket = flags.socket,
      .on_change = [&] { state.Save(runtime); },
      .checkpoints = &commands.checkpoints(),
      .streaming_url = [&] { return commands.streaming_url(); },
      .on_pod_cidr = [&](const std::string& cidr) { return commands.OnPodCidr(cidr); }};
  if (flags.events == "none") options.events = EventMode::kNone;
  if (flags.events == "containerd") options.events = EventMode::kContainerd;
  const auto server = Server::Start(runtime, options);
  CHECK(server.ok(), "{}", server.status());
  const harness::ListeningSocket control(flags.control);
  const auto run = [&commands](const std::string& line) { return commands.Run(line); };
  const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
  pollfd fds[] = {{control.fd(), POLLIN, 0}, {stop, POLLIN, 0}};
  uint64_t saved_exits = 0;
  while (true) {
    poll(fds, 2, 20);  // interval for exits that are due
    runtime.Tick();
    const bool told = (fds[0].revents & POLLIN) != 0;
    if (told) {
      harness::ServeCommand(control.fd(), run);
      state.SaveCommands(commands);
    }
    // The server saves changes made by calls.
    if (const uint64_t exits = runtime.Exits(); told || exits != saved_exits) {
      state.Save(runtime);
      saved_exits = exits;
    }
    if ((fds[1].revents & POLLIN) != 0) break;
  }
  return 0;
}

}  // namespace
}  // namespace splitlet::fake_cri

int main(int argc, char** argv) {
  splitlet::fake_cri::Flags flags;
  CLI::App app("A container runtime that runs nothing");
  app.add_option("--socket", flags.socket, "where CRI is served")->required();
  app.add_option("--control", flags.control, "where commands are taken")->required();
  app.add_option("--events", flags.events)->check(CLI::IsMember({"none", "cri", "containerd"}));
  app.add_option("--state", flags.state, "file that keeps the state over restarts");
  app.add_option("--image-fs", flags.image_fs, "where images are said to be; it has to be there");
  CLI11_PARSE(app, argc, argv);
  return splitlet::fake_cri::Run(flags);
}
