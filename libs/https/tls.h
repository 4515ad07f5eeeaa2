#pragma once

/// A server's TLS: its certificate and key, the CAs of clients' certificates, and the client's
/// identity. Sessions are not resumed, so that each connection sends its certificate.
/// Threads: immutable once made; any.
/// Errors:  INVALID_ARGUMENT: malformed certificate, key, version or cipher suite.
/// Source:  docs/behaviour/node-api.md, "TLS"; Go's names of versions and cipher suites.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/status.h"

typedef struct ssl_st SSL;  // NOLINT(modernize-use-using): OpenSSL's own declaration

namespace splitlet::https {

/// The identity in a certificate that an authority has signed.
struct ClientCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string uid;     // attribute 1.3.6.1.4.1.57683.2; empty: none
  std::string sha256;  // hash of the certificate, in hex
};

/// CAs of clients' certificates.
class ClientAuthority {
 public:
  virtual ~ClientAuthority() = default;
  /// Identity of the connection's peer, verified now; nullopt: no certificate, or a valid one
  /// without a name. UNAUTHENTICATED: a certificate that another authority signed, that has
  /// expired, is not for clients, is signed by SHA-1, or has an unreadable identity; or a key in
  /// its chain below 2048 bits of RSA or 224 bits of a curve.
  virtual StatusOr<std::optional<ClientCertificate>> Verify(SSL* connection) const = 0;
};
StatusOr<std::shared_ptr<const ClientAuthority>> MakeClientAuthority(const std::string& ca_pem);

struct TlsSettings {
  std::string min_version = "VersionTLS12";  // or VersionTLS13; a lower version means VersionTLS12
  std::vector<std::string> cipher_suites;    // TLS 1.2 suites by IANA's names; empty: ECDHE with
                                             // AEAD
};

/// A certificate with its key, ready for handshakes.
class TlsContext;
/// `client_ca_pem`: requests a certificate of these CAs from clients; empty: requests none. The
/// handshake accepts any certificate; each request verifies it.
StatusOr<std::shared_ptr<const TlsContext>> MakeTlsContext(const TlsSettings& settings,
                                                           const std::string& certificate_pem,
                                                           const std::string& key_pem,
                                                           const std::string& client_ca_pem);

}  // namespace splitlet::https
