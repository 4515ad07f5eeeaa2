#pragma once

/// A node around the service `status`, with an API server in memory; the way to it can be cut for
/// each purpose.
/// Threads: one.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "k8s.io/api/coordination/v1/lease.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/base/fail_point.h"
#include "libs/fake_api/api_server.h"
#include "services/status/status_fixture.h"

namespace splitlet::status {

/// A way to the server that can be cut, or swallow requests.
struct Way {
  bool cut = false, swallows = false;
  Status error = Unavailable("connection refused");  // of one that is cut
  apiclient::Transport* instead = nullptr;           // another server; null: the first
  std::string unknown;  // a field of JSON that the server has never heard of; empty: none
};

class Relay final : public apiclient::Transport {
 public:
  Relay(apiclient::Transport& to, const Way& way) : to_(to), way_(way) {}
  void Begin(apiclient::Request request, Deadline deadline, Done done) override {
    if (way_.swallows) return;
    if (way_.cut) return done(way_.error);
    const std::string field = "\"" + way_.unknown + "\":";
    const size_t at = way_.unknown.empty() ? std::string::npos : request.body.find(field);
    if (at != std::string::npos) request.body.insert(at + 1, "not");
    To().Begin(std::move(request), std::move(deadline), std::move(done));
  }
  void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                   Done done) override {
    if (way_.swallows) return;
    if (way_.cut) return done(way_.error);
    To().BeginStream(std::move(request), std::move(deadline), std::move(on_data), std::move(done));
  }

 private:
  apiclient::Transport& To() const { return way_.instead == nullptr ? to_ : *way_.instead; }

  apiclient::Transport& to_;
  const Way& way_;
};

inline constexpr const char* kTestNode = "/api/v1/nodes/node-a";
inline constexpr const char* kTestLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-a";

class ClusterTest : public StatusServiceTest {
 protected:
  ClusterTest() {
    config.in_cluster = true;
    config.node = {.name = "node-a", .port = 10250};
    config.register_node = true;
    files.SetUsage("/", {.capacity_bytes = 1ULL << 40});
    EXPECT_TRUE(files.Replace("/proc/sys/kernel/random/boot_id", "boot-1\n", {}).ok());
    server.PutJson("/api/v1/namespaces/kube-node-lease",
                   R"({"apiVersion":"v1","kind":"Namespace",)"
                   R"("metadata":{"name":"kube-node-lease"}})");
  }
  ~ClusterTest() override {
    FailPoints::SetCurrent(nullptr);
    if (process != nullptr) Crash();  // before the server
  }
  void AddApi(StatusDeps& deps) override {
    deps.node_api = std::make_unique<Relay>(server, node_way);
    deps.lease_api = std::make_unique<Relay>(server, lease_way);
    deps.list_addresses = [] {
      return std::vector<node::InterfaceAddress>{{.interface = "eth0", .address = "192.0.2.1"}};
    };
    deps.api_wait = [this](Clock::Time until, const std::function<bool()>& done) {
      return all.WaitInStep(until, done);
    };
  }

  kube::Node ServerNode() const {
    kube::Node found;
    EXPECT_TRUE(server.Get(kTestNode, found));
    return found;
  }
  k8s::io::api::core::v1::NodeCondition ServerCondition(const std::string& type) const {
    const kube::Node found = ServerNode();
    for (const auto& one : found.status().conditions())
      if (one.type() == type) return one;
    return {};
  }
  k8s::io::api::coordination::v1::Lease ServerLease() const {
    k8s::io::api::coordination::v1::Lease lease;
    EXPECT_TRUE(server.Get(kTestLease, lease));
    return lease;
  }
  /// How old the lease is.
  Duration LeaseAge() const {
    const auto time = ServerLease().spec().renew_time();
    return clock.WallNow() - WallFromNanos(time.seconds() * 1'000'000'000 + time.nanos());
  }
  v1::NodeRecord Record() {
    const auto record = podstatus->Find("node");
    return record == nullptr ? v1::NodeRecord() : record->node();
  }
  ptrdiff_t Events(const std::string& reason) const {
    return std::ranges::count(process->service->ListEvents("node-a"), reason,
                              &v1::EventRecord::reason);
  }
  /// Requests since the last call.
  size_t Asked(const std::string& method, const std::string& prefix) {
    const auto seen = server.TakeSeen();
    return static_cast<size_t>(std::ranges::count_if(seen, [&](const auto& one) {
      return one.method == method && one.path.starts_with(prefix);
    }));
  }
  size_t Logged(LogLevel level) const {
    const auto lines = log_sink.lines();
    return static_cast<size_t>(std::ranges::count(lines, level, &FakeLogSink::Line::level));
  }

  fake_api::FakeApiServer server{clock};
  Way node_way, lease_way;
};

}  // namespace splitlet::status
