#include "libs/daemon/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/config/kubelet_config.h"

namespace splitlet::daemon {
namespace {

using testing::EndsWith;
using testing::StartsWith;

TEST(ApiServer, AProcessIsAKubeletToTheServer) {
  EXPECT_THAT(UserAgentOf("pod-worker"), StartsWith("kubelet/v1."));
  EXPECT_THAT(UserAgentOf("pod-worker"), EndsWith(") splitlet-pod-worker"));
}

TEST(ApiServer, FormOfWhatIsSent) {
  const struct {
    const char* name;
    const char* content_type;
    apiclient::ContentType want;
  } kCases[] = {
      {"unset it is protobuf", "", apiclient::ContentType::kProtobuf},
      {"protobuf", "application/vnd.kubernetes.protobuf", apiclient::ContentType::kProtobuf},
      {"JSON", "application/json", apiclient::ContentType::kJson},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    config::KubeletConfig config;
    config.api.content_type = c.content_type;
    EXPECT_EQ(ApiContentOf(config), c.want);
  }
}

TEST(ApiServer, ARotatedCertificateIsThatOfStatus) {
  config::KubeletConfig config;
  EXPECT_EQ(RotatedCertificateOf(config, "/pki"), "");
  config.api.rotate_certificates = true;
  EXPECT_EQ(RotatedCertificateOf(config, "/pki"), "/pki/kubelet-client-current.pem");
}

TEST(ApiServer, ARateOfNothingIsTheClientsOwn) {
  const struct {
    const char* name;
    int32_t qps, burst;
    double want_qps;
    int want_burst;
  } kCases[] = {
      {"as the file says", 50, 100, 50, 100},
      {"no rate: 5 a second", 0, 100, 5, 100},
      {"no burst: 10", 50, 0, 50, 10},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const ApiRate rate = ApiRateOf(c.qps, c.burst);
    EXPECT_EQ(rate.qps, c.want_qps);
    EXPECT_EQ(rate.burst, c.want_burst);
  }
}

}  // namespace
}  // namespace splitlet::daemon
