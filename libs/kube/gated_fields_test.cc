#include "libs/kube/gated_fields.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::kube {
namespace {

constexpr const char* kEverything = R"(
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostnameOverride: other
  initContainers:
  - {name: side, image: i, restartPolicy: Always, lifecycle: {stopSignal: SIGUSR1}}
  - {name: once, image: i, restartPolicy: Never}
  containers:
  - name: app
    image: i
    restartPolicy: Never
    restartPolicyRules:
    - {action: Restart, exitCodes: {operator: In, values: [1]}}
    - {action: RestartAllContainers, exitCodes: {operator: In, values: [2]}}
    env:
    - {name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: A}}}
    - {name: B, value: b}
)";

Pod DecodePod(const std::string& text) {
  static const std::vector<KnownKind> kinds = {{"v1", "Pod", &Pod::default_instance()}};
  const auto decoded = Decode(text, "pod.yaml", Strictness::kStrict, kinds);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return decoded.ok() ? *decoded->As<Pod>() : Pod();
}

/// "other Always/- Never/- Never/2 A=file B=b SIGUSR1"
std::string Shown(const Pod& pod) {
  std::vector<std::string> words = {pod.spec().hostname_override()};
  for (const auto* list : {&pod.spec().init_containers(), &pod.spec().containers()})
    for (const auto& container : *list) {
      words.push_back(
          fmt::format("{}/{}", container.restart_policy(), container.restart_policy_rules_size()));
      for (const auto& variable : container.env())
        words.push_back(
            fmt::format("{}={}", variable.name(),
                        variable.value_from().has_file_key_ref() ? "file" : variable.value()));
      words.push_back(container.lifecycle().stop_signal());
    }
  return fmt::format("{}", fmt::join(words, " "));
}

TEST(GatedFields, EachGateTakesItsOwn) {
  const struct {
    const char* name;
    GatesOff off;
    const char* want;
    size_t lines;
  } kCases[] = {
      {"nothing is off", {}, "other Always/0 SIGUSR1 Never/0  Never/2 A=file B=b ", 0},
      {"rules", {.restart_rules = true}, "other Always/0 SIGUSR1 /0  /0 A=file B=b ", 1},
      {"one action",
       {.restart_all = true},
       "other Always/0 SIGUSR1 Never/0  Never/1 A=file B=b ",
       1},
      {"variables", {.env_files = true}, "other Always/0 SIGUSR1 Never/0  Never/2 A= B=b ", 1},
      {"the name of the host",
       {.hostname_override = true},
       " Always/0 SIGUSR1 Never/0  Never/2 A=file B=b ",
       1},
      {"signals", {.stop_signals = true}, "other Always/0  Never/0  Never/2 A=file B=b ", 1},
      {"all",
       {.restart_rules = true,
        .restart_all = true,
        .env_files = true,
        .hostname_override = true,
        .stop_signals = true},
       " Always/0  /0  /0 A= B=b ",
       4},  // the rules of all containers were removed
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Pod pod = DecodePod(kEverything);
    EXPECT_EQ(TakeOutGatedFields(pod, c.off).size(), c.lines);
    EXPECT_EQ(Shown(pod), c.want);
    EXPECT_TRUE(TakeOutGatedFields(pod, c.off).empty()) << "nothing is left";
  }
}

TEST(GatedFields, APodWithoutThemIsLeftAsItIs) {
  Pod pod = DecodePod(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: app, image: "
      "i}]}\n");
  const Pod before = pod;
  const GatesOff all{true, true, true, true, true};
  EXPECT_TRUE(TakeOutGatedFields(pod, all).empty());
  EXPECT_EQ(pod.SerializeAsString(), before.SerializeAsString());
}

}  // namespace
}  // namespace splitlet::kube
