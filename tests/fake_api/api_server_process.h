#pragma once

/// A test's fake-api: on loopback, killed with the test, controlled over its control socket. After
/// a restart it has the same keys and port, and no objects.
/// Threads: one.
/// Errors:  a server that cannot be started fails the test; those of the commands.
/// Source:  tests/fake_api/README.md.

#include <sys/types.h>

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "tests/fake_cri/control.h"

namespace splitlet::fake_api {

class ApiServerProcess {
 public:
  struct Options {
    std::string program;  // path of fake-api
    std::string dir;      // folder of this server only
    std::string node = "node";
    std::vector<std::string> flags;  // "--rbac"
  };
  explicit ApiServerProcess(Options options);
  ~ApiServerProcess();  // kills the process
  ApiServerProcess(const ApiServerProcess&) = delete;
  ApiServerProcess& operator=(const ApiServerProcess&) = delete;

  /// Returns when the server answers.
  void Start();
  void Signal(int signal) const;
  void Kill(int signal);
  pid_t pid() const { return pid_; }
  /// Path of the kubeconfig for "admin", "node" or "bootstrap".
  std::string Kubeconfig(const std::string& user = "admin") const;
  std::string url() const;  // "https://127.0.0.1:12345"

  /// Sends a line of the README's table.
  StatusOr<std::string> Send(const std::string& line);
  Status Put(const std::string& path, const std::string& json);
  /// JSON.
  StatusOr<std::string> Get(const std::string& path);
  Status Delete(const std::string& path);
  Status SetAway(bool away);
  Status ClearFaults() { return Send("faults off").status(); }

 private:
  const Options options_;
  fake_cri::Control control_;
  pid_t pid_ = 0;
  std::string port_ = "0";
};

}  // namespace splitlet::fake_api
