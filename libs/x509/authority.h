#pragma once

/// An authority in memory that signs requests: for certificates that a node signs itself, whose
/// authority is thrown away, and for tests.
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

  /// Its own certificate, in PEM.
  const std::string& certificate() const { return certificate_; }
  /// A certificate for what the request names, in PEM.
  StatusOr<std::string> Sign(std::string_view request_pem, Usage usage,
                             const Validity& validity) const;

 private:
  std::string certificate_, key_;
};

/// A certificate and its key, in PEM.
struct Pair {
  std::string chain, key;
};
/// As a kubelet without certificate files makes them for its server: RSA, an authority of its own
/// that is forgotten, valid from an hour before `now` for a year. `host` may be an address;
/// `names.common_name` is not looked at.
StatusOr<Pair> MakeSelfSigned(const std::string& host, Names names, WallTime now);

}  // namespace splitlet::x509
