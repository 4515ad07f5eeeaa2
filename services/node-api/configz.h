#pragma once

/// What /configz answers: the settings that are in force, as a KubeletConfiguration.
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

std::string ConfigzText(const config::KubeletConfig& file, const daemon::Flags& flags);

}  // namespace splitlet::node_api
