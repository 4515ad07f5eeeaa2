#pragma once

/// Sockets of a stack's processes, and the address of the bus.
/// Threads: any.
/// Errors: NOT_FOUND: the directory is no stack.
/// Source: deploy/local/README.md; compose/README.md; deploy/README.md.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

struct BusAccess {
  std::string url;
  std::string creds;  // file with user, then password, a line each; may be empty
  std::string ca;     // who signs the bus's certificate; empty: no TLS, on loopback only
  // Folder with sockets of processes in whose network the bus is; empty: in ours. A thread that
  // entered the network (as root) stays there.
  std::string network_of = {};
};

struct Layout {
  std::string top;          // of a local stack, as given; empty: the packages' folders
  bool compose = false;     // the processes are containers of docker compose
  bool supervised = false;  // by runit, below `top`
  bool stopped =
      false;  // nothing of a local stack runs; its logs and its recorder's files are left
  std::string run_dir = "/run/splitlet";
  std::string state_dir = "/var/lib/splitlet";
  std::string manifests;  // empty: not known
  BusAccess bus{.url = "nats://127.0.0.1:10270",
                .creds = "/etc/splitlet/bus/ctl.creds",
                .ca = "/var/lib/splitlet/nats/tls/current/ca.pem"};
  /// The runtime serves streams in the network of the process with sockets in this folder; empty:
  /// in the caller's.
  std::string streams_of;
  std::string pod_logs;      // of a compose stack: what its containers have at /var/log/splitlet
  std::string process_logs;  // a folder for each process, by runit; empty: they log elsewhere
  std::string recorder = "/var/lib/splitlet/recorder";  // its folder
  std::string recorder_creds = "/etc/splitlet/bus/recorder.creds";
};

/// The stack below `top`. Changes the working directory to it, since the path of a unix socket has
/// at most 107 bytes; then the layout's paths are relative. A stopped stack is found by its files.
/// Without `top`: the stack of the packages.
StatusOr<Layout> FindLayout(const std::optional<std::string>& top);

/// False after a local stack was stopped, which removes its supervisor's services. True with other
/// supervisors.
bool IsUp(const Layout& layout);

}  // namespace splitlet::operate
