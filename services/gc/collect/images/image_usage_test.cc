#include "services/gc/collect/images/image_usage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/kube/image_name.h"

namespace splitlet::gc {
namespace {

using List = std::vector<std::string>;

TEST(Images, NamesAreCompleted) {
  const struct {
    const char *in, *want;
  } kCases[] = {
      {"busybox", "docker.io/library/busybox:latest"},
      {"me/app:1", "docker.io/me/app:1"},
      {"registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9"},
      {"localhost:5000/a", "localhost:5000/a:latest"},
      {"a.io/b:1@sha256:00", "a.io/b@sha256:00"},
      {"sha256:00", "sha256:00"},
  };
  for (const auto& c : kCases) EXPECT_EQ(kube::NormalImageName(c.in), c.want);
}

constexpr uint64_t kGi = 1ull << 30;

TEST(Images, HowMuchHasToGo) {
  const GcConfig config;
  const struct {
    const char* name;
    ImageFs fs;
    int percent;
    uint64_t want;
  } kCases[] = {
      {"below the high threshold nothing goes", {100 * kGi, 16 * kGi}, 84, 0},
      {"at 86 % it goes down to 80 %", {100 * kGi, 14 * kGi}, 86, 6 * kGi},
      {"exactly at the threshold it begins", {100 * kGi, 15 * kGi}, 85, 5 * kGi},
      {"a part of a percent counts as used",
       {100 * kGi, 15 * kGi + kGi / 2},
       85,
       20 * kGi - 15 * kGi - kGi / 2},
      {"more available than there is counts as all", {100 * kGi, 200 * kGi}, 0, 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(UsedPercent(c.fs), c.percent);
    EXPECT_EQ(BytesToFree(c.fs, config), c.want);
  }
}

struct ImageWorld {
  FakeClock clock;
  ImageUsage usage{clock.Now()};
  ImageUsage::Seen seen;
  GcConfig config;

  void Image(const std::string& id, const std::string& tag, bool pinned = false) {
    cri::Image image;
    image.id = id;
    image.tags = {tag};
    image.size_bytes = 10;
    image.pinned = pinned;
    seen.images.push_back(image);
  }
  void Use(const std::string& image_id) {
    cri::Container container;
    container.image_id = image_id;
    seen.containers.push_back(container);
  }
  List Removable() {
    usage.Observe(seen, clock.Now());
    List ids;
    for (const auto& removal : usage.Removable(config, clock.Now())) ids.push_back(removal.id);
    return ids;
  }
};

TEST(Images, TheLongestUnusedGoFirst) {
  ImageWorld world;
  for (const char* id : {"a", "b", "c", "never"}) world.Image(id, std::string("x.io/") + id + ":1");
  for (const char* id : {"a", "b", "c"}) world.Use(id);
  EXPECT_TRUE(world.Removable().empty());
  for (const char* last : {"b", "a", "c"}) {
    world.clock.Advance(1h);
    std::erase_if(world.seen.containers, [&](const auto& c) { return c.image_id == last; });
    world.Removable();
  }
  EXPECT_EQ(world.Removable(), (List{"never", "b", "a", "c"}));
}

TEST(Images, WhatIsYoungPinnedUsedOrWantedStays) {
  ImageWorld world;
  world.Image("pause", "registry.k8s.io/pause:3.9", /*pinned=*/true);
  world.Image("used", "docker.io/library/used:1");
  world.Image("by-name", "docker.io/library/named:latest");
  world.Image("wanted", "docker.io/library/wanted:latest");
  world.Use("used");
  world.Use("named");
  world.seen.wanted = {kube::NormalImageName("wanted")};
  world.Removable();
  world.clock.Advance(1min);
  world.Image("young", "x.io/young:1");
  world.Removable();
  world.clock.Advance(90s);
  EXPECT_TRUE(world.Removable().empty());
  world.clock.Advance(1h);
  EXPECT_EQ(world.Removable(), (List{"young"}));
}

TEST(Images, TheOldGoOnceTheirAgeCanBeKnown) {
  ImageWorld world;
  world.config.image_max_age = 24h;
  world.Image("never", "x.io/a:1");
  world.Image("used", "x.io/b:1");
  world.Use("used");
  world.Removable();
  world.clock.Advance(23h);
  EXPECT_TRUE(world.usage.TooOld(world.config, world.clock.Now()).empty());
  world.clock.Advance(2h);
  const auto old = world.usage.TooOld(world.config, world.clock.Now());
  ASSERT_EQ(old.size(), 1u);
  EXPECT_EQ(old[0].id, "never");
  EXPECT_EQ(old[0].reason, "age");
}

}  // namespace
}  // namespace splitlet::gc
