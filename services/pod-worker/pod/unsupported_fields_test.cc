#include "services/pod-worker/pod/unsupported_fields.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(NotCarriedOut, NamesTheField) {
  using Edit = void (*)(kube::PodSpec&);
  const struct {
    const char* name;
    Edit edit;
    const char* want;
  } kCases[] = {
      {"a pod that asks for nothing special", [](auto&) {}, ""},
      {"an empty lifecycle asks for nothing",
       [](auto& spec) { spec.mutable_containers(0)->mutable_lifecycle(); }, ""},
      {"probes are carried out",
       [](auto& spec) { spec.mutable_containers(0)->mutable_readiness_probe(); }, ""},
      {"all that a container may ask for",
       [](auto& spec) {
         auto& app = *spec.mutable_containers(0);
         app.mutable_lifecycle()->mutable_post_start();
         app.mutable_lifecycle()->mutable_pre_stop();
         app.mutable_lifecycle()->set_stop_signal("SIGUSR1");
         app.add_restart_policy_rules()->set_action("RestartAllContainers");
       },
       ""},
      {"pull secrets are carried out", [](auto& spec) { spec.add_image_pull_secrets(); }, ""},
      {"one field", [](auto& spec) { spec.add_resource_claims(); },
       "pod: resourceClaims is not carried out by this version"},
      {"ephemeral containers are carried out", [](auto& spec) { spec.add_ephemeral_containers(); },
       ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    auto pod = TestPod{.inits = {"side"}, .sidecars = {"side"}}.Make();
    c.edit(*pod.mutable_spec());
    EXPECT_EQ(UnsupportedFields(pod), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
