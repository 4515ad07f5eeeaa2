#include "libs/bus/list_client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "libs/base/clock.h"
#include "libs/rpc/client.h"

namespace splitlet::bus {
namespace {

// gRPC's threads end with the last channel. On one of those threads that would be a thread that
// waits for its own end, and then reads a queue that is gone.
TEST(ListClient, NoCallHoldsAChannelOnceItIsGone) {
  const RealClock clock;
  for (int round = 0; round < 300; ++round) {
    std::weak_ptr<grpc::Channel> channel;
    std::atomic<int> told = 0;
    {
      ListClient client(
          [&channel](const std::string& /*process*/) {
            auto made = rpc::Connect("/nowhere/rpc.sock");
            channel = made;
            return made;
          },
          clock);
      for (int call = 0; call < 4; ++call)
        client.List("gc", "images", {}, [&told](const auto& answer) {
          EXPECT_FALSE(answer.ok());
          ++told;
        });
    }
    ASSERT_EQ(told, 4);
    ASSERT_TRUE(channel.expired()) << "round " << round;
  }
}

}  // namespace
}  // namespace splitlet::bus
