#pragma once

/// Traffic of the network interfaces of a network namespace.
/// Threads: pure.
/// Errors:  none: a line that describes no interface is skipped.
/// Source:  docs/behaviour/node-api.md, "Figures"; proc_pid_net(5).

#include <string>
#include <vector>

namespace splitlet::v1 {
class InterfaceStats;
}

namespace splitlet::gc {

/// `net_dev`: of /proc/<pid>/net/dev. eth0 comes first; the loopback and interfaces that lead into
/// a single pod are left out.
std::vector<v1::InterfaceStats> ParseInterfaces(const std::string& net_dev);

}  // namespace splitlet::gc
