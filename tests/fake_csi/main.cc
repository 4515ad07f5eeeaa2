// fake-csi: a CSI driver that mounts nothing. See README.md.

#include <poll.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "libs/csi/fake_driver_server.h"
#include "tests/fake_csi/commands.h"
#include "tests/fake_csi/files.h"
#include "tests/harness/command_socket.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::fake_csi {
namespace {

struct Flags {
  std::string socket, control, state;
  csi::FakeDriverTraits traits;
};

int Run(const Flags& flags) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  StateFile state(flags.state);
  csi::FakeDriver* running = nullptr;
  csi::FakeDriver driver(
      flags.traits,
      {.publish = MakeTarget, .unpublish = RemoveTarget, .changed = [&] { state.Save(*running); }});
  running = &driver;
  const Status loaded = state.Load(driver);
  CHECK(loaded.ok(), "{}", loaded);
  Commands commands(driver);
  const auto server = csi::FakeDriverServer::Start(driver, flags.socket);
  CHECK(server.ok(), "{}", server.status());
  const harness::ListeningSocket control(flags.control);
  const auto run = [&commands](const std::string& line) { return commands.Run(line); };
  const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
  pollfd fds[] = {{control.fd(), POLLIN, 0}, {stop, POLLIN, 0}};
  while (true) {
    poll(fds, 2, -1);
    if ((fds[0].revents & POLLIN) != 0) harness::ServeCommand(control.fd(), run);
    if ((fds[1].revents & POLLIN) != 0) break;
  }
  return 0;
}

}  // namespace
}  // namespace splitlet::fake_csi

int main(int argc, char** argv) {
  using splitlet::csi::NodeCapability;
  splitlet::fake_csi::Flags flags;
  flags.traits.capabilities = {NodeCapability::kStageUnstageVolume};
  CLI::App app("A CSI driver that mounts nothing");
  app.add_option("--socket", flags.socket, "where CSI is served")->required();
  app.add_option("--control", flags.control, "where commands are taken")->required();
  app.add_option("--name", flags.traits.name, "name of the driver");
  app.add_option("--node-id", flags.traits.node.node_id, "id of this node");
  app.add_option("--state", flags.state, "file that keeps the state over restarts");
  CLI11_PARSE(app, argc, argv);
  return splitlet::fake_csi::Run(flags);
}
