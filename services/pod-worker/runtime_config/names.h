#pragma once

/// Names, labels, annotations, hash and log paths by which a kubelet finds its containers again;
/// exactly a kubelet's, so that containers can be taken over from one and given back without a
/// restart.
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

/// Lower-case hex. Only name and image go in: an image edit alone restarts a running container.
std::string ContainerHash(const kube::Container& container);

/// The pod's labels and the three pod keys, which win.
cri::StringMap SandboxLabels(const kube::Pod& pod);
/// The pod's annotations, `splitlet.dev/node` and `splitlet.dev/incarnation` (0: without).
cri::StringMap SandboxAnnotations(const kube::Pod& pod, std::string_view node_annotation,
                                  int64_t incarnation);
cri::StringMap ContainerLabels(const kube::Pod& pod, const std::string& container);
cri::StringMap ContainerAnnotations(const kube::Pod& pod, const kube::Container& container,
                                    uint32_t restart_count, int64_t incarnation);

/// "<root>/<namespace>_<name>_<uid>".
std::string PodLogDirectory(std::string_view root, const kube::Pod& pod);
/// "<container>/<attempt>.log", below the pod's log directory. In a pod's first incarnation the
/// attempt is the restart count, by which a kubelet names the file.
std::string ContainerLogPath(std::string_view container, uint32_t attempt);
/// "<pod>_<namespace>_<container>-<id>.log", at most 255 bytes: the name of the link that log
/// collectors follow.
std::string LogLinkName(const kube::Pod& pod, std::string_view container, std::string_view id);

/// The number after the highest "<n>.log" or "<n>.log.<rest>" among the file names; 0 without one.
/// A runtime that lost its records would otherwise append to old logs.
uint32_t RestartCountFromLogs(const std::vector<std::string>& files);

/// The value of a label or annotation; empty without it.
std::string LabelOf(const cri::StringMap& labels, std::string_view key);

/// JSON string with quotes.
std::string JsonQuote(std::string_view text);

}  // namespace splitlet::pod_worker
