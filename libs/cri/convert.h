#pragma once

/// Converts CRI messages to the structs of cri.h. A malformed entry is INTERNAL, or left out of a
/// listing.
/// Source: CRI v1; docs/behaviour/relist.md, "Inspection".

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

/// Newest first, without entries that lack metadata.
std::vector<Sandbox> FromProto(const runtime::v1::ListPodSandboxResponse& response);
/// Newest first, without entries that lack metadata, id or image.
std::vector<Container> FromProto(const runtime::v1::ListContainersResponse& response);
StatusOr<Sandbox> FromProto(const runtime::v1::PodSandboxStatusResponse& response);
/// The message does not contain the sandbox's id, so the caller passes it.
StatusOr<Container> FromProto(const runtime::v1::ContainerStatusResponse& response);
Image FromProto(const runtime::v1::Image& image);
ContainerStats FromProto(const runtime::v1::ContainerStats& stats);
ImageFsReport FromProto(const runtime::v1::ImageFsInfoResponse& response);
/// `sandboxImage` of containerd's configuration, which is JSON; empty if absent.
std::string SandboxImageIn(const std::string& config);

/// Converts shares and quota to thousandths of a CPU, as a kubelet does.
ContainerResources FromProto(const runtime::v1::LinuxContainerResources& resources);
ContainerUser FromProto(const runtime::v1::LinuxContainerUser& user);

}  // namespace splitlet::cri
