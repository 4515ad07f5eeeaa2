// Number of threads of each process while a whole node ends at the same time.

#include <algorithm>

#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

#ifdef SPLITLET_ASAN
constexpr int kPods = 200;  // 500 take minutes here
#else
constexpr int kPods = 500;
#endif
constexpr size_t kMaxThreads = 100;
constexpr auto kManyPods = 400s;  // far above the usual time, for a loaded machine
constexpr const char* kManyPodsConfig = R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
fileCheckFrequency: 2s
maxPods: 600
registryPullQPS: 0
serializeImagePulls: false
)";

class ManyPods : public IntegrationTest {
 protected:
  size_t InRuntime(const std::string& what) {
    const auto list = fake_cri::Control(control_).List();
    if (!list.ok()) return 0;
    size_t count = 0;
    for (size_t at = list->find(what); at != std::string::npos; at = list->find(what, at + 1))
      ++count;
    return count;
  }
  size_t Hanging() {
    const auto count = fake_cri::Control(control_).Send("hanging");
    return count.ok() ? static_cast<size_t>(std::stoul(*count)) : 0;
  }
};

TEST_F(ManyPods, HundredsEndAtOnceWithUnderAHundredThreads) {
  ASSERT_NO_FATAL_FAILURE(StartNode({.config = kManyPodsConfig}));
  const auto info = node_->Info("pod-worker");
  ASSERT_TRUE(info.ok()) << info.status();
  const auto name = [](int i) { return fmt::format("pod-{}", i); };
  for (int i = 0; i < kPods; ++i)
    node_->PutManifest(name(i) + ".yaml", PodYaml(name(i), "sleep 1000"));
  ASSERT_TRUE(WaitFor(kManyPods, [&] { return InRuntime("\"running\"") >= size_t{kPods}; }));

  fake_cri::Control control(control_);
  ASSERT_TRUE(control.Fault("StopContainer", "*", "hang").ok());
  for (int i = 0; i < kPods; ++i) node_->RemoveManifest(name(i) + ".yaml");
  size_t most = 0;
  const auto look = [&] { most = std::max(most, harness::ThreadsOf(info->pid())); };
  EXPECT_TRUE(WaitFor(kManyPods, [&] {
    look();
    return Hanging() == size_t{kPods};
  }));
  ASSERT_TRUE(control.ClearFaults().ok());
  EXPECT_TRUE(WaitFor(kManyPods, [&] {
    look();
    return InRuntime("\"running\"") == 0;
  }));
  EXPECT_LT(most, kMaxThreads);
  EXPECT_EQ(node_->Info("pod-worker")->pid(), info->pid()) << "one process all the time";
}

}  // namespace
}  // namespace splitlet::integration
