#pragma once

/// fake-api, and the node on it that a benchmark measures, as an administrator sees them.
/// Threads: one; PodWatch stores what its connection's thread receives.
/// Errors:  a program that cannot be started, or a refused request, ends the benchmark.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libs/apiclient/transport.h"
#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/fs/real_file_system.h"
#include "libs/https/test_pki.h"
#include "tests/bench/no_log.h"
#include "tests/fake_api/api_server_process.h"
#include "tests/harness/child.h"

namespace splitlet::bench {

/// Time limit, after which the benchmark ends.
inline constexpr Duration kLimit = std::chrono::seconds{300};

/// The node `node-1` has a kubelet's defaults. Its HTTPS API is on a port of its own, for clients
/// with the certificate `client()`.
class ClusterApi {
 public:
  ClusterApi();

  std::string Config() const;  // a KubeletConfiguration without its head
  std::vector<std::string> Flags() const;
  uint16_t node_api_port() const { return port_; }
  const https::TestIdentity& client() const { return client_; }

  /// Sends requests as fast as eight connections allow; returns when all are answered.
  void Create(const std::vector<std::string>& pods);
  void Delete(const std::vector<std::string>& names);
  apiclient::Transport& transport() { return *transport_; }
  fake_api::ApiServerProcess& process() { return process_; }
  const Clock& clock() const { return clock_; }

 private:
  void SendAll(const std::vector<apiclient::Request>& requests);

  const RealClock clock_;
  fs::RealFileSystem files_;
  NoLog sink_;
  const harness::TempDir dir_{"ba"};
  fake_api::ApiServerProcess process_;
  const uint16_t port_;
  const https::TestIdentity ca_{{.common_name = "clients", .usage = "CA"}};
  const https::TestIdentity client_{
      {.common_name = "admin", .organizations = {"system:masters"}, .usage = "clientAuth"}, &ca_};
  std::unique_ptr<apiclient::Transport> transport_;
};

/// A pod of the node with one container `app`; further fields of the container as JSON:
/// `,"args":[]`.
std::string PodJson(const std::string& name, const std::string& of_container,
                    int64_t grace_seconds = 1);

/// Records when the server first had each state of a pod, by a watch over TLS.
class PodWatch {
 public:
  enum class State { kRunning, kReady, kGone };

  /// The watch is open on return. The server ends it after a while, so each part has its own.
  explicit PodWatch(ClusterApi& api);
  ~PodWatch();
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

  Clock::Time Await(const std::string& name, State state);
  /// The last time over all pods.
  Clock::Time AwaitAll(const std::vector<std::string>& names, State state);

 private:
  void OnData(std::string_view data);
  void OnLine(std::string_view line, Clock::Time now);
  std::optional<Clock::Time> Seen(const std::string& name, State state) const;

  const Clock& clock_;
  const std::shared_ptr<CancelToken> ending_;
  std::string rest_;  // used by the connection's thread
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, State>, Clock::Time> seen_;
  bool begun_ = false, ended_ = false;
};

}  // namespace splitlet::bench
