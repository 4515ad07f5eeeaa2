#include "services/config-source/completeness.h"

#include <gtest/gtest.h>

namespace splitlet::config_source {
namespace {

TEST(Completeness, WhyASourceIsIncomplete) {
  const SourceProgress complete{.stage = Stage::kRunning,
                                .source = SourceStage::kIncomplete,
                                .set_complete = true,
                                .all_put = true};
  const auto with = [&complete](auto change) {
    SourceProgress progress = complete;
    change(progress);
    return progress;
  };
  const struct {
    const char* name;
    SourceProgress progress;
    std::string want;
  } cases[] = {
      {"all pods are known and put", complete, ""},
      {"before the files are read nothing is known",
       with([](auto& f) { f.stage = Stage::kReadingFiles; }), kUnreadFiles},
      {"a file of a newer version may be of any source", with([](auto& f) { f.blocked = "u"; }),
       "pod u was saved by a newer version"},
      {"a source is unread before its first set",
       with([](auto& f) { f.source = SourceStage::kUnread; }), "not read yet"},
      {"an incomplete set has its reason", with([](auto& f) {
         f.set_complete = false;
         f.set_reason = "/m: permission denied";
       }),
       "/m: permission denied"},
      {"a complete source becomes incomplete by its set", with([](auto& f) {
         f.source = SourceStage::kComplete;
         f.set_complete = false;
         f.set_reason = "gone";
       }),
       "gone"},
      {"a first pod that is not put is missing in the table",
       with([](auto& f) { f.all_put = false; }), "pods are being saved"},
      {"a first pod waits for `workers`", with([](auto& f) {
         f.stage = Stage::kAwaitingWorkers;
         f.all_put = false;
       }),
       kWorkersUnknown},
      {"saved pods do not wait for `workers`",
       with([](auto& f) { f.stage = Stage::kAwaitingWorkers; }), ""},
      {"a new pod does not make a complete source incomplete", with([](auto& f) {
         f.source = SourceStage::kComplete;
         f.all_put = false;
       }),
       ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(WhyIncomplete(c.progress), c.want);
  }
}

}  // namespace
}  // namespace splitlet::config_source
