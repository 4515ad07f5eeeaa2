#include "services/gc/protect/eviction/local_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/gc/protect/eviction/test_usage.h"

namespace splitlet::gc {
namespace {

using testing::ElementsAre;

kube::Pod Limited(const char* volume_limit, const char* container_limit) {
  kube::Pod pod;
  auto& container = *pod.mutable_spec()->add_containers();
  container.set_name("app");
  if (container_limit != nullptr)
    (*container.mutable_resources()->mutable_limits())["ephemeral-storage"].set_string(
        container_limit);
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("tmp");
  auto& empty_dir = *volume.mutable_volume_source()->mutable_empty_dir();
  if (volume_limit != nullptr) empty_dir.mutable_size_limit()->set_string(volume_limit);
  return pod;
}

TEST(LocalStorage, TheFirstLimitThatIsPassed) {
  const struct {
    const char* name;
    kube::Pod pod;
    int64_t volume_bytes, layer, logs, rest;
    bool own_image_fs;
    std::optional<Exceeded> want;
  } kCases[] = {
      {"a volume above its limit", Limited("1Mi", nullptr), 2 * kMi, 0, 0, 2 * kMi, false,
       Exceeded{"emptydirfs.limit",
                "Usage of EmptyDir volume \"tmp\" exceeds the limit \"1Mi\". "}},
      {"exactly the limit", Limited("1Mi", nullptr), kMi, 0, 0, kMi, false, std::nullopt},
      {"a limit of nothing is none", Limited("0", nullptr), kMi, 0, 0, kMi, false, std::nullopt},
      {"no limit", Limited(nullptr, nullptr), kGi, kGi, kGi, kGi, false, std::nullopt},
      {"the pod above the sum of its limits", Limited(nullptr, "10Mi"), 0, kMi, kMi, 9 * kMi, false,
       Exceeded{"ephemeralpodfs.limit",
                "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. "}},
      {"layers count for the pod on any disk", Limited(nullptr, "10Mi"), 0, 11 * kMi, 0, 0, true,
       Exceeded{"ephemeralpodfs.limit",
                "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. "}},
      {"exactly the sum", Limited(nullptr, "10Mi"), 0, kMi, kMi, 8 * kMi, false, std::nullopt},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodUsage usage = Disk(c.layer, c.logs, c.rest);
    usage.limited_volumes["tmp"].bytes = c.volume_bytes;
    EXPECT_EQ(FindExceeded(c.pod, usage, c.own_image_fs), c.want);
  }
}

TEST(LocalStorage, AContainerAboveItsOwnBesideOneWithRoom) {
  kube::Pod pod = Limited(nullptr, "1Mi");
  auto& other = *pod.mutable_spec()->add_containers();
  other.set_name("other");
  (*other.mutable_resources()->mutable_limits())["ephemeral-storage"].set_string("1Gi");
  PodUsage usage = Disk(kMi, kMi, 0);
  const Exceeded want{"ephemeralcontainerfs.limit",
                      "Container app exceeded its local ephemeral storage limit \"1Mi\". "};
  EXPECT_EQ(FindExceeded(pod, usage, false), want);
  EXPECT_EQ(FindExceeded(pod, usage, true), std::nullopt) << "its layer is on another disk";
  usage.containers["app"].logs.bytes = kMi + 1;
  EXPECT_EQ(FindExceeded(pod, usage, true), want);
}

TEST(LocalStorage, OfATreeTooLargeToBeCountedWhatIsCountedCounts) {
  const struct {
    const char* name;
    kube::Pod pod;
    int64_t bytes;       // counted in each of the volume, the pod's directory and its logs
    const char* signal;  // nullptr: no limit is exceeded
  } kCases[] = {
      {"a volume below its limit", Limited("1Gi", nullptr), kMi, nullptr},
      {"a volume above it already", Limited("1Gi", nullptr), kGi + 1, "emptydirfs.limit"},
      {"a pod below its limit", Limited(nullptr, "1Gi"), kMi, nullptr},
      {"a pod above it already", Limited(nullptr, "1Gi"), kGi + 1, "ephemeralpodfs.limit"},
      {"without a limit", Limited(nullptr, nullptr), kGi + 1, nullptr},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PodUsage usage = Disk(0, 0, 0);
    const DiskStats part{.bytes = c.bytes, .inodes = 5'000'000, .more = true};
    usage.volumes = usage.containers["app"].logs = usage.limited_volumes["tmp"] = part;
    const auto exceeded = FindExceeded(c.pod, usage, false);
    ASSERT_EQ(exceeded.has_value(), c.signal != nullptr);
    if (exceeded) {
      EXPECT_EQ(exceeded->signal, c.signal);
    }
  }
}

TEST(LocalStorage, WhatHasToBeMeasured) {
  EXPECT_FALSE(LocalLimitsOf(Limited(nullptr, nullptr)).any());
  EXPECT_FALSE(LocalLimitsOf(Limited("0", nullptr)).any());
  EXPECT_THAT(LocalLimitsOf(Limited("1Mi", nullptr)).volumes, ElementsAre("tmp"));
  EXPECT_FALSE(LocalLimitsOf(Limited("1Mi", nullptr)).pod_or_containers);
  EXPECT_TRUE(LocalLimitsOf(Limited(nullptr, "1Mi")).pod_or_containers);
}

TEST(LocalStorage, WhatWasNotMeasuredPassesNoLimit) {
  EXPECT_EQ(FindExceeded(Limited("1Mi", "1Mi"), {}, false), std::nullopt);
}

}  // namespace
}  // namespace splitlet::gc
