#include "tests/harness/node_fixture.h"

#include <algorithm>

namespace splitlet::harness {

void NodeTest::MakeNode(NodeOptions options) { node_ = std::make_unique<Node>(std::move(options)); }

void NodeTest::EndNode() {
  if (node_ == nullptr) return;
  // The keeper restarts a process that ended by an error of its own, so the test may not have
  // noticed.
  EXPECT_EQ(node_->keeper().Crashes(), "");
  EXPECT_EQ(node_->SanitizerReports(), "");
  if (HasFailure()) ADD_FAILURE() << view_->Describe() << node_->LogTails();
  node_.reset();
}

void NodeTest::ExpectRunning(const std::string& name) {
  ASSERT_TRUE(WaitFor(soon_, [&] { return node_->IsRunning(name); })) << name << " does not run";
}

void NodeTest::ExpectGone(const std::string& name) {
  ASSERT_TRUE(WaitFor(soon_,
                      [&] {
                        return node_->IsGone(name) && view_->RunningOf(name).empty() &&
                               view_->ReadySandboxesOf(name).empty();
                      }))
      << name << " does not go";
}

void NodeTest::ExpectExactly(const std::vector<std::string>& pods) {
  // Queries the agent only once the runtime agrees; takes each list once per poll.
  const auto matches = [&] {
    return AreExactly(pods, view_->ReadySandboxes(), view_->Running()) &&
           std::ranges::all_of(pods, [this](const auto& pod) { return node_->IsRunning(pod); });
  };
  ASSERT_TRUE(WaitFor(soon_, matches))
      << "wanted " << pods.size() << " pods; " << view_->Describe();
}

int NodeTest::RestartsOf(const std::string& pod) {
  const auto view = node_->Pod(pod);
  return view == nullptr || view->containers.empty() ? -1 : view->containers.front().restarts;
}

}  // namespace splitlet::harness
