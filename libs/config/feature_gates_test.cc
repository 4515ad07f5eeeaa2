#include "libs/config/feature_gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "libs/config/kubelet_config.h"
#include "libs/config/test_head.h"

namespace splitlet::config {
namespace {

StatusOr<KubeletConfig> LoadGates(const std::string& body) {
  return KubeletConfig::Load("k.yaml", kHead + body, Reading::kLenient);
}

TEST(FeatureGatesOfAFile, WhatIsSetWinsOverAllAlphaAndAllBeta) {
  const struct {
    const char *name, *gates, *gate;
    bool want;
  } kCases[] = {
      {"beta is on", "", "ContainerCheckpoint", true},
      {"alpha is off", "", "MemoryQoS", false},
      {"a gate is set", "ContainerCheckpoint: false", "ContainerCheckpoint", false},
      {"all of alpha", "AllAlpha: true", "MemoryQoS", true},
      {"all of alpha but one", "AllAlpha: true, MemoryQoS: false", "MemoryQoS", false},
      {"alpha is not beta", "AllAlpha: true", "SELinuxMount", false},
      {"all of beta", "AllBeta: true", "SELinuxMount", true},
      {"a gate of GA is neither",
       "AllBeta: false, AllAlpha: false, ClientsAllowCARotation: true, "
       "KubeletSeparateDiskGC: true, PreventStaticPodAPIReferences: true",
       "CustomCPUCFSQuotaPeriod", true},
      {"a locked gate as it is", "NodeSwap: true", "NodeSwap", true},
      {"a deprecated gate", "KubeletRegistrationGetOnExistsOnly: false",
       "KubeletRegistrationGetOnExistsOnly", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto config = LoadGates(fmt::format("featureGates: {{{}}}\n", c.gates));
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->gates.Enabled(c.gate), c.want);
  }
}

TEST(FeatureGatesOfAFile, UnsetIsToldApartFromTheDefault) {
  const auto said = [](const std::string& gates) {
    return LoadGates("featureGates: {" + gates + "}\n")->gates.Said("EventedPLEG");
  };
  EXPECT_EQ(said(""), std::nullopt);
  EXPECT_EQ(said("EventedPLEG: false"), false);
  EXPECT_EQ(said("AllAlpha: false"), false);
  EXPECT_EQ(said("AllAlpha: false, EventedPLEG: true"), true);
}

TEST(FeatureGatesOfAFile, WhatCannotBeEndsTheStart) {
  const struct {
    const char *name, *body, *want;
  } kCases[] = {
      {"unknown", "featureGates: {Nonsense: true}\n",
       "featureGates: unrecognized feature gate: Nonsense (line 3)"},
      {"locked to true", "featureGates: {NodeSwap: false}\n",
       "featureGates: cannot set feature gate NodeSwap to false, feature is locked to true "
       "(line 3)"},
      {"locked to false", "featureGates: {GitRepoVolumeDriver: true}\n",
       "featureGates: cannot set feature gate GitRepoVolumeDriver to true, feature is locked to "
       "false (line 3)"},
      {"one that the node cannot be without",
       "featureGates: {PreventStaticPodAPIReferences: false}\n",
       "featureGates: PreventStaticPodAPIReferences: this node cannot be without the feature, "
       "false is refused (line 3)"},
      {"a quota period without its gate",
       "featureGates: {CustomCPUCFSQuotaPeriod: false}\ncpuCFSQuotaPeriod: 50ms\n",
       "cpuCFSQuotaPeriod: it needs the feature gate CustomCPUCFSQuotaPeriod (line 4)"},
      {"an end of pods without its gate",
       "featureGates: {GracefulNodeShutdown: false}\nshutdownGracePeriod: 30s\n",
       "shutdownGracePeriod: it needs the feature gate GracefulNodeShutdown (line 4)"},
      {"groups of pods without their gate",
       "featureGates: {GracefulNodeShutdownBasedOnPodPriority: false}\n"
       "shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]\n",
       "shutdownGracePeriodByPodPriority: it needs the feature gate "
       "GracefulNodeShutdownBasedOnPodPriority (line 4)"},
      {"a back-off without its gate",
       "featureGates: {KubeletCrashLoopBackOffMax: false}\n"
       "crashLoopBackOff: {maxContainerRestartPeriod: 60s}\n",
       "crashLoopBackOff.maxContainerRestartPeriod: it needs the feature gate "
       "KubeletCrashLoopBackOffMax (line 4)"},
      {"a policy without its gate",
       "featureGates: {KubeletEnsureSecretPulledImages: false}\n"
       "imagePullCredentialsVerificationPolicy: AlwaysVerify\n",
       "imagePullCredentialsVerificationPolicy: it needs the feature gate "
       "KubeletEnsureSecretPulledImages (line 4)"},
      {"a signed certificate without its gate",
       "featureGates: {RotateKubeletServerCertificate: false}\nserverTLSBootstrap: true\n",
       "serverTLSBootstrap: it needs the feature gate RotateKubeletServerCertificate (line 4)"},
      {"JSON without its gate",
       "featureGates: {LoggingBetaOptions: false}\nlogging: {format: json}\n",
       "logging.format: it needs the feature gate LoggingBetaOptions (line 4)"},
      {"an amount kept for a class",
       "featureGates: {QOSReserved: true}\nqosReserved: {memory: 10%}\n",
       "qosReserved: the feature gate QOSReserved does nothing on this node (line 4)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Message(LoadGates(c.body).status()), std::string("k.yaml: ") + c.want);
  }
}

TEST(FeatureGatesOfAFile, WhatIsNotBuiltHereIsNamedWhenItIsTurnedOn) {
  const auto ignored = [](const std::string& gates) {
    return LoadGates("featureGates: {" + gates + "}\n").value().without_effect;
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(ignored(""), Paths{});
  EXPECT_EQ(ignored("InPlacePodVerticalScaling: true"),
            Paths{"featureGates.InPlacePodVerticalScaling"});
  EXPECT_EQ(ignored("SELinuxMount: false, HPAScaleToZero: true, EnvFiles: false"), Paths{});
  const Paths alpha = ignored("AllAlpha: true, PodsAPI: false");
  EXPECT_NE(std::ranges::find(alpha, "featureGates.CRIListStreaming"), alpha.end());
  EXPECT_EQ(std::ranges::find(alpha, "featureGates.PodsAPI"), alpha.end());
}

TEST(FeatureGatesOfAFile, WhatTheyTurnOff) {
  const auto off = LoadGates(
      "featureGates: {GracefulNodeShutdown: false, KubeletEnsureSecretPulledImages: false}\n"
      "shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 5}]\n");
  ASSERT_TRUE(off.ok()) << off.status();
  EXPECT_TRUE(off->shutdown_grace_period_by_pod_priority.empty());
  EXPECT_EQ(off->without_effect, std::vector<std::string>{"shutdownGracePeriodByPodPriority"});
  EXPECT_TRUE(LoadGates("featureGates: {GracefulNodeShutdown: false}\n"
                        "shutdownGracePeriodByPodPriority: []\n")
                  ->without_effect.empty());
  EXPECT_EQ(off->image_pull_credentials_verification_policy, "NeverVerify");
}

TEST(FeatureGates, TheTable) {
  EXPECT_EQ(KnownGates().size(), 242u);
  const FeatureGates none;
  for (const FeatureGate& gate : KnownGates()) {
    SCOPED_TRACE(gate.name);
    EXPECT_EQ(none.Enabled(gate.name), gate.OnByDefault());
    EXPECT_FALSE(gate.here == GateHere::kSwitch && gate.Locked());
    EXPECT_EQ(none.DoneHere(gate), gate.OnByDefault() && gate.here != GateHere::kAbsent);
  }
  EXPECT_TRUE(none.TurnedOnInVain().empty());
}

}  // namespace
}  // namespace splitlet::config
