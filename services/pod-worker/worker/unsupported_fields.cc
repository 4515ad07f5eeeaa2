#include "services/pod-worker/worker/unsupported_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"

namespace splitlet::pod_worker {

namespace {

/// Collects "<who>: <field>, <field>".
class Finding {
 public:
  void Add(const std::string& who, const std::vector<std::string>& fields) {
    if (fields.empty()) return;
    fields_ += fields.size();
    parts_.push_back(fmt::format("{}: {}", who, fmt::join(fields, ", ")));
  }
  std::string Text() const {
    if (parts_.empty()) return "";
    return fmt::format("{} {} not carried out by this version", fmt::join(parts_, "; "),
                       fields_ == 1 ? "is" : "are");
  }

 private:
  std::vector<std::string> parts_;
  size_t fields_ = 0;
};

std::vector<std::string> FieldsOf(const kube::Container& container) {
  std::vector<std::string> fields;
  const auto refuses = [](const k8s::io::api::core::v1::Probe& probe) {
    return !probe.handler().has_exec();
  };
  if (container.has_liveness_probe() && refuses(container.liveness_probe()))
    fields.emplace_back("livenessProbe");
  if (container.has_readiness_probe() && refuses(container.readiness_probe()))
    fields.emplace_back("readinessProbe");
  if (container.has_startup_probe() && refuses(container.startup_probe()))
    fields.emplace_back("startupProbe");
  return fields;
}

std::vector<std::string> FieldsOf(const kube::PodSpec& spec) {
  std::vector<std::string> fields;
  if (spec.image_pull_secrets_size() > 0) fields.emplace_back("imagePullSecrets");
  if (spec.ephemeral_containers_size() > 0) fields.emplace_back("ephemeralContainers");
  return fields;
}

}  // namespace

std::string UnsupportedFields(const kube::Pod& pod) {
  Finding finding;
  for (const auto& container : pod.spec().init_containers())
    finding.Add("init container " + container.name(), FieldsOf(container));
  for (const auto& container : pod.spec().containers())
    finding.Add("container " + container.name(), FieldsOf(container));
  finding.Add("pod", FieldsOf(pod.spec()));
  return finding.Text();
}

}  // namespace splitlet::pod_worker
