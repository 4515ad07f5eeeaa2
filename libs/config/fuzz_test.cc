#include <gtest/gtest.h>

#include "libs/base/mutate.h"
#include "libs/config/kubelet_config.h"
#include "libs/config/scalars.h"
#include "libs/config/test_head.h"

namespace splitlet::config {
namespace {

const std::vector<std::string> kDocuments = {
    kHead +
        "staticPodPath: m\nstaticPodURLHeader: {X-A: [b, c]}\nmaxPods: 7\nsyncFrequency: 1m30s\n"
        "clusterDNS: [10.0.0.10]\nfeatureGates: {A: true}\nloggi: {}\n",
    kHead +
        "evictionHard: {memory.available: 100Mi, nodefs.available: 10%}\n"
        "evictionSoft:\n  memory.available: 1Gi\nevictionSoftGracePeriod: {memory.available: 1m}\n"
        "registerWithTaints:\n- {key: a, value: b, effect: NoSchedule}\nreservedMemory: []\n",
    kHead +
        "splitlet:\n  containerGCMinAge: 0s\n  users: {pleg: 901, gc: 0}\n  lockFailPoints: no\n"
        "logging: {format: json, flushFrequency: 5000000000, vmodule: [{filePattern: a, verbosity: "
        "1}]}\n"
        "tracing: {endpoint: \"localhost:4317\", samplingRatePerMillion: 100}\n",
    R"({"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":5,
"authentication":{"x509":{"clientCAFile":"/ca"},"webhook":{"enabled":true,"cacheTTL":"2m"}}})",
    kHead +
        "systemReserved: &r {cpu: 500m, memory: 1Gi}\nkubeReserved: *r\ntopologyManagerScope: "
        "pod\n",
};

const std::vector<std::string> kTokens = {"*r",
                                          "&r ",
                                          "<<: ",
                                          "[",
                                          "]",
                                          "{",
                                          "}",
                                          ": ",
                                          "- ",
                                          "\n",
                                          "\"",
                                          "'",
                                          "|",
                                          ">",
                                          "!!str ",
                                          "null",
                                          "1e400",
                                          "0x10",
                                          "\\n",
                                          "---\n",
                                          "\t",
                                          "#",
                                          "?",
                                          "~",
                                          "-1",
                                          "%",
                                          "9223372036854775808",
                                          "\"a\\nb\": 1\n",
                                          "maxPods",
                                          "splitlet",
                                          "users: ",
                                          ".nan"};

TEST(ConfigFuzz, WhateverTheFileHoldsTheAnswerIsAConfigurationOrOneLine) {
  Random random(20260105);
  size_t good = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string& from = kDocuments[random.Below(kDocuments.size())];
    const std::string text = Mutate(from, kDocuments, kTokens, random);
    SCOPED_TRACE(text);
    const auto config = KubeletConfig::Load(
        "k.yaml", text, random.Below(2) == 0 ? Reading::kStrict : Reading::kLenient);
    if (config.ok()) {
      ++good;
      continue;
    }
    const std::string line(Message(config.status()));
    ASSERT_EQ(config.status().code(), StatusCode::kInvalidArgument);
    ASSERT_TRUE(line.starts_with("k.yaml: ")) << line;
    ASSERT_TRUE(std::ranges::none_of(line, [](unsigned char c) { return c < ' ' || c == 127; }))
        << line;
  }
  EXPECT_GT(good, 20u) << "hardly a text survives its mutations";
}

TEST(ConfigFuzz, ScalarsAreReadOrRefused) {
  const std::vector<std::string> corpus = {"1m30s",
                                           "-1.5h",
                                           "100ms",
                                           "10Mi",
                                           "0.5",
                                           "1e3",
                                           "-200m",
                                           "15%",
                                           "7.5%",
                                           "node-a.example",
                                           "9223372036854775807ns"};
  const std::vector<std::string> tokens = {
      "-", "--", "+", ".", "e", "E-", "%", "0", "9", "Ki", "s", std::string(1, '\0'), "\xC2\xB5s"};
  Random random(20260106);
  for (int i = 0; i < 300'000; ++i) {
    const std::string text = Mutate(corpus[random.Below(corpus.size())], corpus, tokens, random);
    const auto millis = ParseQuantityMillis(text);
    const auto whole = ParseQuantity(text);
    ASSERT_EQ(millis.ok(), whole.ok()) << text;
    ASSERT_TRUE(!millis.ok() || (*millis > 0) == (*whole > 0) || *millis < 0) << text;
    const double percent = ParsePercent(text).value_or(0);
    ASSERT_TRUE(percent >= 0 && percent <= 100) << text;
    const Duration time = ParseGoDuration(text).value_or(Duration{0});
    ASSERT_TRUE(time >= Duration{0} || text.starts_with('-')) << text;
    static_cast<void>(CheckNodeName(text).ok());
  }
}

}  // namespace
}  // namespace splitlet::config
