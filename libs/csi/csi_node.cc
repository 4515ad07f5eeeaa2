#include "libs/csi/csi_node.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/csi/translation.h"

namespace splitlet::csi {
namespace {

namespace storage = k8s::io::api::storage::v1;

storage::CSINodeDriver EntryOf(const std::string& driver, const NodeInfo& info) {
  storage::CSINodeDriver entry;
  entry.set_name(driver);
  entry.set_node_id(info.node_id);
  for (const auto& [key, value] : info.topology) entry.add_topology_keys(key);
  if (const auto count = AllocatableCount(info.max_volumes))
    entry.mutable_allocatable()->set_count(*count);
  return entry;
}

bool AreEqual(const storage::CSINodeDriver& a, const storage::CSINodeDriver& b) {
  const std::set<std::string> keys_of_a(a.topology_keys().begin(), a.topology_keys().end());
  const std::set<std::string> keys_of_b(b.topology_keys().begin(), b.topology_keys().end());
  return a.name() == b.name() && a.node_id() == b.node_id() && keys_of_a == keys_of_b &&
         a.allocatable().has_count() == b.allocatable().has_count() &&
         a.allocatable().count() == b.allocatable().count();
}

std::set<std::string> SplitAtCommas(const std::string& text) {
  std::set<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.insert(part);
  return parts;
}

std::string OwnerUid(const CsiNodeObject& object) {
  for (const auto& owner : object.metadata().owner_references())
    if (owner.kind() == "Node") return owner.uid();
  return "";
}

}  // namespace

std::string MigratedPlugins() {
  std::vector<std::string_view> names;
  for (const InTreePlugin& plugin : InTreePlugins()) names.push_back(plugin.name);
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ","));
}

CsiNodeObject MakeCsiNode(const std::string& node_name, const std::string& node_uid) {
  CsiNodeObject object;
  auto& metadata = *object.mutable_metadata();
  metadata.set_name(node_name);
  auto& owner = *metadata.add_owner_references();
  owner.set_api_version("v1");
  owner.set_kind("Node");
  owner.set_name(node_name);
  owner.set_uid(node_uid);
  SetMigratedPlugins(object);
  object.mutable_spec();
  return object;
}

bool IsOwnedBy(const CsiNodeObject& object, const std::string& node_uid) {
  return OwnerUid(object) == node_uid;
}

std::string OtherOwnerText(const CsiNodeObject& object, const std::string& node_uid) {
  return fmt::format(
      "CSINode \"{}\" was owned by different node (oldNodeID=\"{}\", newNodeID=\"{}\"), "
      "deleted it",
      object.metadata().name(), OwnerUid(object), node_uid);
}

bool SetMigratedPlugins(CsiNodeObject& object) {
  auto& annotation =
      (*object.mutable_metadata()->mutable_annotations())[kMigratedPluginsAnnotation];
  const std::string wanted = MigratedPlugins();
  if (SplitAtCommas(annotation) == SplitAtCommas(wanted)) return false;
  annotation = wanted;
  return true;
}

bool SetDriver(CsiNodeObject& object, const std::string& driver, const NodeInfo& info) {
  const storage::CSINodeDriver wanted = EntryOf(driver, info);
  for (const auto& entry : object.spec().drivers())
    if (entry.name() == driver && AreEqual(entry, wanted)) return false;
  RemoveDriver(object, driver);
  *object.mutable_spec()->add_drivers() = wanted;
  return true;
}

bool RemoveDriver(CsiNodeObject& object, const std::string& driver) {
  auto& drivers = *object.mutable_spec()->mutable_drivers();
  const auto kept = std::remove_if(drivers.begin(), drivers.end(),
                                   [&](const auto& entry) { return entry.name() == driver; });
  const bool changed = kept != drivers.end();
  drivers.erase(kept, drivers.end());
  return changed;
}

}  // namespace splitlet::csi
