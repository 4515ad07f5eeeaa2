#pragma once

/// The node affinity of a translated persistent volume: zones by the key of the CSI driver.
/// Threads: pure functions, any; nothing fails.
/// Source: kubelet csi-translation-lib, translateTopologyFromInTreeToCSI.

#include <string>
#include <string_view>
#include <vector>

namespace k8s::io::api::core::v1 {
class PersistentVolume;
}

namespace splitlet::csi {

inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
inline constexpr std::string_view kBetaZoneLabel = "failure-domain.beta.kubernetes.io/zone";
inline constexpr std::string_view kBetaRegionLabel = "failure-domain.beta.kubernetes.io/region";

/// "a__b__c" is a, b and c, empty parts too.
std::vector<std::string> SplitZones(std::string_view label);
/// A label of the persistent volume; "" without it.
std::string LabelOf(const k8s::io::api::core::v1::PersistentVolume& persistent,
                    std::string_view key);

/// aws, gce and cinder: the zone of affinity or label becomes the driver's key.
void UseZoneKey(k8s::io::api::core::v1::PersistentVolume& persistent, std::string_view driver_key);
/// vsphere: zone and region; a label is one value.
void UseZoneAndRegionKeys(k8s::io::api::core::v1::PersistentVolume& persistent,
                          std::string_view zone_key, std::string_view region_key);

}  // namespace splitlet::csi
