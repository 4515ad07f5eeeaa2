#pragma once

/// Names, labels, annotations, hash and log paths of containers. They are exactly a kubelet's, so
/// that a node can change between a kubelet and splitlet without restarting containers.
/// Threads: pure functions, any.
/// Errors:  none.
/// Units:   seconds.
/// Source:  docs/behaviour/runtime-config.md, "Labels and annotations" and "Names and logs".

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {

/// Lower-case hex. Covers name and image only: of all edits only a new image restarts a container.
std::string ContainerHash(const kube::Container& container);

/// The pod's labels and the three keys of the pod; these keys win.
cri::StringMap SandboxLabels(const kube::Pod& pod);
/// The pod's annotations, `splitlet.dev/node` and `splitlet.dev/incarnation` (0: without).
cri::StringMap SandboxAnnotations(const kube::Pod& pod, std::string_view node_annotation,
                                  int64_t incarnation);
cri::StringMap ContainerLabels(const kube::Pod& pod, const std::string& container);
cri::StringMap ContainerAnnotations(const kube::Pod& pod, const kube::Container& container,
                                    uint32_t restart_count, int64_t incarnation);

/// "<root>/<namespace>_<name>_<uid>".
std::string PodLogDirectory(std::string_view root, const kube::Pod& pod);
/// "<container>/<attempt>.log", below the pod's log directory. In the first incarnation of a pod
/// the attempt equals the restart count, which is the file name of a kubelet.
std::string ContainerLogPath(std::string_view container, uint32_t attempt);
/// "<pod>_<namespace>_<container>-<id>.log", at most 255 bytes: the name of the link that log
/// collectors follow.
std::string LogLinkName(const kube::Pod& pod, std::string_view container, std::string_view id);

/// One more than the highest n of the files "<n>.log" and "<n>.log.<rest>"; 0 without such files.
/// So a runtime that lost its records does not append to old logs.
uint32_t RestartCountFromLogs(const std::vector<std::string>& files);

/// As a JSON string, with quotes.
std::string JsonQuote(std::string_view text);

}  // namespace splitlet::pod_worker
