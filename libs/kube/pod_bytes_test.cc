#include "libs/kube/pod_bytes.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/phase.h"

namespace splitlet::kube {
namespace {

Pod Named(const std::string& name) {
  Pod pod;
  pod.mutable_metadata()->set_name(name);
  return pod;
}

TEST(PodBytes, AreWhatAPodWasMadeOf) {
  const PodBytes bytes = PodBytes::Of(Named("web"));
  EXPECT_EQ(bytes.Parse().metadata().name(), "web");
  const auto checked = PodBytes::Check(bytes.bytes());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(*checked, bytes);
  EXPECT_EQ(checked->Parse().metadata().name(), "web");
  EXPECT_FALSE(PodBytes::Of(Named("other")) == bytes);
}

TEST(PodBytes, OtherBytesAreRefusedOnce) {
  EXPECT_EQ(PodBytes::Check("\xff\xff").status().code(), StatusCode::kInvalidArgument);
  std::string cut = PodBytes::Of(Named("web")).bytes();
  cut.pop_back();
  EXPECT_FALSE(PodBytes::Check(cut).ok());
}

TEST(PodBytes, WithoutAPodAreAnEmptyOne) {
  EXPECT_EQ(PodBytes().bytes(), "");
  EXPECT_FALSE(PodBytes().Parse().has_metadata());
  EXPECT_EQ(PodBytes(), PodBytes::Of(Pod()));
}

TEST(PodBytes, CopiesShareTheBytes) {
  const PodBytes bytes = PodBytes::Of(Named("web"));
  const PodBytes copy = bytes;
  EXPECT_EQ(copy.bytes().data(), bytes.bytes().data());
}

TEST(PodBytes, ACheckMayKeepWhatItHasParsed) {
  const uint64_t before = PodBytes::parses();
  auto checked = PodBytes::CheckAndParse(PodBytes::Of(Named("web")).bytes());
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->Get(), checked->pod);
  EXPECT_EQ(checked->pod->metadata().name(), "web");
  EXPECT_EQ(PodBytes::parses() - before, 1u);
  checked->pod.reset();
  EXPECT_EQ(checked->Get()->metadata().name(), "web");
  EXPECT_EQ(PodBytes::parses() - before, 2u);
  EXPECT_EQ(PodBytes::CheckAndParse("\xff\xff").status().code(), StatusCode::kInvalidArgument);
}

TEST(PodBytes, ARecordIsParsedWithoutACopyOfItsBytes) {
  const uint64_t before = PodBytes::parses();
  const auto pod = ParsePod(PodBytes::Of(Named("web")).bytes());
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(pod->metadata().name(), "web");
  EXPECT_EQ(ParsePod("\xff\xff").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PodBytes::parses() - before, 2u);
}

TEST(PodBytes, DoNotDependOnTheOrderInWhichMapsWereFilled) {
  Pod one = Named("web"), other = Named("web");
  for (int i = 0; i < 50; ++i) {
    (*one.mutable_metadata()->mutable_labels())[std::to_string(i)] = "x";
    (*other.mutable_metadata()->mutable_labels())[std::to_string(49 - i)] = "x";
  }
  EXPECT_EQ(PodBytes::Of(one), PodBytes::Of(other));
}

TEST(Phase, SucceededAndFailedAreTerminal) {
  for (const char* phase : {"Succeeded", "Failed"}) EXPECT_TRUE(IsTerminalPhase(phase)) << phase;
  for (const char* phase : {"", "Pending", "Running", "Unknown", "failed"})
    EXPECT_FALSE(IsTerminalPhase(phase)) << phase;
}

}  // namespace
}  // namespace splitlet::kube
