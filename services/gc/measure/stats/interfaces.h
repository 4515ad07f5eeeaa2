#pragma once

/// What went through the network interfaces of a namespace.
/// Threads: pure.
/// Errors:  none: a line that is no interface's is passed over.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc_pid_net(5).

#include <string>
#include <vector>

namespace splitlet::v1 {
class InterfaceStats;
}

namespace splitlet::gc {

/// Of /proc/<pid>/net/dev: eth0 first, the loopback and what leads into one pod left out.
std::vector<v1::InterfaceStats> ParseInterfaces(const std::string& net_dev);

}  // namespace splitlet::gc
