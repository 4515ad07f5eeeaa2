#include "libs/http/http.h"

#include <gtest/gtest.h>

#include <thread>

#include "libs/base/cancel.h"
#include "libs/http/test_server.h"

namespace splitlet::http {
namespace {

TEST(HttpClient, ItIsGivenUpWhenNobodyWaitsAnyMore) {
  const RealClock clock;
  const Server server([](const std::string&, int connection) { WaitForEnd(connection); });
  const auto cancel = std::make_shared<CancelToken>();
  std::thread canceller([&] {
    while (server.requests == 0) std::this_thread::yield();
    cancel->Cancel();
  });
  const auto answer =
      Client(clock).Call({.url = server.Url(), .headers = {}, .body = {}, .max_bytes = 10},
                         Deadline{clock.Now() + 20s, cancel});
  canceller.join();
  EXPECT_EQ(answer.status().code(), StatusCode::kCancelled);
}

}  // namespace
}  // namespace splitlet::http
