#include "services/pod-worker/volumes/csi/node_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeReport, TheRecordHasTheNamesAndWhetherTheyAreAll) {
  v1::WorkerNode node;
  FillNode({.names = {"a", "b"}, .known = true}, node);
  EXPECT_THAT(node.volumes_in_use(), ElementsAre("a", "b"));
  EXPECT_TRUE(node.volumes_known());
  FillNode({}, node);
  EXPECT_THAT(node.volumes_in_use(), IsEmpty());
  EXPECT_FALSE(node.volumes_known());
}

TEST(NodeReport, TheAnswerOfStatusIsRead) {
  v1::NodeRecord record;
  record.add_volumes_in_use("a");
  record.add_volumes_attached()->set_name("b");
  const auto node = AttachmentsIn(record);
  EXPECT_THAT(node.in_use, ElementsAre("a"));
  EXPECT_THAT(node.attached, ElementsAre("b"));
}

}  // namespace
}  // namespace splitlet::pod_worker
