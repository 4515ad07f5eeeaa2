#include "libs/kube/same_pod.h"

#include <gtest/gtest.h>

#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {
namespace {

void SetLimit(Container& container, const std::string& resource, const std::string& amount) {
  (*container.mutable_resources()->mutable_limits())[resource].set_string(amount);
}

Pod WithLimit(const std::string& resource, const std::string& amount) {
  Pod pod;
  auto& container = *pod.mutable_spec()->add_containers();
  container.set_name("app");
  SetLimit(container, resource, amount);
  return pod;
}

TEST(SamePod, AmountsAreComparedByValue) {
  const struct {
    const char *resource, *one, *other;
    bool same;
  } cases[] = {
      {"cpu", "1", "1", true},
      {"cpu", "1000m", "1", true},
      {"cpu", "0.5", "500m", true},
      {"cpu", "1", "2", false},
      {"cpu", "1m", "1", false},
      {"memory", "1Ki", "1024", true},
      {"memory", "1e3", "1k", true},
      {"memory", "1Gi", "1G", false},
      {"memory", "no amount", "no amount", true},
      {"memory", "no amount", "no other", false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.one << " and " << c.other);
    EXPECT_EQ(IsSamePod(WithLimit(c.resource, c.one), WithLimit(c.resource, c.other)), c.same);
  }
}

TEST(SamePod, AmountsOfVolumesOverheadAndTheWholePodCountToo) {
  const auto pod = [](const std::string& amount) {
    Pod made = WithLimit("cpu", amount);
    auto& spec = *made.mutable_spec();
    (*spec.mutable_overhead())["memory"].set_string(amount);
    (*spec.mutable_resources()->mutable_requests())["cpu"].set_string(amount);
    auto& source = *spec.add_volumes()->mutable_volume_source()->mutable_empty_dir();
    source.mutable_size_limit()->set_string(amount);
    return made;
  };
  EXPECT_TRUE(IsSamePod(pod("2000m"), pod("2")));
  EXPECT_FALSE(IsSamePod(pod("2"), pod("3")));
}

TEST(SamePod, OtherTextIsNoAmount) {
  Pod one, other;
  (*one.mutable_metadata()->mutable_labels())["size"] = "1000m";
  (*other.mutable_metadata()->mutable_labels())["size"] = "1";
  EXPECT_FALSE(IsSamePod(one, other));
}

TEST(SamePod, TheOrderInWhichMapsWereFilledDoesNotCount) {
  Pod one, other;
  for (int i = 0; i < 50; ++i) {
    (*one.mutable_metadata()->mutable_labels())[std::to_string(i)] = "x";
    (*other.mutable_metadata()->mutable_labels())[std::to_string(49 - i)] = "x";
  }
  EXPECT_TRUE(IsSamePod(one, other));
}

TEST(CopyResources, GoByTheNameOfTheContainer) {
  Pod from = WithLimit("cpu", "1"), to = WithLimit("cpu", "4");
  auto& added = *to.mutable_spec()->add_containers();
  added.set_name("added");
  SetLimit(added, "cpu", "2");
  auto& init = *from.mutable_spec()->add_init_containers();
  init.set_name("init");
  *to.mutable_spec()->add_init_containers() = init;
  SetLimit(*to.mutable_spec()->mutable_init_containers(0), "cpu", "8");
  CopyResources(from, to);
  EXPECT_EQ(to.spec().containers(0).resources().limits().at("cpu").string(), "1");
  EXPECT_EQ(to.spec().containers(1).resources().limits().at("cpu").string(), "2");
  EXPECT_EQ(to.spec().init_containers(0).resources().limits().size(), 0u);
  EXPECT_FALSE(to.spec().has_resources());
}

TEST(CopyResources, TheWholePodKeepsItsOwnIfTheOtherHasNone) {
  Pod from = WithLimit("cpu", "1"), to = from;
  (*to.mutable_spec()->mutable_resources()->mutable_limits())["cpu"].set_string("4");
  CopyResources(from, to);
  EXPECT_EQ(to.spec().resources().limits().at("cpu").string(), "4");
  (*from.mutable_spec()->mutable_resources()->mutable_limits())["cpu"].set_string("3");
  CopyResources(from, to);
  EXPECT_EQ(to.spec().resources().limits().at("cpu").string(), "3");
}

}  // namespace
}  // namespace splitlet::kube
