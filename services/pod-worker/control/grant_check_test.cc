#include "services/pod-worker/control/grant_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kContentUid = "0123456789abcdef0123456789abcdef";

/// Of an API server, not changed since it was made, with a limit of memory.
kube::Pod Plain() {
  kube::Pod pod;
  pod.mutable_metadata()->set_uid("u");
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("default");
  pod.mutable_metadata()->set_generation(1);
  auto& container = *pod.mutable_spec()->add_containers();
  container.set_name("app");
  (*container.mutable_resources()->mutable_limits())["memory"].set_string("64Mi");
  return pod;
}

void SetMemory(kube::Pod& pod, const char* memory) {
  (*pod.mutable_spec()->mutable_containers(0)->mutable_resources()->mutable_limits())["memory"]
      .set_string(memory);
}
void ClearLimits(kube::Pod& pod) { pod.mutable_spec()->mutable_containers(0)->clear_resources(); }
void SetStatic(kube::Pod& pod, const char* uid) {
  pod.mutable_metadata()->set_uid(uid);
  pod.mutable_metadata()->clear_generation();
  (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.source"] = "file";
}

TEST(IsWantedPod, WhatMayDiffer) {
  using Edit = std::function<void(kube::Pod&)>;
  const Edit as_it_is = [](kube::Pod&) {};
  const struct {
    const char* name;
    Edit both, asked;
    bool want;
  } cases[] = {
      {"nothing", as_it_is, as_it_is, true},
      {"a status, which the server brings back", as_it_is,
       [](kube::Pod& p) { p.mutable_status()->set_phase("Running"); }, true},
      {"the version that a write of the status has counted",
       [](kube::Pod& p) { p.mutable_metadata()->set_resource_version("352"); },
       [](kube::Pod& p) { p.mutable_metadata()->set_resource_version("350"); }, true},
      {"a version, where the server says none", as_it_is,
       [](kube::Pod& p) { p.mutable_metadata()->set_resource_version("350"); }, true},
      {"an image", as_it_is,
       [](kube::Pod& p) { p.mutable_spec()->mutable_containers(0)->set_image("other"); }, false},
      {"a label", as_it_is,
       [](kube::Pod& p) { (*p.mutable_metadata()->mutable_labels())["a"] = "b"; }, false},
      {"a deletion", as_it_is,
       [](kube::Pod& p) { p.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1); },
       false},
      {"a limit of a pod that nobody has changed", as_it_is, ClearLimits, false},
      {"a limit of a pod that was changed since it was made",
       [](kube::Pod& p) { p.mutable_metadata()->set_generation(2); }, ClearLimits, true},
      {"a limit, where the server does not count",
       [](kube::Pod& p) { p.mutable_metadata()->clear_generation(); }, ClearLimits, true},
      {"a limit of a manifest's pod, each version of which is another pod",
       [](kube::Pod& p) { SetStatic(p, kContentUid); }, ClearLimits, false},
      {"a limit of a manifest's pod that names its UID",
       [](kube::Pod& p) { SetStatic(p, "uid-web"); }, ClearLimits, true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    kube::Pod wanted = Plain();
    c.both(wanted);
    kube::Pod asked = wanted;
    c.asked(asked);
    EXPECT_EQ(IsWantedPod(asked, wanted, {}), c.want);
  }
}

TEST(IsWantedPod, APodThatIsGrantedKeepsItsResourcesOrGetsThoseThatItAsksFor) {
  const kube::Pod granted = Plain();
  kube::Pod wanted = granted;
  wanted.mutable_metadata()->set_generation(2);
  SetMemory(wanted, "1Gi");
  wanted.mutable_spec()->mutable_containers(0)->set_image("another");
  const auto is_wanted = [&](const kube::Pod& asked) {
    return IsWantedPod(asked, wanted, kube::PodBytes::Of(granted));
  };
  kube::Pod asked = wanted;
  EXPECT_TRUE(is_wanted(asked));
  SetMemory(asked, "64Mi");
  EXPECT_TRUE(is_wanted(asked)) << "the resize is not made";
  SetMemory(asked, "8Gi");
  EXPECT_FALSE(is_wanted(asked));
  ClearLimits(asked);
  EXPECT_FALSE(is_wanted(asked));
}

struct GrantOf {
  explicit GrantOf(const kube::Pod& wanted) {
    record.set_name("web");
    record.set_namespace_("default");
    record.set_state(v1::DesiredRecord::WANTED);
    record.set_incarnation(1);
    record.set_generation(1);
    record.set_pod(wanted.SerializeAsString());
    request.set_incarnation(1);
    request.set_generation(1);
  }
  GrantAnswer Check(const kube::Pod& asked) {
    const kube::ParsedPod pod{kube::PodBytes::Of(asked), std::make_shared<const kube::Pod>(asked)};
    return CheckGrant(request, pod, &record, {});
  }
  v1::DesiredRecord record;
  v1::UpdatePodRequest request;
};

TEST(CheckGrant, TheStatusIsTheOneThatConfigSourceShows) {
  kube::Pod wanted = Plain();
  wanted.mutable_metadata()->set_resource_version("352");
  wanted.mutable_status()->set_qos_class("Burstable");
  kube::Pod asked = wanted;
  asked.mutable_status()->set_qos_class("Guaranteed");
  asked.mutable_metadata()->set_resource_version("350");
  const GrantAnswer answer = GrantOf(wanted).Check(asked);
  EXPECT_EQ(answer.kind, GrantAnswer::Kind::kTake);
  const kube::Pod granted = answer.pod.bytes.Parse();
  EXPECT_EQ(granted.status().qos_class(), "Burstable");
  EXPECT_EQ(granted.metadata().resource_version(), "352");
  EXPECT_EQ(granted.spec().containers(0).resources().limits().at("memory").string(), "64Mi");
  EXPECT_EQ(kube::PodBytes::Of(*answer.pod.pod), answer.pod.bytes);
}

TEST(CheckGrant, TheWrittenFormOfAnAmountDoesNotCount) {
  const kube::Pod wanted = Plain();
  kube::Pod asked = wanted;
  SetMemory(asked, "65536Ki");
  EXPECT_EQ(GrantOf(wanted).Check(asked).kind, GrantAnswer::Kind::kTake);
  SetMemory(asked, "65537Ki");
  EXPECT_EQ(GrantOf(wanted).Check(asked).kind, GrantAnswer::Kind::kUnmanaged);
}

TEST(CheckGrant, ARecordOfNoPodIsNamedAndGrantsNothing) {
  GrantOf grant(Plain());
  grant.record.set_pod("\xff\xff");
  const GrantAnswer answer = grant.Check(Plain());
  EXPECT_EQ(answer.kind, GrantAnswer::Kind::kUnmanaged);
  EXPECT_EQ(answer.why,
            InvalidArgument("the record of pod default/web in `desired`: the bytes are no pod"));
}

TEST(CheckGrant, APodThatIsTheOneOfTheRecordIsNotParsedAgain) {
  GrantOf grant(Plain());
  const uint64_t before = kube::PodBytes::parses();
  EXPECT_EQ(grant.Check(Plain()).kind, GrantAnswer::Kind::kTake);
  EXPECT_EQ(kube::PodBytes::parses(), before);
}

}  // namespace
}  // namespace splitlet::pod_worker
