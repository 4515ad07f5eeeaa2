#pragma once

/// Sockets of a stack's processes, and the address of the bus.
/// Threads: any.
/// Errors: NOT_FOUND: the directory contains no stack.
/// Source: deploy/local/README.md; compose/README.md; deploy/README.md.

#include <optional>
#include <string>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::operate {

struct BusAccess {
  std::string url;
  std::string creds;  // file with user and password, one on each line; may be empty
  std::string ca;     // CA of the bus's certificate; empty: no TLS, on loopback only
  // Folder with the sockets of processes in whose network namespace the bus runs; empty: in ours. A
  // thread that entered the namespace (as root) stays there.
  std::string network_of = {};
};

struct Layout {
  std::string top;          // directory of a local stack, as given; empty: the packages' folders
  bool compose = false;     // the processes are containers of docker compose
  bool supervised = false;  // runit supervises the processes, below `top`
  bool stopped =
      false;  // no process of a local stack runs; its logs and recorded messages are left
  std::string run_dir = "/run/splitlet";
  std::string state_dir = "/var/lib/splitlet";
  std::string manifests;  // empty: not known
  BusAccess bus{.url = "nats://127.0.0.1:10270",
                .creds = "/etc/splitlet/bus/ctl.creds",
                .ca = "/var/lib/splitlet/nats/tls/current/ca.pem"};
  /// The runtime serves streams in the network namespace of the process whose socket is in this
  /// folder; empty: in the caller's.
  std::string streams_of;
  std::string pod_logs;      // folder of a compose stack that its containers mount at
                             // /var/log/splitlet
  std::string process_logs;  // runit's folder with a log folder for each process; empty: they log
                             // elsewhere
  std::string recorder = "/var/lib/splitlet/recorder";  // folder of the recorder
  std::string recorder_creds = "/etc/splitlet/bus/recorder.creds";
};

/// The stack below `top`. Changes the working directory to it, because the path of a unix socket
/// has at most 107 bytes; the layout's paths are then relative. A stopped stack is recognised by
/// its files. Without `top`: the stack of the packages.
StatusOr<Layout> FindLayout(const std::optional<std::string>& top);

/// False after a local stack was stopped, because that removes its supervisor's services. True with
/// other supervisors.
bool IsUp(const Layout& layout);

}  // namespace splitlet::operate
