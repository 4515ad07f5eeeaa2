#include "libs/bus/quiet_heartbeats.h"

#include <gtest/gtest.h>

#include <functional>

#include "libs/bus/test_desired.h"
#include "libs/bus/view_core.h"

namespace splitlet::bus {
namespace {

const std::string kTable = "desired";

/// A reader that has taken a change and a heartbeat, and then hears the next heartbeat.
struct Reader {
  QuietHeartbeats quiet;
  Envelope heartbeat{.start = {kBoot, 100},
                     .sequence = 7,
                     .producer = kOwner,
                     .change = std::nullopt,
                     .promise = {.version = 3, .completeness = {}},
                     .sent_at = {kBoot, 1s}};

  Reader() {
    EXPECT_FALSE(Keep(ChangeOf(7)));
    EXPECT_FALSE(Keep(heartbeat));
    quiet.Taken(kTable);
    quiet.Taken(kTable);
    heartbeat.sent_at = heartbeat.sent_at + kHeartbeatPeriod;
  }
  bool Keep(const Envelope& envelope) { return quiet.Keep(kTable, envelope); }
  Envelope ChangeOf(uint64_t sequence) const {
    Envelope change = heartbeat;
    change.sequence = sequence;
    change.change = Change{};
    return change;
  }
};

TEST(QuietHeartbeats, ARepeatedHeartbeatIsKeptUntilTheLoopTakesIt) {
  Reader reader;
  EXPECT_TRUE(reader.Keep(reader.heartbeat));
  reader.heartbeat.sent_at = reader.heartbeat.sent_at + kHeartbeatPeriod;
  EXPECT_TRUE(reader.Keep(reader.heartbeat));
  const auto kept = reader.quiet.Take();
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.at(kTable).sent_at, reader.heartbeat.sent_at) << "the last one";
  EXPECT_TRUE(reader.quiet.Take().empty());
}

TEST(QuietHeartbeats, ThisWakesTheLoop) {
  const struct {
    const char* name;
    std::function<void(Reader&)> edit;
  } kCases[] = {
      {"a change", [](Reader& r) { r.heartbeat = r.ChangeOf(8); }},
      {"a gap", [](Reader& r) { ++r.heartbeat.sequence; }},
      {"a number that was never given", [](Reader& r) { --r.heartbeat.sequence; }},
      {"a statement", [](Reader& r) { ++r.heartbeat.promise.version; }},
      {"a start of the owner", [](Reader& r) { ++r.heartbeat.start.ns; }},
      {"another boot", [](Reader& r) { ++r.heartbeat.start.boot; }},
      {"another producer", [](Reader& r) { r.heartbeat.producer = "gc"; }},
      {"a break",
       [](Reader& r) {
         r.heartbeat.sent_at = Clock::Time{kBoot, 1s} + kAwayAfter;
       }},
      {"a late heartbeat",
       [](Reader& r) {
         r.heartbeat.sent_at = {kBoot, 900ms};
       }},
      {"no time", [](Reader& r) { r.heartbeat.sent_at = {}; }},
      {"lost messages", [](Reader& r) { r.quiet.Forget(); }},
      {"a message on its way that it would overtake",
       [](Reader& r) { EXPECT_FALSE(r.Keep(r.ChangeOf(7))); }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Reader reader;
    c.edit(reader);
    EXPECT_FALSE(reader.Keep(reader.heartbeat));
    EXPECT_TRUE(reader.quiet.Take().empty());
  }
}

TEST(QuietHeartbeats, AStartBeginsWithAHeartbeatForTheLoop) {
  Reader reader;
  ++reader.heartbeat.start.ns;
  EXPECT_FALSE(reader.Keep(reader.ChangeOf(7)));
  reader.quiet.Taken(kTable);
  EXPECT_FALSE(reader.Keep(reader.heartbeat)) << "the version is of the start before";
  reader.quiet.Taken(kTable);
  reader.heartbeat.sent_at = reader.heartbeat.sent_at + kHeartbeatPeriod;
  EXPECT_TRUE(reader.Keep(reader.heartbeat));
}

TEST(QuietHeartbeats, TablesDoNotMix) {
  Reader reader;
  EXPECT_FALSE(reader.quiet.Keep("runtime", reader.heartbeat));
  EXPECT_TRUE(reader.Keep(reader.heartbeat));
}

}  // namespace
}  // namespace splitlet::bus
