#include "services/pod-worker/worker/grant_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {
namespace {

TEST(SameButResources, WhatMayDiffer) {
  using Edit = std::function<void(kube::Pod&)>;
  const struct {
    const char* name;
    Edit edit;
    bool want;
  } cases[] = {
      {"nothing", [](kube::Pod&) {}, true},
      {"resources of a container",
       [](kube::Pod& p) {
         auto& resources = *p.mutable_spec()->mutable_containers(0)->mutable_resources();
         (*resources.mutable_limits())["cpu"].set_string("1");
       },
       true},
      {"a status, which the server brings back",
       [](kube::Pod& p) { p.mutable_status()->set_phase("Running"); }, true},
      {"an image",
       [](kube::Pod& p) { p.mutable_spec()->mutable_containers(0)->set_image("other"); }, false},
      {"a label", [](kube::Pod& p) { (*p.mutable_metadata()->mutable_labels())["a"] = "b"; },
       false},
      {"a deletion",
       [](kube::Pod& p) { p.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1); },
       false},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod;
    pod.mutable_metadata()->set_uid("u");
    pod.mutable_spec()->add_containers()->set_name("app");
    const std::string before = pod.SerializeAsString();
    c.edit(pod);
    EXPECT_EQ(SameButResources(pod.SerializeAsString(), before), c.want);
  }
}

}  // namespace
}  // namespace splitlet::pod_worker
