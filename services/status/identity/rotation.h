#pragma once

/// Decides when a certificate must be replaced.
/// Threads: any; pure.
/// Source: client-go util/certificate, certificate manager.

#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/x509/certificate.h"

namespace splitlet::status {

/// After 70 to 90 % of its validity; `unit` is a random number in [0, 1).
WallTime RotationTime(const x509::Certificate& certificate, double unit);

bool IsExpired(const x509::Certificate& certificate, WallTime now);

/// Why a certificate must be requested now; empty: the existing one will do. It may have more names
/// than `wanted`.
std::string WhyNeeded(const std::optional<x509::Certificate>& certificate,
                      const x509::Names& wanted, WallTime now);

}  // namespace splitlet::status
