#include "libs/config/memory_qos.h"

#include <gtest/gtest.h>

#include "libs/config/kubelet_config.h"
#include "libs/config/test_head.h"

namespace splitlet::config {
namespace {

TEST(MemoryQosOfAFile, OffUnlessItsGateIsOn) {
  const struct {
    const char *name, *body;
    MemoryQos want;
  } kCases[] = {
      {"nothing said", "", {}},
      {"another gate", "featureGates: {EventedPLEG: true}\n", {}},
      {"off", "featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.5\n", {}},
      {"on", "featureGates: {MemoryQoS: true}\n", {.enabled = true}},
      {"with all it has",
       "featureGates: {MemoryQoS: true}\nmemoryThrottlingFactor: 0.5\n"
       "memoryReservationPolicy: TieredReservation\n",
       {.enabled = true, .throttling_factor = 0.5, .tiered = true}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto config = KubeletConfig::Load("k.yaml", kHead + c.body, Reading::kStrict);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(ReadMemoryQos(kHead + c.body).value(), c.want);
  }
  EXPECT_EQ(ReadMemoryQos("a: [").status().code(), StatusCode::kInvalidArgument);
  const auto refused = KubeletConfig::Load(
      "k.yaml", kHead + "memoryReservationPolicy: TieredReservation\n", Reading::kStrict);
  EXPECT_EQ(Message(refused.status()),
            "k.yaml: memoryReservationPolicy: TieredReservation needs the feature gate MemoryQoS "
            "(line 3)");
}

TEST(MemoryQosOfAFile, WhatDoesNothingWithoutItIsNamed) {
  const auto ignored = [](const std::string& body) {
    return KubeletConfig::Load("k.yaml", kHead + body, Reading::kStrict).value().without_effect;
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(ignored("featureGates: {MemoryQoS: true}\nmemoryThrottlingFactor: 0.8\n"), Paths{});
  EXPECT_EQ(ignored("memoryThrottlingFactor: 0.8\n"), Paths{"memoryThrottlingFactor"});
  EXPECT_EQ(ignored("memoryThrottlingFactor: 0.9\n"), Paths{}) << "the default";
  EXPECT_EQ(ignored("featureGates: {AllAlpha: true, MemoryQoS: false}\n"
                    "memoryThrottlingFactor: 0.8\n")
                .front(),
            "memoryThrottlingFactor");
}

}  // namespace
}  // namespace splitlet::config
