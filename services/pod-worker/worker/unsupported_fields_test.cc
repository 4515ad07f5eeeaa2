#include "services/pod-worker/worker/unsupported_fields.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(NotCarriedOut, NamesContainerAndField) {
  using Edit = void (*)(kube::PodSpec&);
  const struct {
    const char* name;
    Edit edit;
    const char* want;
  } kCases[] = {
      {"a pod that asks for nothing special", [](auto&) {}, ""},
      {"an empty lifecycle asks for nothing",
       [](auto& spec) { spec.mutable_containers(0)->mutable_lifecycle(); }, ""},
      {"one probe", [](auto& spec) { spec.mutable_containers(0)->mutable_readiness_probe(); },
       "container app: readinessProbe is not carried out by this version"},
      {"all of a container in one line",
       [](auto& spec) {
         auto& app = *spec.mutable_containers(0);
         app.mutable_liveness_probe();
         app.mutable_startup_probe();
         app.mutable_lifecycle()->mutable_post_start();
         app.mutable_lifecycle()->mutable_pre_stop();
       },
       "container app: livenessProbe, startupProbe are not carried out by this version"},
      {"an init container and the pod itself",
       [](auto& spec) {
         spec.mutable_init_containers(0)->mutable_liveness_probe();
         spec.add_image_pull_secrets();
         spec.add_ephemeral_containers();
       },
       "init container side: livenessProbe; pod: imagePullSecrets, ephemeralContainers "
       "are not carried out by this version"},
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
