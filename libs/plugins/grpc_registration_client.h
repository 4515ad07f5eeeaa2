#pragma once

/// RegistrationClient over gRPC. An answer above kMaxAnswerBytes is an error.
/// In:      Dial, Begin; gRPC's callbacks of each call.
/// Owns:    the calls under way, each until its answer.
/// Out:     GetInfo and NotifyRegistrationStatus of plugins.
/// Threads: any; no call has a thread. The destructor cancels all calls and waits for their ends.
/// Errors:  DialSocket's; gRPC codes of the plugin, RESOURCE_EXHAUSTED for an answer too long.
/// Source:  kubelet pluginregistration v1; docs/libraries.md, "gRPC".

#include <memory>

#include "libs/base/clock.h"
#include "libs/exec/exec.h"
#include "libs/plugins/registration_client.h"

namespace splitlet::plugins {

class GrpcRegistrationClient final : public RegistrationClient {
 public:
  static constexpr int kMaxAnswerBytes = 64 << 10;

  /// The loop outlives the client and the connections, and frees their channels.
  GrpcRegistrationClient(const Clock& clock, exec::EventLoop& loop);
  ~GrpcRegistrationClient() override;
  GrpcRegistrationClient(const GrpcRegistrationClient&) = delete;
  GrpcRegistrationClient& operator=(const GrpcRegistrationClient&) = delete;

  StatusOr<Connection> Dial(const PluginSocket& socket) override;

  class Calls;  // of the source file

 private:
  std::shared_ptr<Calls> calls_;
};

}  // namespace splitlet::plugins
