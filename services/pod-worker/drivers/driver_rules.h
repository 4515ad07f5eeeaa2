#pragma once

/// Which plugins this node takes as CSI drivers, with a kubelet's texts.
/// Threads: pure functions, any.
/// Errors:  INVALID_ARGUMENT; the plugin reads the text.
/// Source:  kubelet csi_plugin ValidatePlugin and validateVersions; CSI, "Node Plugin".

#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/plugins/plugin.h"
#include "libs/plugins/supported_versions.h"

namespace splitlet::pod_worker {

/// The socket of an endpoint: an absolute path, possibly after "unix://". A path with ".." is
/// refused, since it names another socket when a folder of it is replaced by a link.
StatusOr<std::string> SocketOf(std::string_view endpoint);

/// The highest version that this node can use, for the text of `caller` ("ValidatePlugin").
/// `registered`: of the driver that has the name; null: none. An equal version is refused too, so
/// that a second socket does not take a running driver's place.
StatusOr<plugins::DriverVersion> ChooseVersion(std::string_view caller,
                                               const plugins::Plugin& plugin,
                                               const plugins::DriverVersion* registered);

/// ChooseVersion for ValidatePlugin, after name and endpoint.
Status CheckDriver(const plugins::Plugin& plugin, const plugins::DriverVersion* registered);

}  // namespace splitlet::pod_worker
