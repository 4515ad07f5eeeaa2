#pragma once

/// Runs a kube-apiserver with its own etcd, without controllers, for the contract test.
/// Owns:    two processes and their folder; both die with the test.
/// Threads: one. The transport is a Transport of libs/apiclient.
/// Errors:  a program that cannot be started, or is not ready within two minutes, fails the test.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "libs/apiclient/connect.h"
#include "libs/fake_api/authority.h"
#include "libs/fs/real_file_system.h"
#include "libs/kube/time_text.h"
#include "tests/harness/child.h"
#include "tests/harness/free_port.h"

namespace splitlet::fake_api {

class RealApiServer {
 public:
  struct Programs {
    std::string kube_apiserver, etcd;  // paths
  };
  explicit RealApiServer(Programs programs) : programs_(std::move(programs)) {
    ::signal(SIGPIPE, SIG_IGN);  // HttpsTransport requires this
    WriteKeys();
    etcd_ = harness::Spawn(
        {.argv = {programs_.etcd, "--data-dir", folder_ / "etcd", "--listen-client-urls", etcd_url_,
                  "--advertise-client-urls", etcd_url_, "--listen-peer-urls", peer_url_,
                  "--initial-advertise-peer-urls", peer_url_, "--initial-cluster",
                  "default=" + peer_url_, "--unsafe-no-fsync"},
         .env = {},
         .output = folder_ / "etcd.log"});
    Start();
  }
  ~RealApiServer() {
    transport_ = nullptr;
    Kill(apiserver_);
    Kill(etcd_);
  }
  RealApiServer(const RealApiServer&) = delete;
  RealApiServer& operator=(const RealApiServer&) = delete;

  apiclient::Transport& transport() { return *transport_; }
  /// The watch cache of a new process starts now, so older resourceVersions are too old for it.
  void Restart() {
    Kill(apiserver_);
    Start();
  }

 private:
  static void Kill(pid_t& pid) {
    if (pid == 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(std::exchange(pid, 0), nullptr, 0);
  }
  static std::string UrlOf(int port) { return fmt::format("http://127.0.0.1:{}", port); }

  void WriteKeys() {
    const WallTime now = clock_.WallNow();
    const FakeAuthority authority("contract-test", now);
    const FakeAuthority::Terms terms{.from = now - std::chrono::hours{1},
                                     .until = now + std::chrono::hours{24},
                                     .client = true,
                                     .server = true};
    const auto server = authority.Issue(
        {.common_name = "kube-apiserver", .dns_names = {"localhost"}, .addresses = {"127.0.0.1"}},
        terms);
    const auto admin =
        authority.Issue({.common_name = "admin", .organizations = {"system:masters"}}, terms);
    harness::WriteFile(folder_ / "ca.crt", authority.certificate());
    harness::WriteFile(folder_ / "server.crt", server.certificate);
    harness::WriteFile(folder_ / "server.key", server.key);
    harness::WriteFile(
        folder_ / "kubeconfig",
        fmt::format(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
            "contexts: [{{name: x, context: {{cluster: c, user: u}}}}]\n"
            "clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{}', "
            "certificate-authority-data: {}}}}}]\n"
            "users: [{{name: u, user: {{client-certificate-data: {}, client-key-data: {}}}}}]\n",
            port_, kube::EncodeBase64(authority.certificate()),
            kube::EncodeBase64(admin.certificate), kube::EncodeBase64(admin.key)));
    CHECK(::chmod((folder_ / "kubeconfig").c_str(), 0600) == 0);
  }

  void Start() {
    transport_ = nullptr;
    apiserver_ = harness::Spawn(
        {.argv = {programs_.kube_apiserver, "--etcd-servers=" + etcd_url_,
                  "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
                  "--endpoint-reconciler-type=none", fmt::format("--secure-port={}", port_),
                  "--tls-cert-file=" + (folder_ / "server.crt"),
                  "--tls-private-key-file=" + (folder_ / "server.key"),
                  "--client-ca-file=" + (folder_ / "ca.crt"), "--authorization-mode=RBAC",
                  "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                  "--service-account-key-file=" + (folder_ / "server.key"),
                  "--service-account-signing-key-file=" + (folder_ / "server.key"),
                  "--service-cluster-ip-range=10.96.0.0/16",
                  // The admission plugin ServiceAccount needs accounts from a controller, and no
                  // controller runs here.
                  "--disable-admission-plugins=ServiceAccount"},
         .env = {},
         .output = folder_ / "kube-apiserver.log"});
    auto connected = apiclient::Connect({.clock = clock_,
                                         .files = files_,
                                         .log = Log(sink_),
                                         .kubeconfig = folder_ / "kubeconfig",
                                         .user_agent = "contract-test",
                                         .rotated_certificate = ""});
    CHECK(connected.ok(), "{}", connected.status());
    transport_ = *std::move(connected);
    CHECK(harness::WaitFor(std::chrono::minutes{2}, [this] { return IsReady(); }),
          "kube-apiserver is not ready: {}", harness::ReadFile(folder_ / "kube-apiserver.log"));
  }
  bool IsReady() {
    const auto code = std::make_shared<std::promise<int>>();
    transport_->Begin({.path = "/readyz"}, After(clock_, std::chrono::seconds{5}),
                      [code](const StatusOr<apiclient::Response>& answer) {
                        code->set_value(answer.ok() ? answer->code : 0);
                      });
    return code->get_future().get() == 200;
  }

  const Programs programs_;
  const RealClock clock_;
  fs::RealFileSystem files_;
  FakeLogSink sink_;
  harness::TempDir folder_{"real-api"};
  const std::string etcd_url_ = UrlOf(harness::FreePort()), peer_url_ = UrlOf(harness::FreePort());
  const int port_ = harness::FreePort();
  pid_t etcd_ = 0, apiserver_ = 0;
  std::unique_ptr<apiclient::Transport> transport_;
};

}  // namespace splitlet::fake_api
