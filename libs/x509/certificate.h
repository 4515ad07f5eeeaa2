#pragma once

/// Contents of certificates in PEM.
/// Threads: any.
/// Errors: INVALID_ARGUMENT, the reason only.
/// Units: wall times; a time beyond the year 2200 reads as 2200.
/// Source: RFC 5280.

#include <string>
#include <string_view>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/x509/names.h"

namespace splitlet::x509 {

struct Certificate {
  Names names;
  std::string issuer;  // common name of the issuer
  WallTime not_before, not_after;
  std::string public_key;  // DER
  bool authority = false;
};

/// In the order of the text, at least one. Skips other PEM blocks.
StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem);

/// The first certificate of `chain`; an error unless `key` is its key.
StatusOr<Certificate> CheckPair(std::string_view chain, std::string_view key);

}  // namespace splitlet::x509
