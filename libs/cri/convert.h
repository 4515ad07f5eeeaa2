#pragma once

/// CRI messages to the structs of cri.h. A bad entry is INTERNAL, or left out of a listing.
/// Source: CRI v1; docs/behaviour/relist.md, "Inspection".

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

/// Newest first; what has no metadata is left out.
std::vector<Sandbox> FromProto(const runtime::v1::ListPodSandboxResponse& response);
/// Newest first; what has no metadata, id or image is left out.
std::vector<Container> FromProto(const runtime::v1::ListContainersResponse& response);
StatusOr<Sandbox> FromProto(const runtime::v1::PodSandboxStatusResponse& response);
/// The sandbox's id is not in it.
StatusOr<Container> FromProto(const runtime::v1::ContainerStatusResponse& response);
Image FromProto(const runtime::v1::Image& image);
ContainerStats FromProto(const runtime::v1::ContainerStats& stats);
ImageFsReport FromProto(const runtime::v1::ImageFsInfoResponse& response);
/// `sandboxImage` of containerd's own configuration, as JSON; empty when it is not there.
std::string SandboxImageIn(const std::string& config);

/// Shares and quota as thousandths of a CPU, as a kubelet reads them back.
ContainerResources FromProto(const runtime::v1::LinuxContainerResources& resources);
ContainerUser FromProto(const runtime::v1::LinuxContainerUser& user);

}  // namespace splitlet::cri
