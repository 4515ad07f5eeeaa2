#include "ctl/commands/exec.h"

#include <gtest/gtest.h>

#include <sstream>

#include "libs/base/clock.h"
#include "libs/operate/layout.h"

namespace splitlet::ctl {
namespace {

TEST(ExecCommand, WithoutACommandBehindTheMarkThereIsAnError) {
  const RealClock clock;
  const operate::Client client(operate::Layout{}, clock);
  std::ostringstream out, err;
  int exit_code = 0;
  const operate::Context context{.client = client,
                                 .out = out,
                                 .err = err,
                                 .stopped = [] { return false; },
                                 .exit_code = exit_code};
  EXPECT_EQ(Message(Exec(context, {.pod = "web"})),
            "you must specify at least one command for the container");
  EXPECT_EQ(Message(Exec(context, {.pod = "web", .words = {"ls"}})),
            "exec [POD] [COMMAND] is not supported. Use exec [POD] -- [COMMAND]");
  EXPECT_EQ(Message(Exec(context, {.pod = "web", .command = {"-l"}, .words = {"ls"}})),
            "exec [POD] [COMMAND] is not supported. Use exec [POD] -- [COMMAND]");
}

}  // namespace
}  // namespace splitlet::ctl
