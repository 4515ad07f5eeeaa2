#pragma once

/// The servers that a connection trusts: the CA of this installation signs them. The system's CAs
/// have no say. Without TLS: a server on loopback.
/// Threads: any.
/// Errors: see SetTrust.
/// Source: docs/decisions/bus-tls.md.

#include <nats/nats.h>

#include <string>

#include "libs/base/status.h"

namespace splitlet::bus {

/// INVALID_ARGUMENT, naming the file: the CA cannot be read, or there is no CA and the server is
/// not on loopback.
Status SetTrust(natsOptions& options, const std::string& url, const std::string& ca_file);

}  // namespace splitlet::bus
