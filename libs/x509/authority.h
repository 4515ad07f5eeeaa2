#pragma once

/// An authority in memory that signs requests: for self-signed certificates of a node, and for
/// tests.
/// Threads: a value; any thread.
/// Errors: INVALID_ARGUMENT, the reason only.

#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/x509/key.h"
#include "libs/x509/names.h"

namespace splitlet::x509 {

enum class Usage { kClient, kServer };

struct Validity {
  WallTime from, until;
};

class Authority {
 public:
  static StatusOr<Authority> Make(const std::string& common_name, KeyKind kind,
                                  const Validity& validity);

  /// The authority's certificate, in PEM.
  const std::string& certificate() const { return certificate_; }
  /// Signs a certificate for the names of the request, in PEM.
  StatusOr<std::string> Sign(std::string_view request_pem, Usage usage,
                             const Validity& validity) const;

 private:
  std::string certificate_, key_;
};

/// A certificate and its key, in PEM.
struct Pair {
  std::string chain, key;
};
/// A serving certificate like that of a kubelet without certificate files: RSA, signed by a
/// temporary authority, valid from an hour before `now` for a year. `host` may be an address;
/// `names.common_name` is ignored.
StatusOr<Pair> MakeSelfSigned(const std::string& host, Names names, WallTime now);

}  // namespace splitlet::x509
