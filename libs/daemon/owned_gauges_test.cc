#include "libs/daemon/owned_gauges.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>

namespace splitlet::daemon {
namespace {

class OwnedGaugesTest : public testing::Test {
 protected:
  double Of(const std::string& kind) { return family_.Add({{"kind", kind}}).Value(); }

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Gauge>& family_ =
      prometheus::BuildGauge().Name("things").Help("Things.").Register(registry_);
  OwnedGauges gauges_{family_};
};

TEST_F(OwnedGaugesTest, AddUpOverOwners) {
  gauges_.Set("a", {{{"kind", "round"}}, {{"kind", "round"}}, {{"kind", "square"}}});
  gauges_.Set("b", {{{"kind", "round"}}});
  EXPECT_EQ(Of("round"), 3);
  EXPECT_EQ(Of("square"), 1);
}

TEST_F(OwnedGaugesTest, TheLastOfAnOwnerCountsAndNoneOfOneThatIsForgotten) {
  gauges_.Set("a", {{{"kind", "round"}}});
  gauges_.Set("a", {{{"kind", "round"}}});
  EXPECT_EQ(Of("round"), 1);
  EXPECT_TRUE(gauges_.Knows("a"));
  gauges_.Forget("a");
  gauges_.Forget("a");
  EXPECT_FALSE(gauges_.Knows("a"));
  EXPECT_EQ(Of("round"), 0);
}

}  // namespace
}  // namespace splitlet::daemon
