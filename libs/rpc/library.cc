#include "libs/rpc/library.h"

#include <grpc/grpc.h>
#include <grpc/support/cpu.h>

#include <cstdlib>

/// Replaces gRPC's function of this name in the whole program. gRPC keeps two lists of timers for
/// each core, twice over, and wakes for each list even if it is empty. Calls of one node need no
/// more lists than one core has.
extern "C" __attribute__((visibility("default"))) unsigned gpr_cpu_num_cores() { return 1; }

namespace splitlet::rpc {

void KeepLibraryUp() {
  [[maybe_unused]] static const bool up = [] {
    grpc_init();
    return true;
  }();
}

void SetUpLibrary() {
  constexpr const char* kPollOfIdleChannels = "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS";
  setenv(kPollOfIdleChannels, "0", 1);
  KeepLibraryUp();
  unsetenv(kPollOfIdleChannels);  // programs that the process runs must not inherit it
}

}  // namespace splitlet::rpc
