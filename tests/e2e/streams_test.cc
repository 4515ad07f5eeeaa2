// Access of a person to a running container: read its log, run a command in it.

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

using Streams = E2eTest;

TEST_F(Streams, ALogIsShownAsTheContainerWroteIt) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "echo one; echo two; echo three; sleep 1000"));
  ExpectExactly({"web"});
  const std::string name = node_->Pod("web")->name;
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    return node_->Ctl({"logs", name}).output.find("three\n") != std::string::npos;
  }));
  EXPECT_EQ(node_->Ctl({"logs", name}).output, "one\ntwo\nthree\n");
  EXPECT_EQ(node_->Ctl({"logs", name, "--tail", "1"}).output, "three\n");
  const Node::Run previous = node_->Ctl({"logs", name, "-p"});
  EXPECT_EQ(previous.exit_code, 1);
  EXPECT_NE(previous.output.find("previous terminated container \"app\""), std::string::npos)
      << previous.output;
}

TEST_F(Streams, ACommandsOutputAndExitCodeAreTheCallers) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectExactly({"web"});
  const std::string name = node_->Pod("web")->name;
  const Node::Run well = node_->Ctl({"exec", name, "--", "sh", "-c", "echo in $0", "get"});
  EXPECT_EQ(well.exit_code, 0);
  EXPECT_EQ(well.output, "in get\n");
  const Node::Run failed = node_->Ctl({"exec", name, "--", "sh", "-c", "echo bad >&2; exit 42"});
  EXPECT_EQ(failed.exit_code, 42) << failed.output;
  EXPECT_NE(failed.output.find("bad\n"), std::string::npos) << failed.output;
  const Node::Run missing = node_->Ctl({"exec", name, "--", "/no/such/program"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_NE(missing.output.find("/no/such/program"), std::string::npos) << missing.output;
}

/// $1 splitletctl, $2 the directory of the node, $3 the pod.
constexpr const char* kPipes = R"(set -eu
sctl() { "$splitletctl" --state-dir "$dir" "$@"; }
splitletctl=$1 dir=$2 pod=$3
echo hi | sctl exec -i "$pod" -- wc -c
head -c 20000001 /dev/urandom > "$dir/in"
sctl exec -i "$pod" -- cat < "$dir/in" > "$dir/out"
cmp "$dir/in" "$dir/out" && echo same
sctl exec "$pod" -- sh -c '[ 1 = 1 ] && echo "$@"' sh '[a,b]' '[]'
)";

TEST_F(Streams, APipeIntoACommandArrivesWholeAndEnds) {
  StartNode();
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectExactly({"web"});
  const std::string log = node_->LogOf("pipes");
  EXPECT_EQ(
      harness::RunToEnd({.argv = {"sh", "-c", kPipes, "sh", harness::BinDir() + "/splitletctl",
                                  node_->dir(), node_->Pod("web")->name},
                         .env = {},
                         .output = log},
                        60s),
      0);
  EXPECT_EQ(harness::ReadFile(log), "3\nsame\n[a,b] []\n");
}

TEST_F(Streams, WhoIsAttachedSeesWhatIsWrittenFromThenOnUntilTheEnd) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      PodWithScratch("web",
                     "echo before; while [ ! -e /scratch/go ]; do sleep 0.1; done; for i in "
                     "$(seq 100); do echo tick; echo tock >&2; sleep 0.1; done",
                     scratch(), "  restartPolicy: Never\n"));
  ExpectExactly({"web"});
  harness::WriteFile(scratch() + "/go", "");
  const Node::Run attached = node_->Ctl({"attach", node_->Pod("web")->name});
  EXPECT_EQ(attached.exit_code, 0) << attached.output;
  EXPECT_NE(attached.output.find("tick\n"), std::string::npos) << attached.output;
  EXPECT_NE(attached.output.find("tock\n"), std::string::npos) << attached.output;
  EXPECT_EQ(attached.output.find("before"), std::string::npos) << attached.output;
  ExpectPhase("web", "Succeeded");
  const Node::Run late = node_->Ctl({"attach", node_->Pod("web")->name});
  EXPECT_EQ(late.exit_code, 1);
  EXPECT_NE(late.output.find("cannot attach to a container in a completed pod"), std::string::npos)
      << late.output;
}

}  // namespace
}  // namespace splitlet::e2e
