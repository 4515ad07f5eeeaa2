#pragma once

/// A certificate authority in memory, for the fake API server and for test programs.
/// Threads: any; the keys never change.
/// Errors:  INVALID_ARGUMENT: unreadable PEM, or a request with a wrong signature.
/// Units:   wall times.
/// Source:  RFC 5280; RFC 2986; Kubernetes API, "Certificates and Certificate Signing Requests".

#include <memory>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

namespace splitlet::fake_api {

class FakeAuthority {
 public:
  struct Subject {
    std::string common_name;
    std::vector<std::string> organizations;
    std::vector<std::string> dns_names, addresses;
  };
  struct Terms {
    WallTime from, until;
    bool client = false, server = false;
  };
  struct Issued {
    std::string certificate, key;  // PEM
  };
  struct SigningRequest {
    Subject subject;
    bool other_names = false;  // true: also has mail addresses or URIs
  };

  FakeAuthority(const std::string& name, WallTime now);
  static StatusOr<std::unique_ptr<FakeAuthority>> Load(const std::string& certificate,
                                                       const std::string& key);
  ~FakeAuthority();

  const std::string& certificate() const { return certificate_; }
  std::string Key() const;
  /// Creates a new key for the certificate.
  Issued Issue(const Subject& subject, const Terms& terms) const;
  static StatusOr<SigningRequest> Read(const std::string& request);
  StatusOr<std::string> Sign(const std::string& request, const Terms& terms) const;

 private:
  struct Keys;
  FakeAuthority();

  std::unique_ptr<Keys> keys_;
  std::string certificate_;
};

}  // namespace splitlet::fake_api
