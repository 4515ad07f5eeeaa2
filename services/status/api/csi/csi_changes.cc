#include "services/status/api/csi/csi_changes.h"

#include "csi/v1/csi.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/csi/names.h"
#include "libs/csi/node_object.h"

namespace splitlet::status {
namespace {

std::string AnnotationOf(const kube::Node& node) {
  const auto& annotations = node.metadata().annotations();
  const auto found = annotations.find(csi::kNodeIdAnnotation);
  return found == annotations.end() ? "" : found->second;
}

}  // namespace

StatusOr<csi::NodeInfo> CheckedInfo(const v1::CsiDriver& driver) {
  if (const std::string wrong = csi::CheckDriverName(driver.name()); !wrong.empty())
    return InvalidArgument("error adding CSI driver node info: {}", wrong);
  ::csi::v1::NodeGetInfoResponse response;
  response.set_node_id(driver.node_id());
  response.set_max_volumes_per_node(driver.max_volumes());
  for (const auto& [key, value] : driver.topology())
    (*response.mutable_accessible_topology()->mutable_segments())[key] = value;
  return csi::ReadNodeInfo(response);
}

StatusOr<kube::Node> NodeWithDriver(const kube::Node& node, const std::string& driver,
                                    const csi::NodeInfo& info) {
  auto& labels = node.metadata().labels();
  const auto missing =
      csi::MissingTopologyLabels(csi::StringMap(labels.begin(), labels.end()), info.topology);
  if (!missing.ok()) return missing.status();
  const auto annotation = csi::AddNodeId(AnnotationOf(node), driver, info.node_id);
  if (!annotation.ok()) return annotation.status();
  kube::Node changed = node;
  auto& metadata = *changed.mutable_metadata();
  (*metadata.mutable_annotations())[csi::kNodeIdAnnotation] = *annotation;
  for (const auto& [key, value] : *missing) (*metadata.mutable_labels())[key] = value;
  return changed;
}

kube::Node NodeWithoutDriver(const kube::Node& node, const std::string& driver) {
  kube::Node changed = node;
  if (AnnotationOf(node).empty()) return changed;
  const auto rest = csi::RemoveNodeId(AnnotationOf(node), driver);
  if (!rest.ok()) return changed;
  auto& annotations = *changed.mutable_metadata()->mutable_annotations();
  if (rest->has_value()) {
    annotations[csi::kNodeIdAnnotation] = **rest;
  } else {
    annotations.erase(csi::kNodeIdAnnotation);
  }
  return changed;
}

}  // namespace splitlet::status
