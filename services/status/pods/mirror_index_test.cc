#include "services/status/pods/mirror_index.h"

#include <gtest/gtest.h>

namespace splitlet::status {
namespace {

using Keys = std::set<std::string>;

v1::DesiredRecord RecordOf(v1::DesiredRecord::State state, const std::string& name) {
  v1::DesiredRecord record;
  record.set_state(state);
  record.set_name(name);
  record.set_namespace_("default");
  return record;
}

class MirrorIndexTest : public testing::Test {
 protected:
  MirrorIndex index;
  const v1::DesiredRecord web = RecordOf(v1::DesiredRecord::MIRROR, "web");
};

TEST_F(MirrorIndexTest, FindsMirrorPodsByFullName) {
  index.Set("m1", &web);
  index.Set("m2", &web);
  const auto other = RecordOf(v1::DesiredRecord::MIRROR, "other");
  index.Set("m3", &other);
  EXPECT_EQ(index.KeysOf("web_default"), (Keys{"m1", "m2"}));
  EXPECT_EQ(index.KeysOf("other_default"), Keys{"m3"});
  EXPECT_EQ(index.KeysOf("web_kube-system"), Keys{});
}

TEST_F(MirrorIndexTest, OnlyMirrorPodsAreInIt) {
  const auto wanted = RecordOf(v1::DesiredRecord::WANTED, "web");
  index.Set("u1", &wanted);
  EXPECT_EQ(index.KeysOf("web_default"), Keys{});
}

TEST_F(MirrorIndexTest, AMirrorPodThatIsGoneOrUnreadableIsNotInIt) {
  index.Set("m1", &web);
  index.Set("m2", &web);
  index.Set("m1", nullptr);
  EXPECT_EQ(index.KeysOf("web_default"), Keys{"m2"});
  index.Set("m2", nullptr);
  index.Set("m2", nullptr);
  EXPECT_EQ(index.KeysOf("web_default"), Keys{});
}

TEST_F(MirrorIndexTest, TheLastRecordOfAKeyCounts) {
  index.Set("m1", &web);
  index.Set("m1", &web);
  const auto renamed = RecordOf(v1::DesiredRecord::MIRROR, "renamed");
  index.Set("m1", &renamed);
  EXPECT_EQ(index.KeysOf("web_default"), Keys{});
  EXPECT_EQ(index.KeysOf("renamed_default"), Keys{"m1"});
}

}  // namespace
}  // namespace splitlet::status
