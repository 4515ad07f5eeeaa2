#include "tests/bench/fake_node.h"

#include <utility>

#include "libs/cri/grpc_runtime.h"
#include "tests/fake_cri/control.h"

namespace splitlet::bench {

using namespace std::chrono_literals;

FakeNode::FakeNode(const std::string& config, std::vector<std::string> flags)
    : dir_("pb"),
      endpoint_("unix://" + dir_.path() + "/cri.sock"),
      control_(dir_.path() + "/ctl.sock"),
      view_(endpoint_),
      node_({.runtime_endpoint = endpoint_,
             .config =
                 "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + config,
             .flags = std::move(flags)}) {
  keeper_.Start("fake-cri",
                {.argv = {harness::BinDir() + "/fake-cri", "--socket", dir_.path() + "/cri.sock",
                          "--control", control_, "--events", "containerd"},
                 .env = {},
                 .output = dir_.path() + "/log"});
  CHECK(harness::WaitFor(
      30s, [this] { return view_.runtime().Version(After(view_.clock(), 1s)).ok(); }));
  node_.Start();
}

void FakeNode::Tell(const std::string& command) const {
  const auto done = fake_cri::Control(control_).Send(command);
  CHECK(done.ok(), "{}", ToString(done.status()));
}

int FakeNode::Calls(const std::string& method) const {
  const auto count = fake_cri::Control(control_).Send("calls " + method);
  CHECK(count.ok(), "{}", ToString(count.status()));
  return std::stoi(*count);
}

}  // namespace splitlet::bench
