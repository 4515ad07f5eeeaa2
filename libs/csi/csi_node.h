#pragma once

/// The CSINode object of this node: its drivers with their ids, topology keys and limits.
/// Threads: pure functions, any; nothing fails.
/// Source: Kubernetes API, CSINodeSpec; kubelet nodeinfomanager.

#include <string>

#include "libs/csi/node_info.h"

namespace k8s::io::api::storage::v1 {
class CSINode;
}

namespace splitlet::csi {

using CsiNodeObject = k8s::io::api::storage::v1::CSINode;

inline constexpr const char* kMigratedPluginsAnnotation =
    "storage.alpha.kubernetes.io/migrated-plugins";
/// The in-tree plugins whose volumes are translated (translation.h), sorted, with commas.
std::string MigratedPlugins();

/// Without drivers; the Node owns it.
CsiNodeObject MakeCsiNode(const std::string& node_name, const std::string& node_uid);

/// An object of an earlier Node of this name is deleted and made again.
bool IsOwnedBy(const CsiNodeObject& object, const std::string& node_uid);
/// The error of the try that deleted it, as a kubelet has it.
std::string OtherOwnerText(const CsiNodeObject& object, const std::string& node_uid);

/// Each returns true if the object changed, which means that it has to be written.
bool SetMigratedPlugins(CsiNodeObject& object);
bool SetDriver(CsiNodeObject& object, const std::string& driver, const NodeInfo& info);
bool RemoveDriver(CsiNodeObject& object, const std::string& driver);

}  // namespace splitlet::csi
