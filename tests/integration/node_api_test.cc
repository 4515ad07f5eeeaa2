// node-api among the processes of a node: the restarts that its streams survive, and its minimal
// privileges.

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "libs/base/processes.h"
#include "libs/http/test_server.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/serving_fixture.h"

namespace splitlet::integration {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr uint32_t kNobody = 65534;

/// The runtime's streaming server for one stream at a time: echoes all bytes until "end".
void Echo(const std::string& /*request*/, int connection) {
  http::Send(connection,
             "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
             "Upgrade: SPDY/3.1\r\n\r\n");
  std::string got;
  char buffer[4096];
  while (got.find("end") == std::string::npos) {
    const ssize_t n = ::recv(connection, buffer, sizeof buffer, 0);
    if (n <= 0) return;
    got.append(buffer, static_cast<size_t>(n));
    http::Send(connection, std::string(buffer, static_cast<size_t>(n)));
  }
}

class NodeApi : public ServingTest {
 protected:
  /// A connection to the streaming server through node-api; null: refused.
  std::unique_ptr<https::TestClient> OpenExec(const std::string& pod) {
    auto client = Connect();
    if (client == nullptr) return nullptr;
    client->Write(
        fmt::format("POST /exec/default/{}/app?command=cat&input=1&output=1 HTTP/1.1\r\n"
                    "Host: node\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
                    pod));
    return client->ReadUntil("\r\n\r\n").starts_with("HTTP/1.1 101 ") ? std::move(client) : nullptr;
  }
  std::unique_ptr<https::TestClient> AwaitExec(const std::string& pod) {
    std::unique_ptr<https::TestClient> stream;
    WaitFor(kSoon, [&] { return (stream = OpenExec(pod)) != nullptr; });
    return stream;
  }
  static std::string SentBack(https::TestClient& stream, const std::string& line) {
    return stream.Write(line + "\n") ? stream.ReadUntil("\n") : "not sent";
  }
  void StreamTo(const http::Server& streaming) {
    ASSERT_TRUE(fake_cri::Control(control_)
                    .Send(fmt::format("streaming http://127.0.0.1:{}", streaming.port))
                    .ok());
  }

