#include "services/status/api/csi/csi_registrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Clock::Time kWorkerStart{.boot = 1, .monotonic = 1s};
const Clock::Time kNextWorkerStart{.boot = 1, .monotonic = 2s};

v1::CsiDriver DriverOf(const std::string& name, int64_t registration = 1, int64_t limit = 0) {
  v1::CsiDriver driver;
  driver.set_name(name);
  driver.set_node_id("id");
  driver.set_registration(registration);
  driver.set_max_volumes(limit);
  return driver;
}

/// "write a", "limit a", "remove a", in the order of the steps.
std::vector<std::string> StepTexts(const CsiRegistrations& registrations) {
  std::vector<std::string> texts;
  const CsiSteps steps = registrations.Steps();
  for (const auto& write : steps.writes)
    texts.push_back((write.limit_only ? "limit " : "write ") + write.driver.name());
  for (const auto& name : steps.removals) texts.push_back("remove " + name);
  EXPECT_EQ(steps.empty(), texts.empty());
  return texts;
}

/// "a 1", "a 1: error", with the number of the registration.
std::vector<std::string> OutcomeTexts(const CsiRegistrations& registrations) {
  v1::NodeRecord node;
  registrations.AddOutcomes(node);
  std::vector<std::string> texts;
  for (const auto& outcome : node.csi_drivers())
    texts.push_back(outcome.driver().name() + " " +
                    std::to_string(outcome.driver().registration()) +
                    (outcome.error().empty() ? "" : ": " + outcome.error()));
  return texts;
}

class Registrations : public ::testing::Test {
 protected:
  void Report(const std::vector<v1::CsiDriver>& drivers, Clock::Time start = kWorkerStart,
              bool known = false) {
    v1::WorkerNode worker;
    worker.set_csi_drivers_known(known);
    for (const auto& driver : drivers) *worker.add_csi_drivers() = driver;
    registrations.OnReported(start, worker);
  }
  void WriteAll() {
    for (const auto& write : registrations.Steps().writes)
      EXPECT_FALSE(registrations.OnWritten({.driver = write.driver}));
  }
  CsiRegistrations registrations;
};

