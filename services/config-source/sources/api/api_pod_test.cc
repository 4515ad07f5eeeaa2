#include "services/config-source/sources/api/api_pod.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "services/config-source/sources/api/remembered_pods.h"

namespace splitlet::config_source {
namespace {

kube::Pod WebOfTheServer() {
  kube::Pod pod;
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("default");
  pod.mutable_metadata()->set_uid("3a1c7a52-1111-2222-3333-444455556666");
  pod.mutable_metadata()->set_resource_version("12");
  pod.mutable_spec()->add_containers()->set_name("app");
  pod.mutable_status()->set_phase("Pending");
  return pod;
}

StatusOr<SourcePodRef> Taken(const kube::Pod& pod) {
  std::vector<std::string> dropped;
  return AcceptApiPod(pod, {}, dropped);
}

TEST(AcceptApiPod, OnlyWhatWouldHarmThisNodeIsRefused) {
  using Edit = std::function<void(kube::Pod&)>;
  const struct {
    const char* name;
    Edit edit;
    const char* want;
  } cases[] = {
      {"as it is", [](kube::Pod&) {}, ""},
      {"a field that config-source does not validate",
       [](kube::Pod& p) { p.mutable_spec()->set_restart_policy("Sometimes"); }, ""},
      {"no UID", [](kube::Pod& p) { p.mutable_metadata()->clear_uid(); }, "metadata.uid"},
      {"a UID that names another directory",
       [](kube::Pod& p) { p.mutable_metadata()->set_uid("../x"); }, "metadata.uid"},
      {"a name that does", [](kube::Pod& p) { p.mutable_metadata()->set_name("a/b"); },
       "metadata.name"},
      {"a namespace that does", [](kube::Pod& p) { p.mutable_metadata()->set_namespace_(".."); },
       "metadata.namespace"},
      {"a label that is no text",
       [](kube::Pod& p) { (*p.mutable_metadata()->mutable_labels())["a"] = "\xff"; },
       "metadata.labels.value: is not UTF-8"},
      {"an argument with a NUL",
       [](kube::Pod& p) {
         p.mutable_spec()->mutable_containers(0)->add_args(std::string("a\0b", 3));
       },
       "spec.containers.args: is not UTF-8"},
      {"more than a record may hold",
       [](kube::Pod& p) {
         (*p.mutable_metadata()->mutable_annotations())["a"] = std::string(15 << 20, 'x');
       },
       "the pod takes 15728"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = WebOfTheServer();
    c.edit(pod);
    const auto accepted = Taken(pod);
    EXPECT_EQ(accepted.ok(), *c.want == 0) << accepted.status();
    if (!accepted.ok()) {
      EXPECT_TRUE(Message(accepted.status()).starts_with(c.want)) << accepted.status();
    }
  }
}

TEST(AcceptApiPod, KeepsStatusAndDropsManagedFields) {
  kube::Pod pod = WebOfTheServer(), out;
  pod.mutable_metadata()->add_managed_fields()->set_manager("kubectl");
  const auto accepted = Taken(pod);
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(out.ParseFromString(*(*accepted)->bytes));
  EXPECT_EQ(out.status().phase(), "Pending");
  EXPECT_EQ(out.metadata().managed_fields_size(), 0);
  EXPECT_EQ((*accepted)->origin, "");
  EXPECT_FALSE((*accepted)->mirror);
  (*pod.mutable_metadata()->mutable_annotations())["kubernetes.io/config.mirror"] = "h";
  EXPECT_TRUE((*Taken(pod))->mirror);
}

TEST(WhyNotOffline, ThoseThatMayBeGoneOrElsewhereWait) {
  kube::Pod pod = WebOfTheServer();
  EXPECT_EQ(WhyNotOffline(pod), "");
  auto& owner = *pod.mutable_metadata()->add_owner_references();
  owner.set_kind("ReplicaSet");
  EXPECT_EQ(WhyNotOffline(pod), "");
  owner.set_kind("StatefulSet");
  EXPECT_NE(WhyNotOffline(pod), "");
  (*pod.mutable_metadata()->mutable_annotations())["splitlet.dev/offline-start"] = "false";
  EXPECT_NE(WhyNotOffline(pod), "");
  (*pod.mutable_metadata()->mutable_annotations())["splitlet.dev/offline-start"] = "true";
  EXPECT_EQ(WhyNotOffline(pod), "");
  pod.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  EXPECT_NE(WhyNotOffline(pod), "");
}

TEST(AcceptApiPod, FieldsWhoseGateIsOffAreTakenOutAndNamed) {
  kube::Pod pod;
  pod.mutable_metadata()->set_uid("uid-1");
  pod.mutable_metadata()->set_name("web");
  pod.mutable_metadata()->set_namespace_("default");
  pod.mutable_spec()->set_hostname_override("other");
  std::vector<std::string> dropped;
  const auto accepted = AcceptApiPod(pod, {.hostname_override = true}, dropped);
  ASSERT_TRUE(accepted.ok()) << accepted.status();
  kube::Pod out;
  ASSERT_TRUE(out.ParseFromString(*(*accepted)->bytes));
  EXPECT_FALSE(out.spec().has_hostname_override());
  EXPECT_EQ(dropped,
            std::vector<std::string>{"hostnameOverride: the feature gate HostnameOverride is off"});
}

}  // namespace
}  // namespace splitlet::config_source
