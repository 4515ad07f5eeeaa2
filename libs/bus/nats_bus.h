#pragma once

/// The bus between real processes: changes and signals over NATS, lists over gRPC on the owners'
/// sockets. Without NATS the views poll, a little slower.
/// Threads: as bus.h; made and destroyed on the loop thread or while the loop does not run, after
/// the gRPC server that serves TablesService() was stopped.
/// Errors: what the NATS server forbids is logged as an error, once for each text, and counted.
/// Source: docs/design.md, "How state is shared"; docs/libraries.md, "NATS".

#include <functional>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/bus.h"
#include "libs/exec/exec.h"

namespace grpc {
class Channel;
class Service;
}  // namespace grpc
namespace prometheus {
class Registry;
}
namespace splitlet::bus {

struct NatsBusOptions {
  std::string process;  // "pleg"
  std::string node_name;
  std::string run_dir;          // where the sockets of the owners are
  std::string nats_url;         // "nats://127.0.0.1:4222"; empty: no NATS, polling only
  std::string nats_creds;       // file with user, then password, a line each; empty: none
  std::string nats_ca;          // file of the CA that signs the server's certificate
  bool nats_plaintext = false;  // without TLS and CA, on loopback only: for tests
  exec::EventLoop& loop;
  const Clock& clock;
  prometheus::Registry& metrics;
  Log log;
  /// Channel to another process, on the loop thread; empty: rpc::Connect to its socket.
  std::function<std::shared_ptr<grpc::Channel>(const std::string& process)> connect = {};
};

class NatsBus : public Bus {
 public:
  /// Serves List of this process's table; exists as long as the bus.
  virtual grpc::Service& TablesService() = 0;
};

/// Fails only for unreadable files and contradicting flags, never because NATS is away.
StatusOr<std::unique_ptr<NatsBus>> ConnectBus(NatsBusOptions options);

}  // namespace splitlet::bus
