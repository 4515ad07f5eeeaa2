// Measures the codec with a pod of about 10 KB.

#include <google/protobuf/message.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/clock.h"
#include "libs/kube/codec.h"
#include "tests/bench/result.h"

namespace splitlet::bench {
namespace {

namespace core = k8s::io::api::core::v1;

core::Pod LargePod() {
  core::Pod pod;
  pod.mutable_metadata()->set_name("large");
  pod.mutable_metadata()->set_namespace_("default");
  for (int i = 0; i < 10; ++i)
    (*pod.mutable_metadata()->mutable_labels())[fmt::format("example.org/label-{}", i)] =
        "some-value";
  for (int i = 0; i < 8; ++i) {
    auto& container = *pod.mutable_spec()->add_containers();
    container.set_name(fmt::format("container-{}", i));
    container.set_image("registry.example.org/team/some-image:1.2.3");
    container.add_command("/bin/server");
    for (int e = 0; e < 12; ++e) {
      auto& env = *container.add_env();
      env.set_name(fmt::format("VARIABLE_{}", e));
      env.set_value("a value of some length, as they are");
    }
    for (int p = 0; p < 3; ++p) container.add_ports()->set_container_port(8000 + p);
    (*container.mutable_resources()->mutable_limits())["memory"].set_string("128Mi");
  }
  return pod;
}

template <class F>
void Measure(const std::string& name, double limit_us, const F& f) {
  const RealClock clock;
  Result result{.name = name, .unit = "us"};
  result.limit_p50 = limit_us;
  for (int i = 0; i < 300; ++i) {
    const auto began = clock.Now();
    f();
    result.values.push_back(static_cast<double>((clock.Now() - began).count()) / 1e3);
  }
  Print(result);
}

void Decodes(const std::string& text) {
  core::Pod pod;
  const auto warnings = kube::DecodeInto(text, "large", kube::Strictness::kStrict, pod);
  CHECK(warnings.ok() && pod.spec().containers_size() == 8);
}

int Main() {
  const core::Pod pod = LargePod();
  const kube::EncodeOptions options{.api_version = "v1", .kind = "Pod"};
  const std::string yaml = kube::ToYaml(pod, options);
  const std::string json = kube::ToJson(pod, options);
  std::fprintf(stderr, "the pod is %zu bytes of YAML, %zu of JSON\n", yaml.size(), json.size());
  Measure("codec: YAML to proto", 2500, [&] { Decodes(yaml); });
  Measure("codec: JSON to proto", 120, [&] { Decodes(json); });
  Measure("codec: proto to JSON", 80, [&] { CHECK(!kube::ToJson(pod, options).empty()); });
  return 0;
}

}  // namespace
}  // namespace splitlet::bench

int main() { return splitlet::bench::Main(); }