  /// Runs node-api as an unprivileged user in a private mount tree with only the program and its
  /// libraries, kernel files, its credentials, the processes' sockets and the logs. It has no
  /// access to the runtime.
  void StartAlone();
};

TEST_F(NodeApi, AnOpenStreamOutlivesTheRestartOfEveryOtherProcess) {
  http::Server streaming(Echo);
  StartServingNode();
  StreamTo(streaming);
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto stream = AwaitExec("web-node-1");
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(SentBack(*stream, "before"), "before\n");
  const pid_t serving = node_->keeper().PidOf("node-api");
  for (const auto& process : ProcessNames()) {
    SCOPED_TRACE(process);
    node_->KillAndAwait(process);
    EXPECT_EQ(SentBack(*stream, process), process + "\n");
  }
  node_->StopNats();
  EXPECT_EQ(SentBack(*stream, "no bus"), "no bus\n");
  node_->StartNats();
  EXPECT_EQ(SentBack(*stream, "end"), "end\n");
  EXPECT_EQ(stream->ReadAll(), "");
  EXPECT_EQ(streaming.requests, 1);
  EXPECT_EQ(node_->keeper().PidOf("node-api"), serving);
  ExpectExactly({"web"});
}

/// $1 the new root, $2 user, $3 group, $4 other visible places, $5 writable places, then the
/// program.
constexpr const char* kAlone = R"(set -eu
root=$1 user=$2 group=$3 seen=$4 written=$5
shift 5
mount -t tmpfs -o mode=0755 none "$root"
place() {
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root${1%/*}" && : >"$root$1"; fi
  mount --rbind "$1" "$root$1"
}
for each in $seen; do
  if [ -L "$each" ]; then cp -P "$each" "$root$each"; continue; fi
  place "$each"
  mount -o remount,bind,ro "$root$each"
done
for each in $written /proc; do place "$each"; done
mount -o remount,ro "$root"
exec chroot "$root" setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs \
  --bounding-set=-all --pdeathsig KILL "$@"
)";

/// Arguments for node-api: those of `process`, with another name.
std::vector<std::string> ArgumentsAs(const harness::Node& node, const std::string& process,
                                     pid_t pid) {
  std::vector<std::string> arguments;
  std::istringstream line(harness::ReadFile(fmt::format("/proc/{}/cmdline", pid)));
  for (std::string each; std::getline(line, each, '\0');) arguments.push_back(each);
  for (std::string& each : arguments) {
    if (each == harness::BinDir() + "/splitlet-" + process)
      each = harness::BinDir() + "/splitlet-node-api";
    if (each == node.dir() + "/nats/creds/" + process) each = node.dir() + "/nats/creds/node-api";
  }
  return arguments;
}

void NodeApi::StartAlone() {
  const std::string dir = node_->dir();
  std::filesystem::create_directory(dir + "/alone");
  const std::string seen = fmt::format(
      "/usr /bin /lib /lib64 {} {} {} {} {} {}", harness::BinDir(), files_.path(),
      dir + "/config.yaml", dir + "/nats/creds/node-api", dir + "/nats/tls", dir + "/pods");
  harness::Command command{.argv = {"unshare", "--mount", "sh", "-c", kAlone, "sh", dir + "/alone",
                                    std::to_string(kNobody), std::to_string(harness::kGroup), seen,
                                    dir + "/run " + dir + "/state"},
                           .env = {},
                           .output = node_->LogOf("node-api")};
  const auto arguments = ArgumentsAs(*node_, "pleg", node_->keeper().PidOf("pleg"));
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  node_->keeper().Start("node-api", command);
  ASSERT_TRUE(WaitFor(kSoon, [this] { return Ask("GET", "/healthz").starts_with("200 "); }))
      << harness::ReadFile(node_->LogOf("node-api"));
}

TEST_F(NodeApi, ServesAsNobodyInATreeWithoutTheRuntime) {
  if (geteuid() != 0 || harness::RunToEnd({.argv = {"unshare", "--mount", "true"}}, 20s) != 0)
    GTEST_SKIP() << "mounts of their own are root's";
  http::Server streaming(Echo);
  StartNodeToServe("splitlet: {machineSetup: false, users: {node-api: 65534}}\n",
                   {{"node-api", kNobody}});
  StreamTo(streaming);
  const auto give = [](const std::string& path, mode_t mode) {
    ASSERT_EQ(chown(path.c_str(), 0, harness::kGroup), 0) << path;
    ASSERT_EQ(chmod(path.c_str(), mode), 0) << path;
  };
  give(files_.path(), 0750);
  give(files_ / "server.key", 0640);
  give(node_->dir() + "/pods", 02750);
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const auto folder = std::filesystem::directory_iterator(node_->dir() + "/pods")->path() / "app";
  const std::string log = folder / "0.log";
  give(folder.parent_path(), 02750);
  give(folder, 02750);
  harness::WriteFile(log, "2026-01-02T03:04:05Z stdout F for the group\n");
  give(log, 0640);
  StartAlone();

  const std::string self = fmt::format("/proc/{}", node_->keeper().PidOf("node-api"));
  struct stat owner {};
  ASSERT_EQ(stat(self.c_str(), &owner), 0);
  EXPECT_EQ(owner.st_uid, kNobody);
  EXPECT_TRUE(std::filesystem::exists(self + "/root" + log));
  EXPECT_FALSE(std::filesystem::exists(self + "/root" + socket_)) << "the runtime's socket";
  EXPECT_FALSE(std::filesystem::exists(self + "/root/etc"));

  EXPECT_THAT(Ask("GET", "/pods"), testing::AllOf(StartsWith("200 "), HasSubstr("\"web-node-1\"")));
  const std::string target = "/containerLogs/default/web-node-1/app";
  EXPECT_THAT(Ask("GET", target), HasSubstr("for the group\n"));
  ASSERT_EQ(chmod(log.c_str(), 0600), 0);
  EXPECT_THAT(Ask("GET", target), Not(HasSubstr("for the group")));
  const auto stream = AwaitExec("web-node-1");
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(SentBack(*stream, "end"), "end\n");
  EXPECT_EQ(Ask("PUT", "/debug/flags/v", "4"),
            "200 successfully set klog.logging.verbosity to 4\n");
}

TEST_F(NodeApi, TheLevelOfLogsIsSetInEveryProcessUntilItEnds) {
  StartServingNode();
  ASSERT_TRUE(WaitFor(kSoon, [this] { return Ask("GET", "/healthz").starts_with("200 "); }));
  EXPECT_EQ(Ask("PUT", "/debug/flags/v", "4"),
            "200 successfully set klog.logging.verbosity to 4\n");
  const auto level_of = [this](const std::string& process) {
    const auto info = node_->Info(process);
    return info.ok() ? info->log_level() : Message(info.status());
  };
  for (const auto& process : ProcessNames()) EXPECT_EQ(level_of(process), "debug") << process;
  EXPECT_EQ(level_of("node-api"), "debug");
  node_->KillAndAwait("pleg");
  EXPECT_EQ(level_of("pleg"), "info");
  EXPECT_EQ(node_->Ctl({"log-level", "pleg", "warn"}).output, "pleg: warn, was info\n");
  EXPECT_EQ(node_->Ctl({"log-level", "pleg"}).output, "pleg: warn\n");
  EXPECT_THAT(node_->Ctl({"log-level", "info"}).output,
              testing::AllOf(HasSubstr("gc: info, was debug\n"), HasSubstr("node-api: info, ")));
  EXPECT_THAT(node_->Ctl({"log-level", "loud"}).output, HasSubstr("there is no process loud"));
}

}  // namespace
}  // namespace splitlet::integration
