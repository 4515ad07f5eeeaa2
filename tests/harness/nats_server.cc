#include "tests/harness/nats_server.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <utility>

#include "libs/base/status.h"
#include "tests/harness/child.h"
#include "tests/harness/free_port.h"

namespace splitlet::harness {
namespace {

std::string Entry(const NatsUser& user) {
  return fmt::format(
      R"({{user: "{0}", password: "pw", permissions: {{publish: [{1}], subscribe: [{2}{3}"_INBOX.{0}.>"]}}}})"
      "\n",
      user.name, user.publish, user.subscribe, user.subscribe.empty() ? "" : ",");
}

std::string TlsOf(const std::string& keys) {
  return fmt::format("tls {{ cert_file: \"{0}server.pem\", key_file: \"{0}server.key\" }}\n", keys);
}

void Keys(const std::string& action, const std::string& dir) {
  CHECK(RunToEnd(
            {.argv = {"deploy/local/nats.sh", action, dir}, .env = {}, .output = dir + "/keys.log"},
            120s) == 0,
        "nats.sh {}: {}", action, ReadFile(dir + "/keys.log"));
}

}  // namespace

NatsServer::NatsServer(const std::string& dir, const std::vector<NatsUser>& users, NatsTls tls)
    : dir_(dir), tls_(tls), port_(FreePort()) {
  if (tls == NatsTls::kOn) Keys("keys", dir);
  std::string entries;
  for (const auto& user : users) {
    entries += Entry(user);
    std::ofstream(Creds(user.name)) << user.name << "\npw\n";
  }
  std::ofstream(dir_ + "/nats.conf")
      << "listen: \"127.0.0.1:" << port_ << "\"\n"
      << (tls == NatsTls::kOff ? "" : TlsOf(dir_ + "/tls/current/"))
      << (users.empty() ? "" : "authorization { users: [\n" + entries + "] }\n");
}

NatsServer::~NatsServer() { Kill(SIGKILL); }

void NatsServer::Start() {
  pid_ = Spawn({.argv = {"nats-server", "--config", dir_ + "/nats.conf"},
                .env = {},
                .output = dir_ + "/nats.log"});
}

void NatsServer::Signal(int signal) const { CHECK(kill(pid_, signal) == 0); }

void NatsServer::Kill(int signal) {
  if (pid_ == 0) return;
  Signal(signal);
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

void NatsServer::ReplaceKeys() const {
  Keys("rotate", dir_);
  Signal(SIGHUP);
}

std::string NatsServer::ca() const {
  return tls_ == NatsTls::kOff ? "" : dir_ + "/tls/current/ca.pem";
}

std::string NatsServer::url() const { return fmt::format("nats://127.0.0.1:{}", port_); }

std::string NatsServer::Creds(const std::string& user) const { return dir_ + "/creds-" + user; }

}  // namespace splitlet::harness
