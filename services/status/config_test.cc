#include "services/status/config.h"

#include <gtest/gtest.h>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::status {
namespace {

TEST(StatusConfigOfAFile, FeatureGatesOfWhatTheApiServerIsShown) {
  using Names = std::vector<std::string>;
  const Names all = {"RestartAllContainersOnContainerExits"};
  const struct {
    const char* name;
    std::map<std::string, bool> gates;
    Names declared;
    bool condition;
  } kCases[] = {
      {"nothing is said", {}, all, true},
      {"nothing is declared", {{"NodeDeclaredFeatures", false}}, {}, true},
      {"the feature is off", {{"RestartAllContainersOnContainerExits", false}}, {}, true},
      {"what it needs is off", {{"ContainerRestartRules", false}}, {}, true},
      {"no condition", {{"PodReadyToStartContainersCondition", false}}, all, false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    config::KubeletConfig file;
    file.gates = config::FeatureGates(c.gates);
    const StatusConfig config = LoadStatusConfig(file, {});
    EXPECT_EQ(config.node.declared_features, c.declared);
    EXPECT_EQ(config.sandbox_condition, c.condition);
  }
}

}  // namespace
}  // namespace splitlet::status
