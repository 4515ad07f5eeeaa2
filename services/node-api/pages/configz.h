#pragma once

/// The answer of /configz: the effective settings, as a KubeletConfiguration. Empty fields are left
/// out where a kubelet's JSON leaves them out.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "configz".

#include <string>

namespace splitlet::config {
class KubeletConfig;
}
namespace splitlet::daemon {
struct Flags;
}

namespace splitlet::node_api {

struct FileFields;

std::string ConfigzText(const config::KubeletConfig& file, const daemon::Flags& flags,
                        const FileFields& fields);

}  // namespace splitlet::node_api
