#include "tests/integration/fixture.h"

namespace splitlet::integration {

void IntegrationTest::StartFakeCri(const std::string& events) {
  runtime_dir_ = std::make_unique<harness::TempDir>("fc");
  socket_ = runtime_dir_->path() + "/cri.sock";
  control_ = runtime_dir_->path() + "/ctl.sock";
  events_ = events;
  StartFakeCriAgain();
  view_ = std::make_unique<harness::RuntimeView>("unix://" + socket_);
}

void IntegrationTest::StartFakeCriAgain() {
  runtime_.Start("fake-cri", {.argv = {harness::BinDir() + "/fake-cri", "--socket", socket_,
                                       "--control", control_, "--events", events_, "--state",
                                       runtime_dir_->path() + "/state"},
                              .env = {},
                              .output = runtime_dir_->path() + "/log"});
}

void IntegrationTest::StartNode(harness::NodeOptions options, const std::string& events) {
  StartFakeCri(events);
  options.runtime_endpoint = "unix://" + socket_;
  node_ = std::make_unique<Node>(std::move(options));
  node_->Start();
}

void IntegrationTest::TearDown() {
  if (HasFailure() && node_ != nullptr) ADD_FAILURE() << view_->Describe() << node_->LogTails();
  node_.reset();
}

void IntegrationTest::ExpectRunning(const std::string& name) {
  ASSERT_TRUE(WaitFor(kSoon, [&] { return node_->IsRunning(name); })) << name << " does not run";
}

void IntegrationTest::ExpectGone(const std::string& name) {
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        return node_->IsGone(name) && view_->RunningOf(name).empty() &&
                               view_->ReadySandboxesOf(name).empty();
                      }))
      << name << " does not go";
}

void IntegrationTest::ExpectExactly(const std::vector<std::string>& pods) {
  const auto matches = [&] {
    for (const auto& pod : pods) {
      if (view_->ReadySandboxesOf(pod).size() != 1 || view_->RunningOf(pod).size() != 1)
        return false;
      if (!node_->IsRunning(pod)) return false;
    }
    return view_->ReadySandboxCount() == pods.size() && view_->RunningCount() == pods.size();
  };
  ASSERT_TRUE(WaitFor(kSoon, matches))
      << "wanted " << pods.size() << " pods; " << view_->Describe();
}

int IntegrationTest::RestartsOf(const std::string& pod) {
  const auto view = node_->Pod(pod);
  if (view == nullptr || view->containers.empty()) return -1;
  return view->containers.front().restarts;
}

}  // namespace splitlet::integration
