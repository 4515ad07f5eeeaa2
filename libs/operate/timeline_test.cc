#include "libs/operate/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitlet::operate {
namespace {

using testing::HasSubstr;

TEST(Reports, WhatHappensToNoProcessOrPodHasARowOfItsOwn) {
  const Timeline timeline{.length = 10s,
                          .processes = {"pleg"},
                          .pods = {std::string(60, 'p')},
                          .bars = {{"state", 1s, 2s, "fault", "fillDisk state for 1s"}},
                          .marks = {{"node", 3s, "fault", "reboot node"},
                                    {"leftovers", 9s, "violation", "is left over"},
                                    {"pleg", 9s, "start", "started"}}};
  const std::string svg = TimelineSvg(timeline);
  for (const char* row : {"state", "node", "leftovers", "pleg"})
    EXPECT_THAT(svg, HasSubstr(std::string(">") + row + "</text>"));
  EXPECT_THAT(svg, HasSubstr(">" + std::string(20, 'p') + "...<title>" + std::string(60, 'p')));
}

}  // namespace
}  // namespace splitlet::operate
