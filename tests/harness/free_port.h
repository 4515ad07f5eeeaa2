#pragma once

/// A TCP port of 127.0.0.1 for a server of a test.
/// Threads: any.
/// Errors:  a machine without a free port fails the test immediately.

#include <cstdint>

namespace splitlet::harness {

/// The port is below the range that the kernel assigns to clients, so that it is still free when
/// the server binds it, and after a restart of the server. Each call returns another port, and
/// processes begin at different ports.
uint16_t FreePort();

}  // namespace splitlet::harness
