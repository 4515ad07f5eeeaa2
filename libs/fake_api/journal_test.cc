#include "libs/fake_api/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "libs/fake_api/api_server.h"

namespace splitlet::fake_api {
namespace {

using apiclient::Response;

using testing::HasSubstr;

constexpr const char* kWebMap = "/api/v1/namespaces/default/configmaps/web";
constexpr const char* kGone = "/api/v1/namespaces/default/configmaps/gone";

class JournalTest : public testing::Test {
 protected:
  JournalTest() { Clean(); }
  ~JournalTest() override { Clean(); }
  void Clean() const {
    std::filesystem::remove(file_);
    std::filesystem::remove(file_ + ".new");
  }
  FakeApiServer Start(uint64_t seed) {
    return FakeApiServer(clock_, {.seed = seed, .keep = file_});
  }
  static std::string Ask(FakeApiServer& api, const std::string& path) {
    return api.Serve({.method = "GET", .path = path}).body;
  }
  void Append(const std::string& text) const { std::ofstream(file_, std::ios::app) << text; }
  Status Open() const {
    Store store(10, [](const Store::Change&) {});
    return Journal::Open(file_, store).status();
  }

  FakeClock clock_;
  const std::string file_ =
      std::filesystem::temp_directory_path() / fmt::format("journal-{}", getpid());
};

TEST_F(JournalTest, AServerGoesOnFromWhatWasAnswered) {
  std::string web, account;
  {
    FakeApiServer first = Start(1);
    first.PutJson(kWebMap, R"({"data":{"a":"1"}})");
    first.PutJson(kGone, "{}");
    first.PutJson(kWebMap, R"({"data":{"a":"2"}})");
    first.Remove(kGone);
    EXPECT_EQ(std::filesystem::status(file_).permissions(), std::filesystem::perms(0600));
    web = first.GetJson(kWebMap);
    account = Ask(first, "/api/v1/namespaces/default/serviceaccounts");
  }
  // a kill during the write leaves half a line
  Append(std::string("999999 ") + kWebMap + R"( {"data":)");
  for (uint64_t seed = 2; seed < 4; ++seed) {
    FakeApiServer next = Start(seed);
    EXPECT_EQ(next.GetJson(kWebMap), web) << "its UID and resourceVersion, too";
    EXPECT_FALSE(next.Has(kGone));
    EXPECT_EQ(next.List("/api/v1/namespaces/default/configmaps").size(), 1u);
    EXPECT_THAT(Ask(next, "/api/v1/namespaces/default/serviceaccounts"), HasSubstr("\"default\""));
  }
}

TEST_F(JournalTest, WhatWasBeforeCannotBeWatchedAndVersionsGrow) {
  int64_t last = 0;
  for (uint64_t seed = 1; seed < 4; ++seed) {
    std::string heard;
    FakeApiServer api = Start(seed);
    api.Begin({.method = "GET",
               .path = "/api/v1/configmaps?watch=1&resourceVersion=" + std::to_string(last)},
              After(clock_, 1s), [&heard](const StatusOr<Response>& answer) {
                heard = answer.ok() ? answer->body : "";
              });
    EXPECT_EQ(heard.find("too old resource version") != std::string::npos, seed > 1) << heard;
    api.PutJson(kWebMap, fmt::format(R"({{"data":{{"seed":"{}"}}}})", seed));
    const std::string json = api.GetJson(kWebMap);
    const std::string mark = "\"resourceVersion\":\"";
    const int64_t version = std::stoll(json.substr(json.find(mark) + mark.size()));
    EXPECT_GT(version, last);
    last = version;
  }
}

TEST_F(JournalTest, AFileOfSomethingElseIsRefusedWithItsLine) {
  Append("7 /api/v1/namespaces/default/configmaps/web {}\nhello\n");
  EXPECT_THAT(Message(Open()), HasSubstr(file_ + ": line 2: no path"));
  std::filesystem::remove(file_);
  Append("7 /api/v1/namespaces/default/configmaps {}\n");
  EXPECT_THAT(Message(Open()), HasSubstr(file_ + ": line 1: no object"));
  EXPECT_FALSE(Journal::Open("/nowhere/at/all", *std::make_unique<Store>(1, nullptr)).ok());
}

}  // namespace
}  // namespace splitlet::fake_api
