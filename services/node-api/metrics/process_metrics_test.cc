#include "services/node-api/metrics/process_metrics.h"

#include <gtest/gtest.h>

namespace splitlet::node_api {
namespace {

TEST(ProcessMetrics, AProcessIsAskedOnLoopbackAtItsOwnPort) {
  const struct {
    const char* address;
    bool fixed_ports;
    const char* want;  // empty: no process is scraped
  } kCases[] = {
      {"127.0.0.1:40123", false, "127.0.0.1:40123"},
      {"127.0.0.1:10274", true, "127.0.0.1:10274"},
      {"127.0.0.1:10275", true, ""},
      {"127.0.0.1:40123", true, ""},
      {"0.0.0.0:40123", false, "127.0.0.1:40123"},
      {"[::1]:40123", false, "[::1]:40123"},
      {"[::]:40123", false, "[::1]:40123"},
      {"127.0.0.1.example:80", false, "127.0.0.1:80"},
      {"169.254.169.254:80", false, ""},
      {"example:80", false, ""},
      {"127.0.0.1:80/latest/x", false, ""},
      {"user@10.0.0.1:80", false, ""},
      {"127.0.0.1:0", false, ""},
      {"127.0.0.1", false, ""},
      {"", false, ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.address);
    EXPECT_EQ(CheckedAddress("pleg", c.address, c.fixed_ports).value_or(""), c.want);
  }
}

}  // namespace
}  // namespace splitlet::node_api
