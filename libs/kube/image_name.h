#pragma once

/// Names of images in the form that users write and the form that runtimes keep.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT with the reason only.
/// Source: docs/behaviour/images.md.

#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// The name for the runtime: as written, with ":latest" if there is neither tag nor digest.
StatusOr<std::string> WithDefaultTag(const std::string& image);

/// True for a name without tag and digest, or with the tag `latest`.
bool IsLatest(const std::string& image);

/// Expands "busybox" to "docker.io/library/busybox:latest"; keeps a digest.
std::string NormalImageName(const std::string& image);

/// The images of all containers and volumes, as written.
std::vector<std::string> ImagesOf(const PodSpec& spec);

}  // namespace splitlet::kube
