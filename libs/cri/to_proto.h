#pragma once

/// The structs of cri.h as CRI messages, for the fake's state and server.
/// Threads: values; nothing fails.

#include "libs/cri/cri.h"
#include "runtime/v1/api.pb.h"

namespace splitlet::cri {

runtime::v1::ContainerStatus ToProto(const Container& from);
runtime::v1::PodSandboxStatus ToProto(const Sandbox& from);
runtime::v1::Image ToProto(const Image& from);

}  // namespace splitlet::cri
