#pragma once

/// Private keys as PEM text.
/// Threads: any; making an RSA key takes some tenths of a second.
/// Errors: INVALID_ARGUMENT: the text contains no key; no error shows the text.

#include <string>
#include <string_view>

#include "libs/base/status.h"

namespace splitlet::x509 {

enum class KeyKind { kEcP256, kRsa2048 };

/// Makes a new key: a block "EC PRIVATE KEY" or "RSA PRIVATE KEY".
StatusOr<std::string> MakeKey(KeyKind kind);

/// DER of the public half; `pem` may also hold certificates.
StatusOr<std::string> PublicKeyOf(std::string_view pem);

/// SHA-512/256 of `bytes`, as 32 bytes.
std::string Sha512_256(std::string_view bytes);

}  // namespace splitlet::x509
