#pragma once

/// A node with node-api and the six other processes, on the fake runtime and without an API server.
/// A client with a certificate of `ca_` has all rights.
/// Threads: one.

#include <memory>
#include <string>

#include "libs/https/test_client.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {

class ServingTest : public IntegrationTest {
 protected:
  /// The node without node-api. `more_config`: lines after the common ones.
  void StartNodeToServe(const std::string& more_config = "",
                        const std::map<std::string, uint32_t>& users = {});
  /// Starts node-api as well.
  void StartServingNode() {
    StartNodeToServe();
    node_->StartProcess("node-api");
  }
  /// Null: the port is closed, or the handshake failed.
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
