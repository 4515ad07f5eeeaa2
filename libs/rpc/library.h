#pragma once

/// gRPC's library as a whole. Any thread; nothing fails.

namespace splitlet::rpc {

/// Keeps gRPC initialised until the process ends. Otherwise the end of the last channel or server
/// shuts the library down on that thread, which sometimes blocks for ten seconds in 1.51.
void KeepLibraryUp();

/// KeepLibraryUp for a process with a server. The server's thread polls all connections of the
/// process, so gRPC's regular poll of idle channels is turned off. Call it before the process has
/// threads, because it changes the environment for a moment.
void SetUpLibrary();

}  // namespace splitlet::rpc
