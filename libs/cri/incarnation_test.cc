#include "libs/cri/incarnation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::cri {
namespace {

kube::Pod MakePod() {
  kube::Pod pod;
  for (const char* name : {"i", "j"}) pod.mutable_spec()->add_init_containers()->set_name(name);
  for (const char* name : {"a", "b"}) pod.mutable_spec()->add_containers()->set_name(name);
  return pod;
}

struct Record {
  const char* name;
  uint32_t attempt = 0;
  int64_t incarnation = 0;
};

v1::ObservedPod Seen(const std::vector<Record>& records) {
  v1::ObservedPod seen;
  seen.set_uid("uid");
  for (const Record& from : records) {
    auto& record = *seen.add_containers();
    record.set_id(fmt::format("{}-{}", from.name, from.attempt));
    record.set_name(from.name);
    record.set_attempt(from.attempt);
    record.set_incarnation(from.incarnation);
    record.set_state(v1::ContainerRecord::EXITED);
  }
  return seen;
}

/// "a#1? b#0": a question mark marks a lost container.
std::string Say(const v1::ObservedPod& seen) {
  std::string text;
  for (const auto& record : seen.containers())
    text += fmt::format("{}{}#{}{}", text.empty() ? "" : " ", record.name(), record.attempt(),
                        IsLost(record) ? "?" : "");
  return text;
}

TEST(Lives, TheIncarnationIsAPositiveNumberOrNone) {
  const auto of = [](const std::string& text) {
    return IncarnationOf({{std::string(kIncarnationAnnotation), text}});
  };
  EXPECT_EQ(of("1767225600000"), 1767225600000);
  for (const char* text : {"", "-3", "x", "12x", "99999999999999999999"}) EXPECT_EQ(of(text), 0);
  EXPECT_EQ(IncarnationOf({}), 0);
}

TEST(Lives, AnEarlierLifeDoesNotCountAndAKubeletsRecordsDo) {
  auto seen = Seen({{"a", 2, 7}, {"a", 1, 6}, {"b", 0, 0}});
  seen.add_sandboxes()->set_incarnation(6);
  seen.add_sandboxes()->set_incarnation(0);
  const auto present = PresentIncarnation(seen, 7);
  EXPECT_EQ(Say(present), "a#2 b#0");
  EXPECT_EQ(present.sandboxes_size(), 1);
  EXPECT_EQ(present.uid(), "uid");
}

const struct {
  const char* name;
  std::vector<Record> records;
  StartedAttempts begun;
  const char* want;
} kLost[] = {
    {"nothing has begun", {}, {}, ""},
    {"what has begun is there", {{"a", 1}}, {{"a", {1}}}, "a#1"},
    {"one has vanished", {{"b"}}, {{"a", {1}}, {"b", {0}}}, "a#1? b#0"},
    {"of two attempts the later has vanished", {{"a", 0}}, {{"a", {1}}}, "a#1? a#0"},
    {"an init container that others followed has succeeded", {{"a"}}, {{"i", {0}}}, "a#0"},
    {"so has one before a later init container", {}, {{"i", {0}}, {"j", {0}}}, "j#0?"},
    {"an init container that vanished at the end of its work", {}, {{"i", {2}}}, "i#2?"},
};

TEST(Lives, WhatHasBegunAndIsGoneHasEnded) {
  for (const auto& c : kLost) {
    SCOPED_TRACE(c.name);
    auto seen = Seen(c.records);
    AddLost(MakePod(), c.begun, seen);
    EXPECT_EQ(Say(seen), c.want);
  }
}

TEST(Lives, TheEndOfALostOneIsAKubelets) {
  v1::ObservedPod seen;
  AddLost(MakePod(), {{"a", {3, 2, 17}}}, seen);
  ASSERT_EQ(seen.containers_size(), 1);
  const auto& lost = seen.containers(0);
  EXPECT_EQ(lost.exit_code(), 137);
  EXPECT_EQ(lost.reason(), "ContainerStatusUnknown");
  EXPECT_EQ(lost.message(), "The container could not be located when the pod was terminated");
  EXPECT_EQ(lost.restart_count(), 2);
  EXPECT_EQ(lost.created_at_ns(), 17);
}

TEST(Lives, WhatHasBegunSurvivesItsRecord) {
  const StartedAttempts begun{{"a", {3, 2, 17}}, {"b", {0, 0, 1}}};
  v1::WorkerRecord record;
  ToProto(begun, *record.mutable_started_attempts());
  EXPECT_EQ(FromProto(record.started_attempts()), begun);
}

}  // namespace
}  // namespace splitlet::cri
