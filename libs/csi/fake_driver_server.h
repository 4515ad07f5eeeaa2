#pragma once

/// Serves a FakeDriver on a unix socket: csi.v1.Identity and csi.v1.Node.
/// Threads: any; the calls run on gRPC's.
/// Errors: UNAVAILABLE: the socket cannot be used.

#include <memory>
#include <string>

#include "libs/base/status.h"
#include "libs/csi/fake_driver.h"

namespace splitlet::csi {

class FakeDriverServer {
 public:
  /// Takes over the path. `driver` outlives the server.
  static StatusOr<std::unique_ptr<FakeDriverServer>> Start(FakeDriver& driver,
                                                           const std::string& socket_path);
  virtual ~FakeDriverServer() = default;
  /// Connections end; hanging calls too.
  virtual void Stop() = 0;
};

}  // namespace splitlet::csi
