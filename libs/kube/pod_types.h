#pragma once

/// Identity of pods, keys of labels and annotations, and sources, for all processes. The messages
/// are only declared here; code that reads fields includes the generated header.
/// Threads: values, any; nothing fails.
/// Source: docs/behaviour/runtime-config.md, "Labels and annotations".

#include <cstdint>
#include <string>
#include <string_view>

#include "libs/base/strong_id.h"

namespace k8s::io::api::core::v1 {
class Container;
class ContainerStatus;
class Node;
class Pod;
class PodList;
class PodSpec;
class PodStatus;
class ResourceRequirements;
class Volume;
}  // namespace k8s::io::api::core::v1
namespace k8s::io::apimachinery::pkg::apis::meta::v1 {
class ObjectMeta;
class Time;
}  // namespace k8s::io::apimachinery::pkg::apis::meta::v1

namespace splitlet::kube {

using Container = k8s::io::api::core::v1::Container;
using ContainerStatus = k8s::io::api::core::v1::ContainerStatus;
using Node = k8s::io::api::core::v1::Node;
using ObjectMeta = k8s::io::apimachinery::pkg::apis::meta::v1::ObjectMeta;
using Pod = k8s::io::api::core::v1::Pod;
using PodList = k8s::io::api::core::v1::PodList;
using PodSpec = k8s::io::api::core::v1::PodSpec;
using PodStatus = k8s::io::api::core::v1::PodStatus;
using ResourceRequirements = k8s::io::api::core::v1::ResourceRequirements;
using Volume = k8s::io::api::core::v1::Volume;

struct PodUidTag;
using PodUid = StrongId<PodUidTag>;

// Annotations of pods.
inline constexpr std::string_view kConfigSource = "kubernetes.io/config.source";
inline constexpr std::string_view kConfigHash = "kubernetes.io/config.hash";
inline constexpr std::string_view kConfigSeen = "kubernetes.io/config.seen";
inline constexpr std::string_view kConfigMirror = "kubernetes.io/config.mirror";
inline constexpr std::string_view kDefaultContainer = "kubectl.kubernetes.io/default-container";
/// Annotation of sandboxes: "<state id>/<node name>" of the splitlet node that made the sandbox.
inline constexpr std::string_view kNodeAnnotation = "splitlet.dev/node";

// Labels of sandboxes and containers in the runtime.
inline constexpr std::string_view kPodNameLabel = "io.kubernetes.pod.name";
inline constexpr std::string_view kPodNamespaceLabel = "io.kubernetes.pod.namespace";
inline constexpr std::string_view kPodUidLabel = "io.kubernetes.pod.uid";
inline constexpr std::string_view kContainerNameLabel = "io.kubernetes.container.name";

// Annotations of containers in the runtime.
inline constexpr std::string_view kContainerHash = "io.kubernetes.container.hash";
inline constexpr std::string_view kContainerRestartCount = "io.kubernetes.container.restartCount";
inline constexpr std::string_view kTerminationMessagePath =
    "io.kubernetes.container.terminationMessagePath";
inline constexpr std::string_view kTerminationMessagePolicy =
    "io.kubernetes.container.terminationMessagePolicy";
inline constexpr std::string_view kContainerPorts = "io.kubernetes.container.ports";
inline constexpr std::string_view kPreStopHandler = "io.kubernetes.container.preStopHandler";
inline constexpr std::string_view kPodTerminationGracePeriod =
    "io.kubernetes.pod.terminationGracePeriod";
inline constexpr std::string_view kPodDeletionGracePeriod = "io.kubernetes.pod.deletionGracePeriod";

// Labels of nodes.
inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kOsLabel = "kubernetes.io/os";
inline constexpr std::string_view kArchLabel = "kubernetes.io/arch";

// Sources of pods.
inline constexpr std::string_view kFileSource = "file";
inline constexpr std::string_view kHttpSource = "http";
inline constexpr std::string_view kApiSource = "api";

inline constexpr std::string_view kDefaultNamespace = "default";
inline constexpr int32_t kSystemCriticalPriority = 2'000'000'000;

/// A static pod comes from a manifest on this node.
constexpr bool IsStaticSource(std::string_view source) {
  return source == kFileSource || source == kHttpSource;
}

/// "web_default"; only one running static pod may have a full name.
inline std::string FullName(std::string_view name, std::string_view name_space) {
  return std::string(name).append("_").append(name_space);
}
std::string FullName(const Pod& pod);

/// "default/web": for logs.
inline std::string PodKey(std::string_view name_space, std::string_view name) {
  return std::string(name_space).append("/").append(name);
}
std::string PodKey(const Pod& pod);

PodUid UidOf(const Pod& pod);

/// Value of the annotation; empty if absent.
std::string AnnotationOf(const Pod& pod, std::string_view key);

/// Value of the annotation config.source; a pod without the annotation comes from the API.
std::string SourceOf(const Pod& pod);
bool IsStatic(const Pod& pod);

/// True for a mirror pod, which has the annotation config.mirror.
bool IsMirror(const Pod& pod);

/// True for a static or mirror pod, or a priority of at least system-cluster-critical.
bool IsCritical(const Pod& pod);

/// True for a sidecar: an init container with restartPolicy: Always.
bool IsSidecar(const Container& init_container);

}  // namespace splitlet::kube
