#pragma once

/// The C handles of libnats, each with one owner.
/// Threads: as libnats says; nothing fails.

#include <nats/nats.h>

#include <memory>

namespace splitlet::bus {

template <auto Destroy>
struct CDeleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    Destroy(handle);
  }
};

using NatsOptions = std::unique_ptr<natsOptions, CDeleter<&natsOptions_Destroy>>;
using NatsConnection = std::unique_ptr<natsConnection, CDeleter<&natsConnection_Destroy>>;
using NatsSubscription = std::unique_ptr<natsSubscription, CDeleter<&natsSubscription_Destroy>>;
using NatsMsg = std::unique_ptr<natsMsg, CDeleter<&natsMsg_Destroy>>;

}  // namespace splitlet::bus
