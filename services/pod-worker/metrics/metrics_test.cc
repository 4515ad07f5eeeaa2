#include "services/pod-worker/metrics/metrics.h"

#include <gmock/gmock.h>

namespace splitlet::pod_worker {
namespace {

constexpr uint64_t kMega = 1024 * 1024, kGiga = 1024 * kMega;

TEST(Metrics, APullIsCountedUnderTheSizeOfItsImage) {
  for (const auto& [bytes, label] : std::vector<std::pair<uint64_t, std::string>>{
           {0, "N/A"},
           {1, "0-10MB"},
           {10 * kMega - 1, "0-10MB"},
           {10 * kMega, "10MB-100MB"},
           {100 * kMega, "100MB-500MB"},
           {500 * kMega, "500MB-1GB"},
           {kGiga, "1GB-5GB"},
           {5 * kGiga, "5GB-10GB"},
           {10 * kGiga, "10GB-20GB"},
           {20 * kGiga, "20GB-30GB"},
           {30 * kGiga, "30GB-40GB"},
           {40 * kGiga, "40GB-60GB"},
           {60 * kGiga, "60GB-100GB"},
           {100 * kGiga, "GT100GB"},
       }) {
    prometheus::Registry registry;
    Metrics metrics(registry);
    metrics.ObservePull(bytes, 1s);
    std::vector<std::string> labels;
    for (const auto& family : metrics.image_pull.Collect())
      for (const auto& metric : family.metric) {
        EXPECT_EQ(metric.histogram.sample_count, 1U);
        for (const auto& one : metric.label) labels.push_back(one.name + "=" + one.value);
      }
    EXPECT_THAT(labels, testing::ElementsAre("image_size_in_bytes=" + label)) << bytes;
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
