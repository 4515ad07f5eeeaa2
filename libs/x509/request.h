#pragma once

/// Requests for a certificate (PKCS #10) as PEM text.
/// Threads: any.
/// Errors: INVALID_ARGUMENT, the reason only.
/// Source: RFC 2986.

#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/x509/names.h"

namespace splitlet::x509 {

/// A request for `names`, signed with the key in `key_pem`.
StatusOr<std::string> MakeRequest(std::string_view key_pem, const Names& names);

struct Request {
  Names names;
  std::string public_key;  // DER
};
/// Verifies the signature.
StatusOr<Request> ReadRequest(std::string_view pem);

}  // namespace splitlet::x509