TEST_F(Registrations, ADriverIsWrittenOnceForEachRegistration) {
  Report({DriverOf("b"), DriverOf("a")});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a", "write b"));
  EXPECT_THAT(OutcomeTexts(registrations), IsEmpty());
  WriteAll();
  EXPECT_THAT(StepTexts(registrations), IsEmpty());
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 1", "b 1"));
  Report({DriverOf("a"), DriverOf("b")});
  EXPECT_THAT(StepTexts(registrations), IsEmpty());
  Report({DriverOf("a", 2), DriverOf("b")});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 1", "b 1"))
      << "the earlier registration's, until the later one is written";
  registrations.OnWritten({.driver = DriverOf("a", 1)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a")) << "an answer to an earlier one";
  WriteAll();
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 2", "b 1"));
}

TEST_F(Registrations, AnotherLimitIsOnlyThat) {
  Report({DriverOf("a", 1, 8)});
  Report({DriverOf("a", 1, 9)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a")) << "it was never written";
  WriteAll();
  Report({DriverOf("a", 1, 10)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("limit a"));
  Report({DriverOf("a", 1, 11)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("limit a"));
  Report({DriverOf("a", 2, 12)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
  WriteAll();
  Report({DriverOf("a", 2, 13)});
  registrations.OnNewObjects();
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
}

TEST_F(Registrations, OnlyADriverThatWasSeenAndLeftIsRemoved) {
  Report({DriverOf("a"), DriverOf("b")});
  WriteAll();
  Report({DriverOf("b")});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove a"));
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("b 1"));
  registrations.OnRemoved("a", Unavailable("away"));
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove a"));
  registrations.OnRemoved("a", OkStatus());
  EXPECT_THAT(StepTexts(registrations), IsEmpty());
}

TEST_F(Registrations, AStartOfPodWorkerRemovesNothing) {
  Report({DriverOf("a"), DriverOf("b")});
  WriteAll();
  Report({DriverOf("b")});
  Report({}, kNextWorkerStart);
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove a")) << "it left before";
  EXPECT_THAT(OutcomeTexts(registrations), IsEmpty());
  Report({DriverOf("b", 7)}, kNextWorkerStart);
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write b", "remove a"));
  WriteAll();
  Report({}, kNextWorkerStart);
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove a", "remove b"));
}

TEST_F(Registrations, ADriverThatAStartOfPodWorkerDoesNotFindIsRemovedWhenItsDriversAreKnown) {
  Report({DriverOf("back"), DriverOf("gone")});
  WriteAll();
  Report({}, kNextWorkerStart);
  Report({DriverOf("back", 2)}, kNextWorkerStart);
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write back"));
  WriteAll();
  Report({DriverOf("back", 2)}, kNextWorkerStart, true);
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove gone"));
  registrations.OnRemoved("gone", OkStatus());
  Report({DriverOf("back", 2)}, kNextWorkerStart, true);
  EXPECT_THAT(StepTexts(registrations), IsEmpty());
}

TEST_F(Registrations, ADriverThatComesBackIsNotRemoved) {
  Report({DriverOf("a")});
  WriteAll();
  Report({});
  Report({DriverOf("a", 2)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
}

TEST_F(Registrations, ADriverThatIsRefusedIsRemovedAndNotTriedAgain) {
  Report({DriverOf("a")});
  EXPECT_TRUE(registrations.OnWritten(
      {.driver = DriverOf("a"), .status = InvalidArgument("collision"), .refused = true}));
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 1: collision"));
  EXPECT_THAT(StepTexts(registrations), ElementsAre("remove a"));
  registrations.OnRemoved("a", OkStatus());
  EXPECT_THAT(StepTexts(registrations), IsEmpty());
  EXPECT_EQ(registrations.Count(CsiRegistrations::State::kRefused), 1U);
  Report({DriverOf("a", 2)});
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
  WriteAll();
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 2"));
  EXPECT_EQ(registrations.Count(CsiRegistrations::State::kWritten), 1U);
}

TEST_F(Registrations, AnErrorIsNoOutcomeAndARefusalIsAfterFourAttempts) {
  Report({DriverOf("a")});
  for (const Status& error : {Unavailable("away"), PermissionDenied("no"), PermissionDenied("no"),
                              PermissionDenied("no"), Unavailable("away"), InvalidArgument("bad"),
                              PermissionDenied("no"), InvalidArgument("bad")}) {
    EXPECT_FALSE(registrations.OnWritten({.driver = DriverOf("a"), .status = error}));
    EXPECT_THAT(StepTexts(registrations), ElementsAre("write a"));
    EXPECT_THAT(OutcomeTexts(registrations), IsEmpty());
    EXPECT_EQ(registrations.Count(CsiRegistrations::State::kWaiting), 1U);
  }
  EXPECT_TRUE(registrations.OnWritten({.driver = DriverOf("a"), .status = InvalidArgument("bad")}));
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 1: bad"));
}

TEST_F(Registrations, NewObjectsGetEachDriver) {
  Report({DriverOf("a"), DriverOf("b"), DriverOf("c")});
  WriteAll();
  Report({DriverOf("a"), DriverOf("b"), DriverOf("c", 2)});
  registrations.OnWritten(
      {.driver = DriverOf("c", 2), .status = InvalidArgument("x"), .refused = true});
  registrations.OnNewObjects();
  EXPECT_THAT(StepTexts(registrations), ElementsAre("write a", "write b", "remove c"));
  EXPECT_THAT(OutcomeTexts(registrations), ElementsAre("a 1", "b 1", "c 2: x"));
}

}  // namespace
}  // namespace splitlet::status
