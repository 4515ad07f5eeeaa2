#pragma once

/// A node of an API server (fake-api) on the real containerd of this test program, with node-api.
/// Threads: one.
/// Errors:  a program that cannot be started fails the test.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"
#include "tests/e2e/fixture.h"
#include "tests/fake_api/api_server_process.h"

namespace splitlet::e2e {

inline constexpr const char* kNodePath = "/api/v1/nodes/node-1";
inline constexpr const char* kPodsPath = "/api/v1/namespaces/default/pods";

/// A pod for the node in namespace default, with one container `app` with an image of the local
/// stack. JSON.
struct PodText {
  std::string name;
  std::string script;             // script for the shell; empty: the sandbox image, which only
                                  // waits
  std::string of_metadata = {};   // more of metadata: `,"labels":{}`
  std::string of_spec = {};       // more of spec
  std::string of_container = {};  // more of the container
  std::string image = "splitlet.local/busybox:1";
  int grace = 1;

  std::string Json() const;
};

class ClusterTest : public E2eTest {
 protected:
  void TearDown() override;
  void RemoveWantedPods() override;

  /// Returns when the server shows the node Ready. `flags`: additional flags of the node.
  void StartCluster(const std::vector<std::string>& flags = {});
  uint16_t node_api_port() const { return port_; }

  static std::string PathOf(const std::string& pod) { return std::string(kPodsPath) + "/" + pod; }
  void CreatePod(const PodText& pod);

  template <class T>
  std::optional<T> Read(const std::string& path) {
    const auto json = api_->Get(path);
    if (!json.ok()) return std::nullopt;
    T object;
    const auto read = kube::DecodeInto(*json, path, kube::Strictness::kLenient, object);
    EXPECT_TRUE(read.ok()) << read.status();
    return object;
  }
  std::vector<k8s::io::api::core::v1::Pod> PodsAtServer();
  std::string PhaseOf(const std::string& pod);  // "gone" if the pod does not exist
  bool NodeIs(const std::string& condition, const std::string& status);

  void ExpectPhase(const std::string& pod, const std::string& phase);
  /// True if all of them are Running and ready at the server.
  void ExpectAllReady(const std::vector<std::string>& pods);
  void ExpectNoPodsAtServer();
  /// True if nothing of any pod is left, without a request to gc.
  void ExpectNothingLeft();

  std::unique_ptr<harness::TempDir> api_dir_;
  std::unique_ptr<fake_api::ApiServerProcess> api_;

 private:
  std::string Config() const;

  uint16_t port_ = 0;
};

}  // namespace splitlet::e2e
