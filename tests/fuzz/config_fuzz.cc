// A fuzz target over the configuration file. For any content the result is one line of error that
// names the file, or a plausible configuration. A lenient reader accepts every file that a strict
// one accepts, and ignores nothing in it.

#include "libs/base/one_line.h"
#include "libs/config/kubelet_config.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace splitlet;          // NOLINT(google-build-using-namespace): one target
using namespace splitlet::config;  // NOLINT(google-build-using-namespace): one target

void CheckRefusal(const Status& status) {
  const std::string line(Message(status));
  CHECK(status.code() == StatusCode::kInvalidArgument, "{}", status);
  CHECK(line.starts_with("k.yaml: "), "{}", line);
  CHECK(line == OneLine(line), "{}", line);
}

void CheckNumbers(const KubeletConfig& config) {
  CHECK(config.max_pods >= 0 && config.pods_per_core >= 0);
  CHECK(config.image_gc_low_threshold_percent >= 0 &&
        config.image_gc_high_threshold_percent <= 100);
  CHECK(config.container_log_max_files > 1 && config.container_log_max_size_bytes >= 0);
  CHECK(config.registry_pull_qps >= 0 && config.registry_burst >= 0);
  CHECK(config.splitlet.max_blocking_threads > 0);
  CHECK(config.image_minimum_gc_age >= Duration(0) && config.image_maximum_gc_age >= Duration(0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto strict = KubeletConfig::Load("k.yaml", text, Reading::kStrict);
  const auto lenient = KubeletConfig::Load("k.yaml", text, Reading::kLenient);
  if (lenient.ok()) {
    CheckNumbers(*lenient);
  } else {
    CheckRefusal(lenient.status());
  }
  if (strict.ok()) {
    CHECK(lenient.ok() && lenient->passed_over.empty());
  } else {
    CheckRefusal(strict.status());
  }
  return lenient.ok() ? 0 : -1;
}

FuzzCorpus MakeFuzzCorpus() {
  const std::string head =
      "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
  FuzzCorpus corpus;
  corpus.inputs = {
      head +
          "staticPodPath: m\nstaticPodURLHeader: {X-A: [b, c]}\nmaxPods: 7\nsyncFrequency: 1m30s\n"
          "evictionHard: {memory.available: 100Mi, nodefs.available: 10%}\n",
      head +
          "registerWithTaints:\n- {key: a, value: b, effect: NoSchedule}\nclusterDNS: [10.0.0.10]\n"
          "featureGates: {ContainerStopSignals: true}\nsystemReserved: &r {cpu: "
          "500m}\nkubeReserved: *r\n",
      head +
          "splitlet:\n  users: {pleg: 901}\n  lockFailPoints: no\n"
          "logging: {format: json, flushFrequency: 5000000000}\n"
          "tracing: {endpoint: \"localhost:4317\", samplingRatePerMillion: 100}\n",
      R"({"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":5})"};
  corpus.tokens = {
      "*r",   "&r ",   "<<: ",   "[",         "]",    "{",    "}",       ": ",
      "- ",   "\n",    "\"",     "'",         "|",    "null", "1e400",   "0x10",
      "\\n",  "---\n", "\t",     "#",         "~",    "-1",   "%",       "9223372036854775808",
      "\xFF", ".nan",  "users:", "splitlet:", "1m5s", "10Mi", "\\u0000", "\x1B"};
  return corpus;
}
