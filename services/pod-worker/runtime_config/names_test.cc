#include "services/pod-worker/runtime_config/names.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Names, HashIsTheKubelets) {
  kube::Container container;
  container.set_name("test_container");
  container.set_image("foo/image:v1");
  EXPECT_EQ(ContainerHash(container), "8e45cbd0");
}

TEST(Names, LabelsAndAnnotationsAreTheKubelets) {
  kube::Pod pod = TestPod{}.Make();
  (*pod.mutable_metadata()->mutable_labels())["app"] = "web";
  (*pod.mutable_metadata()->mutable_labels())["io.kubernetes.pod.uid"] = "forged";
  auto& port = *pod.mutable_spec()->mutable_containers(0)->add_ports();
  port.set_name("http");
  port.set_container_port(80);
  port.set_protocol("TCP");
  EXPECT_EQ(SandboxLabels(pod), (cri::StringMap{{"app", "web"},
                                                {"io.kubernetes.pod.name", "web"},
                                                {"io.kubernetes.pod.namespace", "default"},
                                                {"io.kubernetes.pod.uid", "uid-web"}}));
  EXPECT_EQ(ContainerLabels(pod, "app").at("io.kubernetes.container.name"), "app");
  pod.mutable_spec()
      ->mutable_containers(0)
      ->mutable_lifecycle()
      ->mutable_pre_stop()
      ->mutable_sleep()
      ->set_seconds(5);
  const auto annotations = ContainerAnnotations(pod, pod.spec().containers(0), 7, 0);
  EXPECT_EQ(
      annotations,
      (cri::StringMap{{"io.kubernetes.container.hash", ContainerHash(pod.spec().containers(0))},
                      {"io.kubernetes.container.restartCount", "7"},
                      {"io.kubernetes.container.terminationMessagePath", "/dev/termination-log"},
                      {"io.kubernetes.container.terminationMessagePolicy", "File"},
                      {"io.kubernetes.container.ports",
                       R"([{"name":"http","containerPort":80,"protocol":"TCP"}])"},
                      {"io.kubernetes.container.preStopHandler", R"({"sleep":{"seconds":5}})"},
                      {"io.kubernetes.pod.terminationGracePeriod", "30"}}));
  EXPECT_EQ(PodLogDirectory("/var/log/pods", pod), "/var/log/pods/default_web_uid-web");
  EXPECT_EQ(ContainerLogPath("app", 3), "app/3.log");
  EXPECT_EQ(LogLinkName(pod, "app", "0123"), "web_default_app-0123.log");
  EXPECT_EQ(LogLinkName(pod, std::string(300, 'c'), "0").size(), 255u);
}

TEST(Names, RestartCountFollowsTheHighestLog) {
  EXPECT_EQ(RestartCountFromLogs({}), 0u);
  EXPECT_EQ(RestartCountFromLogs({"3.log", "2.log.gz", "x.log", "9.txt"}), 4u);
  EXPECT_EQ(RestartCountFromLogs({"4.log.20260101-000000"}), 5u);
}

}  // namespace
}  // namespace splitlet::pod_worker
