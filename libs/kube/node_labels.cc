#include "libs/kube/node_labels.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "libs/kube/names.h"

namespace splitlet::kube {
namespace {

constexpr auto kOwn = std::to_array<std::string_view>({
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
});

/// True for `domain` itself and its subdomains.
bool IsIn(std::string_view name_space, std::string_view domain) {
  return name_space == domain ||
         (name_space.size() > domain.size() && name_space.ends_with(domain) &&
          name_space[name_space.size() - domain.size() - 1] == '.');
}

/// Labels that a node must not give itself, because only the cluster may set them.
bool IsUnmanaged(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view name_space = key.substr(0, slash);
  if (!IsIn(name_space, "kubernetes.io") && !IsIn(name_space, "k8s.io")) return false;
  if (IsIn(name_space, "kubelet.kubernetes.io") || IsIn(name_space, "node.kubernetes.io"))
    return false;
  return std::ranges::find(kOwn, key) == kOwn.end();
}

/// Why the label is forbidden; empty: it is allowed.
std::string Trouble(const std::string& key, const std::string& value) {
  if (std::string why = CheckQualifiedName(key); !why.empty()) return why;
  if (std::string why = CheckLabelValue(value); !why.empty()) return why;
  return IsUnmanaged(key) ? "a node may not give itself this label of kubernetes.io or k8s.io" : "";
}

}  // namespace

StatusOr<std::map<std::string, std::string>> ParseNodeLabels(
    const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  std::string troubles;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    const auto equals = text.find('=');
    const std::string key = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    const std::string why = equals == std::string::npos ? "want key=value" : Trouble(key, value);
    if (!why.empty()) troubles += (troubles.empty() ? "" : "; ") + key + ": " + why;
    labels[key] = value;
  }
  if (!troubles.empty()) return InvalidArgument("{}", troubles);
  return labels;
}

}  // namespace splitlet::kube
