#pragma once

/// config-source between files and an API server in memory. For its tests.
/// Threads: one.
/// Errors: as test failures.

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "libs/fake_api/api_server.h"
#include "services/config-source/config_source_fixture.h"

namespace splitlet::config_source {

inline std::string PathOf(const std::string& name) {
  return "/api/v1/namespaces/default/pods/" + name;
}

class ApiNode : public TestNode {
 public:
  ApiNode() {
    config.kubeconfig = "/etc/kubeconfig";
    api = &server;
  }
  ~ApiNode() {
    if (process != nullptr) Kill();
  }

  void PutNode() {
    server.PutJson("/api/v1/nodes/node-a",
                   R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-a"}})");
  }
  /// Bound to this node.
  static kube::Pod ApiPod(const std::string& name, const std::string& image = "nginx:1") {
    kube::Pod pod;
    pod.mutable_metadata()->set_name(name);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_spec()->set_node_name("node-a");
    pod.mutable_spec()->set_restart_policy("Always");
    pod.mutable_spec()->set_termination_grace_period_seconds(30);
    auto& container = *pod.mutable_spec()->add_containers();
    container.set_name("app");
    container.set_image(image);
    return pod;
  }
  void PutPod(const kube::Pod& pod) { server.Put(PathOf(pod.metadata().name()), pod); }
  /// As the server has it.
  kube::Pod AtServer(const std::string& name) const {
    kube::Pod pod;
    EXPECT_TRUE(server.Get(PathOf(name), pod)) << name;
    return pod;
  }
  /// "a b- c? d= e!": names, REMOVED "-", UNCONFIRMED "?", MIRROR "=", with a problem "!".
  std::string ShowApi() const {
    std::vector<std::string> names;
    desired.ForEach([&](const std::string&, const auto& record) {
      if (record->source() != "api") return;
      constexpr std::string_view marks = "xw?-=";
      std::string name = record->name();
      if (record->state() != v1::DesiredRecord::WANTED)
        name += marks[static_cast<size_t>(record->state())];
      if (!record->problem().empty()) name += "!";
      names.push_back(std::move(name));
    });
    std::sort(names.begin(), names.end());
    return fmt::format("{}", fmt::join(names, " "));
  }
  /// The record of the newest incarnation.
  std::shared_ptr<const v1::DesiredRecord> FindApi(const std::string& name) const {
    std::shared_ptr<const v1::DesiredRecord> found;
    desired.ForEach([&](const std::string&, const auto& record) {
      if (record->source() != "api" || record->name() != name) return;
      if (found == nullptr || found->incarnation() < record->incarnation()) found = record;
    });
    return found;
  }
  kube::Pod PodIn(const v1::DesiredRecord& record) const {
    kube::Pod pod;
    EXPECT_TRUE(pod.ParseFromString(record.pod()));
    return pod;
  }

  fake_api::FakeApiServer server{clock};
};

}  // namespace splitlet::config_source
