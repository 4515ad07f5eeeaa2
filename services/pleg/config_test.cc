#include "services/pleg/config.h"

#include <gtest/gtest.h>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::pleg {
namespace {

TEST(PlegConfigOfAFile, EventsAreTakenUnlessTheirGateIsSetToFalse) {
  const struct {
    const char* name;
    std::map<std::string, bool> gates;
    bool want;
  } kCases[] = {
      {"the gate is not set", {}, true},
      {"off", {{"EventedPLEG", false}}, false},
      {"on", {{"EventedPLEG", true}}, true},
      {"all of alpha is off", {{"AllAlpha", false}}, false},
      {"all of alpha but this", {{"AllAlpha", false}, {"EventedPLEG", true}}, true},
      {"another", {{"AllBeta", true}}, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    config::KubeletConfig file;
    file.gates = config::FeatureGates(c.gates);
    EXPECT_EQ(LoadPlegConfig(file, {}).value().event_streams, c.want);
  }
}

}  // namespace
}  // namespace splitlet::pleg
