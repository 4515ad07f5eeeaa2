#include "tests/fake_api/api_server_process.h"

#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <utility>

#include "tests/harness/child.h"

namespace splitlet::fake_api {

ApiServerProcess::ApiServerProcess(Options options)
    : options_(std::move(options)), control_(options_.dir + "/control") {
  std::filesystem::create_directories(options_.dir);
}

ApiServerProcess::~ApiServerProcess() { Kill(SIGKILL); }

void ApiServerProcess::Start() {
  std::vector<std::string> argv = {options_.program, "--dir",      options_.dir, "--port", port_,
                                   "--node",         options_.node};
  argv.insert(argv.end(), options_.flags.begin(), options_.flags.end());
  std::filesystem::remove(options_.dir + "/control");
  pid_ = harness::Spawn({.argv = argv, .env = {}, .output = options_.dir + "/fake-api.log"});
  const bool answers = harness::WaitFor(std::chrono::seconds{20},
                                        [&] { return Send("list /api/v1/namespaces").ok(); });
  CHECK(answers, "fake-api does not start: {}", harness::ReadFile(options_.dir + "/fake-api.log"));
  const std::string address = url();
  port_ = address.substr(address.rfind(':') + 1);
}

void ApiServerProcess::Signal(int signal) const { CHECK(kill(pid_, signal) == 0); }

void ApiServerProcess::Kill(int signal) {
  if (pid_ == 0) return;
  Signal(signal);
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

std::string ApiServerProcess::Kubeconfig(const std::string& user) const {
  return fmt::format("{}/{}.kubeconfig", options_.dir, user);
}

std::string ApiServerProcess::url() const {
  constexpr std::string_view kServer = "server: ";
  const std::string text = harness::ReadFile(Kubeconfig());
  const size_t at = text.find(kServer) + kServer.size();
  return text.substr(at, text.find('\n', at) - at);
}

StatusOr<std::string> ApiServerProcess::Send(const std::string& line) {
  return control_.Send(line);
}

Status ApiServerProcess::Put(const std::string& path, const std::string& json) {
  return Send(fmt::format("put {} {}", path, json)).status();
}

StatusOr<std::string> ApiServerProcess::Get(const std::string& path) { return Send("get " + path); }

Status ApiServerProcess::Delete(const std::string& path) { return Send("delete " + path).status(); }

Status ApiServerProcess::SetAway(bool away) { return Send(away ? "away on" : "away off").status(); }

}  // namespace splitlet::fake_api
