#include "services/status/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

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

/// API servers send such pods and requests to a node that declares them.
TEST(StatusConfigOfAFile, DeclaresNothingThatTheNodeRefuses) {
  const std::map<std::string, bool> kSets[] = {{},
                                               {{"AllAlpha", true}, {"AllBeta", true}},
                                               {{"InPlacePodLevelResourcesVerticalScaling", true},
                                                {"InPlacePodVerticalScalingInitContainers", true},
                                                {"ExtendWebSocketsToKubelet", true}}};
  for (const auto& set : kSets) {
    config::KubeletConfig file;
    file.gates = config::FeatureGates(set);
    for (const std::string& feature : LoadStatusConfig(file, {}).node.declared_features) {
      const auto gates = config::KnownGates();
      const auto gate = std::ranges::find(gates, feature, &config::FeatureGate::name);
      ASSERT_NE(gate, gates.end()) << feature;
      EXPECT_TRUE(file.gates.DoneHere(*gate)) << feature;
    }
  }
  const auto gates = config::KnownGates();
  for (const std::string& feature : NodeSettings().declared_features)
    EXPECT_TRUE(config::FeatureGates().DoneHere(
        *std::ranges::find(gates, feature, &config::FeatureGate::name)));
}

}  // namespace
}  // namespace splitlet::status
