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
  harness::Command command{
      .argv = {harness::BinDir() + "/fake-cri", "--socket", socket_, "--control", control_,
               "--events", events_, "--state", runtime_dir_->path() + "/state"},
      .env = {},
      .output = runtime_dir_->path() + "/log"};
  if (has_image_fs_) command.argv.insert(command.argv.end(), {"--image-fs", runtime_dir_->path()});
  runtime_.Start("fake-cri", command);
}

void IntegrationTest::StartNode(harness::NodeOptions options, const std::string& events) {
  StartFakeCri(events);
  options.runtime_endpoint = "unix://" + socket_;
  MakeNode(std::move(options));
  node_->Start();
}

}  // namespace splitlet::integration
