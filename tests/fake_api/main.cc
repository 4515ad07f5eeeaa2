// fake-api: an API server in memory behind HTTPS. See README.md.

#include <poll.h>
#include <sys/signalfd.h>

#include <CLI/CLI.hpp>
#include <csignal>

#include "libs/base/random.h"
#include "libs/fake_api/api_server.h"
#include "tests/fake_api/commands.h"
#include "tests/fake_api/files.h"
#include "tests/fake_api/server.h"
#include "tests/harness/command_socket.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::fake_api {
namespace {

struct Flags {
  std::string dir, control, keep, address = "127.0.0.1", node = "node";
  uint16_t port = 0;
  bool rbac = false, schedule = false;
};

StatusOr<std::unique_ptr<Server>> StartServer(const Clock& clock, FakeApiServer& api,
                                              const Flags& flags) {
  const WallTime now = clock.WallNow();
  ASSIGN_OR_RETURN(auto authority, LoadOrMakeAuthority(flags.dir, now), "{}", flags.dir);
  const auto issued = authority->Issue(
      {.common_name = "kube-apiserver",
       .dns_names = {"localhost", "kubernetes", "kubernetes.default.svc"},
       .addresses = {"127.0.0.1", flags.address == "0.0.0.0" ? "127.0.0.2" : flags.address}},
      {.from = now - std::chrono::hours{1},
       .until = now + std::chrono::hours{24 * 365},
       .server = true});
  Server::Options options{.address = flags.address,
                          .port = flags.port,
                          .certificate = issued.certificate,
                          .key = issued.key,
                          .client_ca = authority->certificate(),
                          .rbac = flags.rbac};
  const FakeAuthority& ca = *authority;
  api.SetAuthority(std::move(authority));
  api.PublishCa();
  api.AddToken(kBootstrapToken,
               {"system:bootstrap:abcdef", "", {"system:bootstrappers", "system:authenticated"}});
  api.SetScheduling(flags.schedule);
  ASSIGN_OR_RETURN(auto server, Server::Start(clock, api, std::move(options)), "start");
  const std::string host = flags.address == "0.0.0.0" ? "127.0.0.1" : flags.address;
  const std::string url = fmt::format("https://{}:{}", host, server->port());
  RETURN_IF_ERROR(WriteKubeconfigs(ca, {flags.dir, url, flags.node}, now), "kubeconfigs");
  return server;
}

int Run(const Flags& flags) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const RealClock clock;
  FakeApiServer api(clock, {.seed = RandomSeed(), .ticks = true, .keep = flags.keep});
  const auto server = StartServer(clock, api, flags);
  CHECK(server.ok(), "{}", server.status());
  Commands commands(api, **server);
  const harness::ListeningSocket control(flags.control);
  const auto run = [&commands](const std::string& line) { return commands.Run(line); };
  const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
  pollfd fds[] = {{control.fd(), POLLIN, 0}, {stop, POLLIN, 0}};
  while ((fds[1].revents & POLLIN) == 0) {
    poll(fds, 2, 100);  // interval of the check for expired requests
    api.Tick();
    if ((fds[0].revents & POLLIN) != 0) harness::ServeCommand(control.fd(), run);
  }
  return 0;
}

}  // namespace
}  // namespace splitlet::fake_api

int main(int argc, char** argv) {
  splitlet::fake_api::Flags flags;
  CLI::App app("An API server in memory");
  app.add_option("--dir", flags.dir, "where keys and kubeconfigs are written")->required();
  app.add_option("--control", flags.control, "where commands are taken; empty: DIR/control");
  app.add_option("--address", flags.address, "of this machine");
  app.add_option("--port", flags.port, "0: any");
  app.add_option("--node", flags.node, "whose name node.kubeconfig has");
  app.add_option("--keep", flags.keep, "a file with its objects, which a restart then keeps");
  app.add_flag("--rbac", flags.rbac, "refuse who is not known or may not");
  app.add_flag("--schedule", flags.schedule, "bind pods to the only node");
  CLI11_PARSE(app, argc, argv);
  if (flags.control.empty()) flags.control = flags.dir + "/control";
  return splitlet::fake_api::Run(flags);
}
