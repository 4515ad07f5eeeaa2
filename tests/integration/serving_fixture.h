#pragma once

/// A node with node-api beside its six, on the fake runtime and without an API server: who shows a
/// certificate of `ca_` may do everything.
/// Threads: one.

#include <memory>
#include <string>

#include "libs/https/test_client.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {

class ServingTest : public IntegrationTest {
 protected:
  /// The node without node-api. `more_config`: lines after those that all have.
  void StartNodeToServe(const std::string& more_config = "",
                        const std::map<std::string, uint32_t>& users = {});
  /// And node-api.
  void StartServingNode() {
    StartNodeToServe();
    node_->StartProcess("node-api");
  }
  /// One that the kernel gives; nobody else is likely to be given it before the node takes it.
  static uint16_t FreePort();
  /// Null: nobody listens, or the handshake failed.
  std::unique_ptr<https::TestClient> Connect();
  /// "200 body"; empty: no answer.
  std::string Ask(const std::string& method, const std::string& target,
                  const std::string& body = "");

  const harness::TempDir files_{"ck"};  // certificates and keys
  const https::TestIdentity ca_{{.common_name = "clients", .usage = "CA"}}, server_{{}};
  const https::TestIdentity client_{
      {.common_name = "admin", .organizations = {"ops"}, .usage = "clientAuth"}, &ca_};
  uint16_t port_ = 0;
};

}  // namespace splitlet::integration
