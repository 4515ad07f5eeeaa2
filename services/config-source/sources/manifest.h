#pragma once

/// Turns the text of a manifest into pods: decoded leniently, defaulted, with their identity,
/// validated, and free of references to API objects.
/// Threads: any; takes about 2 ms for 10 KB of YAML, so not on a loop thread.
/// Errors: INVALID_ARGUMENT that names the manifest, and field, reason and line where known.
/// Source: docs/behaviour/manifests.md.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/status.h"
#include "libs/kube/static_pod.h"
#include "services/config-source/sources/source.h"

namespace splitlet::config_source {

/// A payload that reaches this many bytes is refused.
inline constexpr uint64_t kMaxConfigBytes = 10 * (1u << 20);
/// A record has the pod and a little more, and its limit is 16 MiB.
inline constexpr size_t kMaxPodBytes = 15u << 20;

using Origin = kube::StaticPodOrigin;

struct DecodedPods {
  std::vector<SourcePodRef> pods;
  std::vector<std::string> warnings;  // fields that are ignored, with line
};

/// Exactly one Pod, as the file source takes it.
StatusOr<DecodedPods> DecodeManifest(std::string_view text, const Origin& origin);

/// A Pod or a PodList, as the HTTP source takes it; one bad pod refuses the whole list.
StatusOr<DecodedPods> DecodePayload(std::string_view text, const Origin& origin);

}  // namespace splitlet::config_source
