#include "ctl/bus_source.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include "libs/bus/typed.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/records.pb.h"
#include "tests/harness/bus_process.h"
#include "tests/harness/child.h"
#include "tests/harness/unix_socket.h"

namespace splitlet::ctl {
namespace {

bool Until(const std::function<bool()>& condition) { return harness::WaitFor(20s, condition); }

/// The bus of the local stack: nats-server with its users, in a folder of its own.
class BusSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Script("config"), 0);
    keeper_.Start("nats", {.argv = {kScript, "serve", dir_.path()}, .env = {}, .output = ""});
    ASSERT_EQ(Script("ready"), 0);
    url_ = fmt::format("nats://127.0.0.1:{}", std::stoi(harness::ReadFile(dir_ / "port")));
  }
  BusAccess As(const std::string& user) const {
    return {.url = url_, .creds = dir_ / ("creds/" + user)};
  }

  const RealClock clock_;
  const harness::TempDir dir_{"ctl-bus"};
  std::string url_;

  harness::Keeper keeper_;

 private:
  static constexpr const char* kScript = "deploy/local/nats.sh";
  int Script(const std::string& action) const {
    return harness::RunToEnd({.argv = {kScript, action, dir_.path()}, .env = {}, .output = ""},
                             30s);
  }
};

/// pleg's end of the bus.
class Pleg {
 public:
  Pleg(const std::string& url, const std::string& dir)
      : process_({.process = "pleg", .run_dir = dir, .url = url, .creds = dir + "/creds/pleg"},
                 sink_) {
    process_.On([&] {
      auto table = bus::Own<v1::RuntimeRecord>(process_.bus(), "runtime");
      ASSERT_TRUE(table.ok()) << table.status();
      table_ = std::make_unique<bus::Table<v1::RuntimeRecord>>(std::move(*table));
    });
  }
  ~Pleg() {
    process_.StopServing();
    process_.On([this] { table_.reset(); });
  }
  Pleg(const Pleg&) = delete;
  Pleg& operator=(const Pleg&) = delete;

  bool Connected() { return process_.Connected(); }
  void Put(const std::string& uid) {
    process_.On([&] {
      v1::RuntimeRecord record;
      record.mutable_pod()->set_name("web");
      record.mutable_pod()->set_namespace_("default");
      record.mutable_pod()->set_uid(uid);
      EXPECT_TRUE(table_->Put(uid, record).ok());
    });
  }

 private:
  FakeLogSink sink_;
  harness::BusProcess process_;
  std::unique_ptr<bus::Table<v1::RuntimeRecord>> table_;
};

TEST_F(BusSourceTest, ABusInTheNetworkOfTheProcessesIsFoundByTheirSockets) {
  BusAccess access = As("ctl");
  access.network_of = dir_ / "run";
  EXPECT_EQ(Message(CheckBus(access).status()), "bus: network: no process of the stack runs");
  if (geteuid() != 0) GTEST_SKIP() << "to go to a network takes root";
  const std::string path = rpc::SocketPath(access.network_of, "gc");
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const harness::ListeningSocket listener(path);
  const auto found = CheckBus(access);
  EXPECT_TRUE(found.ok()) << found.status();
}

TEST_F(BusSourceTest, TheRecorderIsMadeOnceAndKeepsWhatFlows) {
  const WallTime start = clock_.WallNow();
  const auto no_message = [](const BusMessage&) { return true; };
  EXPECT_EQ(Message(ReadRecorder(As("ctl"), start, no_message)),
            "bus: there is no flight recorder: splitletctl recorder ensure makes it");
  const auto made = EnsureRecorder(As("recorder"));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, "flight-recorder made: 16 MB on disk over splitlet.>");
  const auto again = EnsureRecorder(As("recorder"));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, "flight-recorder is there: 16 MB on disk over splitlet.>");

  Pleg pleg(url_, dir_.path());
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  pleg.Put("u1");
  pleg.Put("u2");
  const auto seen = [&](WallTime since) {
    BusReader reader;
    std::string keys;
    const Status read = ReadRecorder(As("ctl"), since, [&](const BusMessage& message) {
      keys += reader.Read(message).key;
      return true;
    });
    EXPECT_TRUE(read.ok()) << read;
    return keys;
  };
  EXPECT_TRUE(Until([&] { return seen(start) == "u1u2"; })) << seen(start);
  EXPECT_EQ(seen(clock_.WallNow() + 1h), "") << "nothing is that young";
}

TEST_F(BusSourceTest, TheRecorderIsReadFromAnyTimeOn) {
  ASSERT_TRUE(EnsureRecorder(As("recorder")).ok());
  Pleg pleg(url_, dir_.path());
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  const auto times = [&](WallTime since) {
    std::vector<WallTime> all;
    const Status read = ReadRecorder(As("ctl"), since, [&](const BusMessage& message) {
      all.push_back(message.at);
      return true;
    });
    EXPECT_TRUE(read.ok()) << read;
    return all;
  };
  // In the first nine tenths of a second: what is wanted below must not be a time after it.
  std::vector<WallTime> recorded;
  ASSERT_TRUE(Until([&] {
    pleg.Put("u1");
    recorded = times(clock_.WallNow() - 1min);
    return !recorded.empty() &&
           recorded.back() - std::chrono::floor<std::chrono::seconds>(recorded.back()) < 900ms;
  }));
  const WallTime last = recorded.back();
  const auto since_its_second = times(std::chrono::floor<std::chrono::seconds>(last) + 9ns);
  EXPECT_NE(std::ranges::find(since_its_second, last), since_its_second.end());
  const auto since_itself = times(last);
  ASSERT_FALSE(since_itself.empty());
  EXPECT_EQ(since_itself.front(), last) << "and nothing earlier";
}

TEST_F(BusSourceTest, FollowsUntilToldToStop) {
  Pleg pleg(url_, dir_.path());
  ASSERT_TRUE(Until([&] { return pleg.Connected(); }));
  int puts = 0;
  bool found = false;
  const auto put_more = [&] {
    pleg.Put(fmt::format("u{}", ++puts));
    return puts > 50;
  };
  const Status followed = FollowBus(As("ctl"), put_more, [&](const BusMessage& message) {
    BusReader reader;
    const BusEvent event = reader.Read(message);
    found = found ||
            (event.pod == "default/web" && event.process == "pleg" && event.topic == "runtime");
    return !found;
  });
  EXPECT_TRUE(followed.ok()) << followed;
  EXPECT_TRUE(found);
}

TEST_F(BusSourceTest, WhatGoesWrongIsSaid) {
  EXPECT_TRUE(CheckBus(As("ctl")).ok());
  const auto unreadable = CheckBus({.url = url_, .creds = dir_ / "none"});
  EXPECT_EQ(unreadable.status().code(), StatusCode::kNotFound) << unreadable.status();
  harness::WriteFile(dir_ / "wrong", "ctl\nnonsense\n");
  const auto refused = CheckBus({.url = url_, .creds = dir_ / "wrong"});
  EXPECT_EQ(refused.status().code(), StatusCode::kPermissionDenied) << refused.status();
  EXPECT_FALSE(EnsureRecorder(As("pleg")).ok()) << "only the recorder's user may make it";
  keeper_.Stop("nats");
  EXPECT_EQ(CheckBus(As("ctl")).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace splitlet::ctl
