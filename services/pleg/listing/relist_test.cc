#include "services/pleg/listing/relist.h"

#include <gtest/gtest.h>

#include "services/pleg/config.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

constexpr auto kAbsent = ObjectState::kAbsent;
constexpr auto kRunning = ObjectState::kRunning;
constexpr auto kExited = ObjectState::kExited;
constexpr auto kUnknown = ObjectState::kUnknown;
constexpr auto kStarted = EventType::kContainerStarted;
constexpr auto kDied = EventType::kContainerDied;
constexpr auto kRemoved = EventType::kContainerRemoved;
constexpr auto kChanged = EventType::kContainerChanged;

TEST(RelistDiff, EveryTransition) {
  const struct {
    const char* name;
    ObjectState before, after;
    std::vector<EventType> want;
  } kCases[] = {
      {"running goes on", kRunning, kRunning, {}},
      {"a running container that exits has died", kRunning, kExited, {kDied}},
      {"running that is unknown now has changed", kRunning, kUnknown, {kChanged}},
      {"a running container that vanishes died first", kRunning, kAbsent, {kDied, kRemoved}},
      {"an exited one that runs was started", kExited, kRunning, {kStarted}},
      {"exited stays", kExited, kExited, {}},
      {"exited that is unknown now has changed", kExited, kUnknown, {kChanged}},
      {"an exit already reported is only removed", kExited, kAbsent, {kRemoved}},
      {"a created one that runs was started", kUnknown, kRunning, {kStarted}},
      {"unknown that exited has died", kUnknown, kExited, {kDied}},
      {"unknown stays", kUnknown, kUnknown, {}},
      {"unknown that vanishes died first", kUnknown, kAbsent, {kDied, kRemoved}},
      {"first seen running", kAbsent, kRunning, {kStarted}},
      {"first seen exited", kAbsent, kExited, {kDied}},
      {"first seen created", kAbsent, kUnknown, {kChanged}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    States before, after;
    if (c.before != kAbsent) before["id"] = c.before;
    if (c.after != kAbsent) after["id"] = c.after;
    std::vector<EventType> got;
    for (const Event& event : Diff(before, after)) {
      EXPECT_EQ(event.id, "id");
      got.push_back(event.type);
    }
    EXPECT_EQ(got, c.want);
  }
}

TEST(AnyEnded, OnlyWhatRanAndNoLongerDoes) {
  EXPECT_FALSE(AnyEnded({}, {{"a", kExited}})) << "it may have ended before the first inspection";
  EXPECT_FALSE(AnyEnded({{"a", kRunning}}, {{"a", kRunning}, {"b", kRunning}}));
  EXPECT_FALSE(AnyEnded({{"a", kRunning}}, {{"a", kUnknown}}));
  EXPECT_FALSE(AnyEnded({{"a", kExited}}, {}));
  EXPECT_TRUE(AnyEnded({{"a", kRunning}}, {{"a", kExited}}));
  EXPECT_TRUE(AnyEnded({{"a", kRunning}, {"b", kRunning}}, {{"b", kRunning}}));
}

cri::Sandbox MakeSandbox(const std::string& id, const std::string& uid, cri::SandboxState state) {
  cri::Sandbox sandbox;
  sandbox.id = cri::SandboxId(id);
  sandbox.pod_name = "web";
  sandbox.pod_namespace = "default";
  sandbox.pod_uid = uid.empty() ? "of-its-metadata" : uid;
  if (!uid.empty()) sandbox.labels = {{"io.kubernetes.pod.uid", uid}};
  sandbox.state = state;
  return sandbox;
}

cri::Container MakeContainer(const std::string& id, const std::string& uid,
                             cri::ContainerState state) {
  cri::Container container;
  container.id = cri::ContainerId(id);
  container.state = state;
  if (!uid.empty())
    container.labels = {{"io.kubernetes.pod.uid", uid}, {"io.kubernetes.pod.name", "db"}};
  return container;
}

TEST(RelistListing, ContainersWithoutASandboxMakeAPodToo) {
  const auto listing = MakeListing({1, 5s},
                                   {MakeSandbox("s2", "a", cri::SandboxState::kNotReady),
                                    MakeSandbox("s1", "a", cri::SandboxState::kReady),
                                    MakeSandbox("s3", "", cri::SandboxState::kReady)},
                                   {MakeContainer("c1", "a", cri::ContainerState::kCreated),
                                    MakeContainer("c2", "b", cri::ContainerState::kExited),
                                    MakeContainer("c3", "", cri::ContainerState::kRunning)});
  ASSERT_EQ(listing.pods.size(), 2u);
  EXPECT_EQ(listing.pods.at("a").states,
            (States{{"s1", kRunning}, {"s2", kExited}, {"c1", kUnknown}}));
  EXPECT_TRUE(listing.pods.at("a").running);
  EXPECT_EQ(listing.pods.at("b").states, (States{{"c2", kExited}}));
  EXPECT_EQ(listing.pods.at("b").name, "db");
  EXPECT_FALSE(listing.pods.at("b").running);
  EXPECT_EQ(listing.containers.at(cri::ContainerState::kRunning), 1u);
  EXPECT_EQ(listing.unmanaged, (std::set<std::string>{"s3", "c3"}));
}

TEST(RelistWork, OnlyWhatHasEndedOrCannotBeTold) {
  const struct {
    const char* name;
    States before;
    v1::ContainerRecord::State after;
    bool want;
  } kCases[] = {
      {"made", {}, v1::ContainerRecord::CREATED, false},
      {"made and started", {}, v1::ContainerRecord::RUNNING, false},
      {"started", {{"c", kUnknown}}, v1::ContainerRecord::RUNNING, false},
      {"runs on", {{"c", kRunning}}, v1::ContainerRecord::RUNNING, false},
      {"died", {{"c", kRunning}}, v1::ContainerRecord::EXITED, true},
      {"died before it was seen", {}, v1::ContainerRecord::EXITED, true},
      {"dead as before", {{"c", kExited}}, v1::ContainerRecord::EXITED, false},
      {"another one vanished while it ran",
       {{"c", kRunning}, {"d", kRunning}},
       v1::ContainerRecord::RUNNING,
       true},
      {"another one that was dead was removed",
       {{"c", kRunning}, {"d", kExited}},
       v1::ContainerRecord::RUNNING,
       false},
      {"an unknown state", {{"c", kRunning}}, v1::ContainerRecord::UNKNOWN, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    v1::ObservedPod pod;
    auto* record = pod.add_containers();
    record->set_id("c");
    record->set_state(c.after);
    EXPECT_EQ(MakesWork(c.before, pod), c.want);
  }
}

TEST(RelistEvents, WhatIsShownAlreadyIsNoNews) {
  using Kind = cri::ContainerEvent::Kind;
  const struct {
    const char* name;
    Kind kind;
    ObjectState state;
    bool want;
  } kCases[] = {
      {"created and not seen", Kind::kCreated, kAbsent, false},
      {"created and seen", Kind::kCreated, kUnknown, true},
      {"started and only created", Kind::kStarted, kUnknown, false},
      {"started and over again", Kind::kStarted, kExited, true},
      {"stopping and still running", Kind::kStopping, kRunning, false},
      {"stopping and exited", Kind::kStopping, kExited, true},
      {"stopped and still running", Kind::kStopped, kRunning, false},
      {"stopped and exited", Kind::kStopped, kExited, true},
      {"deleted and still there", Kind::kDeleted, kExited, false},
      {"deleted and gone", Kind::kDeleted, kAbsent, true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    States known;
    if (c.state != kAbsent) known["id"] = c.state;
    EXPECT_EQ(Shows(known, {c.kind, "id", "uid"}), c.want);
  }
}

TEST(RelistAddresses, AreKeptForAFinishedPodOnly) {
  const struct {
    const char* name;
    v1::SandboxRecord::State state;
    const char* before;
    const char* now;
    const char* want;
  } kCases[] = {
      {"kept after the sandbox is gone", v1::SandboxRecord::NOT_READY, "10.0.0.5", "", "10.0.0.5"},
      {"not while the network is set up", v1::SandboxRecord::READY, "10.0.0.5", "", ""},
      {"a new one replaces it", v1::SandboxRecord::READY, "10.0.0.5", "10.0.0.6", "10.0.0.6"},
      {"none known, none kept", v1::SandboxRecord::NOT_READY, "", "", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    v1::ObservedPod before, after;
    before.add_sandboxes()->set_state(v1::SandboxRecord::READY);
    if (*c.before != '\0') before.mutable_sandboxes(0)->add_ips(c.before);
    after.add_sandboxes()->set_state(c.state);
    if (*c.now != '\0') after.mutable_sandboxes(0)->add_ips(c.now);
    KeepAddresses(before, after);
    const std::string got = after.sandboxes(0).ips().empty() ? "" : after.sandboxes(0).ips(0);
    EXPECT_EQ(got, c.want);
  }
  v1::ObservedPod before, none;
  before.add_sandboxes()->add_ips("10.0.0.5");
  KeepAddresses(before, none);
  EXPECT_TRUE(none.sandboxes().empty());
}

TEST(GoDurations, ArePrintedAsAKubeletDoes) {
  EXPECT_EQ(FormatGoDuration(3min), "3m0s");
  EXPECT_EQ(FormatGoDuration(3min + 1s), "3m1s");
  EXPECT_EQ(FormatGoDuration(3min + 5s + 123456789ns), "3m5.123456789s");
  EXPECT_EQ(FormatGoDuration(1h + 500ms), "1h0m0.5s");
  EXPECT_EQ(FormatGoDuration(0s), "0s");
}

}  // namespace
}  // namespace splitlet::pleg
