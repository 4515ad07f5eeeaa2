#include "services/node-api/pages/configz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"
#include "services/node-api/pages/file_fields.h"

namespace splitlet::node_api {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Shown(const std::string& body, const daemon::Flags& flags = {}) {
  const std::string content =
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + body;
  const auto file =
      config::KubeletConfig::Load("k.yaml", content, config::Reading::kStrict).value();
  return ConfigzText(file, flags, ReadFileFields(content).value());
}

TEST(Configz, ShowsWhatNobodySetsAsAKubeletDoes) {
  const std::string all = Shown("");
  for (const char* part : {
           R"("enableProfilingHandler":true,"enableDebugFlagsHandler":true)",
           R"("hairpinMode":"promiscuous-bridge")",
           R"("volumeStatsAggPeriod":"1m0s")",
           R"("crashLoopBackOff":{"maxContainerRestartPeriod":"5m0s"})",
           R"("userNamespaces":{"idsPerPod":65536})",
           R"("imagePullCredentialsVerificationPolicy":"NeverVerifyPreloadedImages")",
           R"("containerLogMaxSize":"10Mi")",
           R"("logging":{"format":"text","flushFrequency":"5s","verbosity":0,"options":)",
           R"("enforceNodeAllocatable":["none"])",
           R"("memoryThrottlingFactor":0.9)",
           R"("cpuManagerPolicy":"none","cpuManagerReconcilePeriod":"10s")",
           R"("topologyManagerScope":"container")",
           R"("oomScoreAdj":-999,"maxOpenFiles":1000000)",
           R"("failSwapOn":false)",
           R"("iptablesMasqueradeBit":14,"iptablesDropBit":15)",
           R"("memorySwap":{})",
           R"("evictionHard":{"imagefs.available":"15%")",
           R"("shutdownGracePeriod":"0s")",
       })
    EXPECT_THAT(all, HasSubstr(part));
}

TEST(Configz, LeavesOutWhatIsEmptyWhereAKubeletDoes) {
  EXPECT_THAT(Shown("kernelMemcgNotification: true\n"),
              HasSubstr(R"("kernelMemcgNotification":true)"));
  const std::string all = Shown("evictionHard: {}\n");
  for (const char* key : {"staticPodPath",
                          "staticPodURL",
                          "staticPodURLHeader",
                          "clusterDNS",
                          "clusterDomain",
                          "registerWithTaints",
                          "kernelMemcgNotification",
                          "readOnlyPort",
                          "rotateCertificates",
                          "serverTLSBootstrap",
                          "protectKernelDefaults",
                          "podsPerCore",
                          "evictionHard",
                          "evictionSoft",
                          "evictionMaxPodGracePeriod",
                          "featureGates",
                          "systemReserved",
                          "kubeReservedCgroup",
                          "reservedSystemCPUs",
                          "tracing",
                          "shutdownGracePeriodByPodPriority",
                          "allowedUnsafeSysctls",
                          "preloadedImagesVerificationAllowlist",
                          "swapBehavior"})
    EXPECT_THAT(all, Not(HasSubstr(fmt::format("\"{}\"", key))));
}

TEST(Configz, ShowsWhatIsInForce) {
  const struct {
    const char* body;
    std::string want;
  } kCases[] = {
      {"enableProfilingHandler: false\n", R"("enableProfilingHandler":false)"},
      {"hairpinMode: none\niptablesDropBit: 3\n", R"("hairpinMode":"none")"},
      {"registerWithTaints: [{key: a, effect: NoSchedule}, {key: b, value: c, effect: "
       "NoExecute}]\n",
       R"("registerWithTaints":[{"key":"a","effect":"NoSchedule"},)"
       R"({"key":"b","value":"c","effect":"NoExecute"}])"},
      {"cgroupsPerQOS: true\n", R"("enforceNodeAllocatable":["pods"])"},
      {"cgroupsPerQOS: true\nenforceNodeAllocatable: [pods, kube-reserved-compressible]\n"
       "kubeReservedCgroup: /kube\n",
       R"("kubeReservedCgroup":"/kube","enforceNodeAllocatable":["pods",)"
       R"("kube-reserved-compressible"])"},
      {"cgroupsPerQOS: true\nenforceNodeAllocatable: [none]\n",
       R"("enforceNodeAllocatable":["none"])"},
      {"containerLogMaxSize: 5Mi\n", R"("containerLogMaxSize":"5Mi")"},
      {"volumeStatsAggPeriod: -1s\n", R"("volumeStatsAggPeriod":"-1s")"},
      {"memorySwap: {swapBehavior: LimitedSwap}\n",
       R"("memorySwap":{"swapBehavior":"LimitedSwap"})"},
      {"shutdownGracePeriodByPodPriority: [{priority: 5, shutdownGracePeriodSeconds: 7}]\n",
       R"("shutdownGracePeriodByPodPriority":[{"priority":5,"shutdownGracePeriodSeconds":7}])"},
      {"featureGates: {MemoryQoS: true}\nmemoryThrottlingFactor: 0.5\n",
       R"("memoryThrottlingFactor":0.5,"memoryReservationPolicy":"None","featureGates":)"
       R"({"MemoryQoS":true})"},
      {"tracing: {samplingRatePerMillion: 3}\n",
       R"("tracing":{"endpoint":"localhost:4317","samplingRatePerMillion":3})"},
      {"staticPodURL: 'https://u:p@a/pods?token=secret'\n",
       R"("staticPodURL":"https://xxxxx@a/pods?token=xxxxx")"},
      {"staticPodURL: http://a\nstaticPodURLHeader: {Authorization: [secret]}\n",
       R"("staticPodURLHeader":{"Authorization":["\u003cmasked\u003e"]})"},
      {"oomScoreAdj: -5\n", R"("oomScoreAdj":-999)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.body);
    EXPECT_THAT(Shown(c.body), HasSubstr(c.want));
  }
  daemon::Flags flags;
  flags.kubeconfig = "/kubeconfig";
  EXPECT_THAT(Shown("", flags), HasSubstr(R"("failSwapOn":true)"));
  EXPECT_THAT(Shown("", flags), HasSubstr(R"("makeIPTablesUtilChains":true)"));
  EXPECT_THAT(Shown("", flags), HasSubstr(R"("enforceNodeAllocatable":["pods"])"));
  EXPECT_THAT(Shown(""), HasSubstr(R"("makeIPTablesUtilChains":false)"));
}

}  // namespace
}  // namespace splitlet::node_api
