#pragma once

/// gRPC's library as a whole. Any thread; nothing fails.

namespace splitlet::rpc {

/// Keeps gRPC initialised until the process ends. Without it the destruction of the last channel or
/// server shuts the library down on that thread, which in 1.51 now and then blocks for ten seconds.
void KeepLibraryUp();

}  // namespace splitlet::rpc
