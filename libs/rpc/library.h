#pragma once

/// gRPC's library as a whole. Any thread; nothing fails.

namespace splitlet::rpc {

/// Keeps gRPC initialised until the process ends. Otherwise the end of the last channel or server
/// shuts the library down on that thread, which sometimes blocks for ten seconds in 1.51.
void KeepLibraryUp();

}  // namespace splitlet::rpc
