#pragma once

/// When a certificate is to be replaced.
/// Threads: any; pure.
/// Source: client-go util/certificate, certificate manager.

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/x509/certificate.h"

namespace splitlet::status {

/// At 70 to 90 % of its life; `unit` is a random number in [0, 1).
WallTime RotationTime(const x509::Certificate& certificate, double unit);

bool IsExpired(const x509::Certificate& certificate, WallTime now);

/// Why one is needed at once; "" : what is there will do. Names that the certificate has besides
/// do no harm.
std::string WhyNeeded(const std::optional<x509::Certificate>& certificate,
                      const x509::Names& wanted, WallTime now);

}  // namespace splitlet::status
