#include "libs/plugins/departures.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <algorithm>

#include "libs/exec/fake_exec.h"
#include "libs/plugins/fake_handler.h"

namespace splitlet::plugins {
namespace {

class DeparturesTest : public testing::Test {
 protected:
  DeparturesTest() { handler_.endpoints["disk"] = "/csi.sock"; }
  size_t Warnings() const {
    const auto lines = sink_.lines();
    return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
      return line.level == LogLevel::kWarn;
    }));
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  FakeLogSink sink_;
  Log log_{sink_};
  prometheus::Registry registry_;
  exec::Env env_{
      .clock = clock_, .loop = loop_, .strands = strands_, .log = log_, .metrics = registry_};
  FakeHandler handler_;
  const Plugin plugin_{
      .socket = "/reg/a.sock", .type = kCsiPlugin, .name = "disk", .endpoint = "/csi.sock"};
  std::vector<Plugin> gone_;
  Departures departures_{env_, 2min, [this](const Plugin& plugin) { gone_.push_back(plugin); }};
};

TEST_F(DeparturesTest, APluginIsGoneWhenItsHandlerSaysSo) {
  handler_.withholds = true;
  departures_.Add(plugin_, handler_);
  loop_.RunUntilIdle();
  EXPECT_EQ(departures_.size(), 1u);
  EXPECT_TRUE(gone_.empty());
  handler_.AnswerAll();
  loop_.RunUntilIdle();
  EXPECT_EQ(departures_.size(), 0u);
  EXPECT_EQ(gone_, std::vector<Plugin>{plugin_});
  loop_.Advance(10min);
  EXPECT_EQ(handler_.de_registers, 1);
}

TEST_F(DeparturesTest, AFailureIsTriedAgainWithGrowingDelays) {
  handler_.de_register_error = Unavailable("the API server is away");
  departures_.Add(plugin_, handler_);
  loop_.RunUntilIdle();
  EXPECT_EQ(handler_.de_registers, 1);
  for (const Duration wait : {500ms, 1000ms, 2000ms, 4000ms}) {
    const int before = handler_.de_registers;
    loop_.Advance(wait - 1ms);
    EXPECT_EQ(handler_.de_registers, before);
    loop_.Advance(1ms);
    EXPECT_EQ(handler_.de_registers, before + 1);
  }
  EXPECT_EQ(Warnings(), 1u) << "the same error is logged once";
  handler_.de_register_error = OkStatus();
  loop_.Advance(10s);
  EXPECT_EQ(gone_.size(), 1u);
  EXPECT_TRUE(handler_.endpoints.empty());
}

TEST_F(DeparturesTest, AHandlerWithoutAnAnswerIsAskedAgain) {
  handler_.withholds = true;
  departures_.Add(plugin_, handler_);
  loop_.Advance(2min);
  EXPECT_EQ(handler_.de_registers, 1);
  loop_.Advance(500ms);
  EXPECT_EQ(handler_.de_registers, 2);
  handler_.AnswerAll();  // the first answer is dropped, the second counts
  loop_.RunUntilIdle();
  EXPECT_EQ(gone_.size(), 1u);
}

TEST_F(DeparturesTest, ThePluginThatComesBackIsNotDeRegisteredAnyMore) {
  handler_.de_register_error = Unavailable("the API server is away");
  departures_.Add(plugin_, handler_);
  loop_.RunUntilIdle();
  departures_.Withdraw(plugin_);
  handler_.de_register_error = OkStatus();
  loop_.Advance(10min);
  EXPECT_EQ(handler_.de_registers, 1);
  EXPECT_TRUE(gone_.empty());
}

TEST_F(DeparturesTest, ALateAnswerToAWithdrawnCallIsDropped) {
  handler_.withholds = true;
  departures_.Add(plugin_, handler_);
  departures_.Withdraw(plugin_);
  handler_.AnswerAll();
  loop_.RunUntilIdle();
  EXPECT_TRUE(gone_.empty());
}

TEST_F(DeparturesTest, EachEndpointOfANameDepartsByItself) {
  handler_.withholds = true;
  Plugin newer = plugin_;
  newer.endpoint = "/csi-2.sock";
  departures_.Add(plugin_, handler_);
  departures_.Add(newer, handler_);
  EXPECT_EQ(departures_.size(), 2u);
  departures_.Withdraw(newer);
  EXPECT_EQ(departures_.size(), 1u);
}

TEST_F(DeparturesTest, TooManyAreLoggedAndLeft) {
  handler_.withholds = true;
  for (size_t i = 0; i <= Departures::kMost; ++i) {
    Plugin plugin = plugin_;
    plugin.endpoint = fmt::format("/{}.sock", i);
    departures_.Add(plugin, handler_);
  }
  EXPECT_EQ(departures_.size(), Departures::kMost);
  EXPECT_EQ(sink_.lines().back().level, LogLevel::kError);
}

}  // namespace
}  // namespace splitlet::plugins
