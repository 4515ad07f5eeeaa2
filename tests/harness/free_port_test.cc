#include "tests/harness/free_port.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace splitlet::harness {
namespace {

TEST(FreePort, GivesEachCallAnotherPortThatTheKernelDoesNotAssign) {
  int first_of_clients = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_of_clients;
  std::set<uint16_t> ports;
  for (int i = 0; i < 50; ++i) ports.insert(FreePort());
  EXPECT_EQ(ports.size(), 50u);
  EXPECT_LT(*ports.rbegin(), first_of_clients);
}

}  // namespace
}  // namespace splitlet::harness
