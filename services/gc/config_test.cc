#include "services/gc/config.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "libs/config/kubelet_config.h"
#include "libs/daemon/service.h"

namespace splitlet::gc {
namespace {

TEST(GcConfig, WhereAllPodsAreLimitedTogether) {
  const struct {
    const char* name;
    std::optional<bool> cgroups_per_qos;
    const char* kubeconfig;
    bool enforced;
    const char* root;
    const char* want;
  } kCases[] = {
      {"a node of an API server", std::nullopt, "/etc/kubeconfig", true, "/", "/kubepods"},
      {"it does without", false, "/etc/kubeconfig", true, "/", ""},
      {"one without an API server", std::nullopt, "", true, "/", ""},
      {"one that asks for it", true, "", true, "/", "/kubepods"},
      {"pods are not limited together", true, "", false, "/", ""},
      {"below a cgroup of its own", true, "", true, "/a/b", "/a/b/kubepods"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    config::KubeletConfig file;
    file.cgroups_per_qos = c.cgroups_per_qos;
    file.enforce_allocatable = c.enforced;
    file.cgroup_root = c.root;
    daemon::Flags flags;
    flags.kubeconfig = c.kubeconfig;
    const auto config = LoadGcConfig(file, flags, "state");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->pods_cgroup, c.want);
  }
}

}  // namespace
}  // namespace splitlet::gc
