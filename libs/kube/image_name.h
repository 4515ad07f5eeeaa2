#pragma once

/// Names of images as people write them and as runtimes keep them.
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

/// True without digest and tag, or with the tag `latest`.
bool IsLatest(const std::string& image);

/// "busybox" is "docker.io/library/busybox:latest"; a digest stays.
std::string NormalImageName(const std::string& image);

/// As written: images of all kinds of containers and of volumes.
std::vector<std::string> ImagesOf(const PodSpec& spec);

}  // namespace splitlet::kube
