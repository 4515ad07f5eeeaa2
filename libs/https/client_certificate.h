#pragma once

/// Reads the owner of a certificate, and lists of certificates.
/// Threads: any.
/// Errors:  INVALID_ARGUMENT: the text contains no certificate.
/// Source:  docs/behaviour/node-api.md, "Authentication".

#include <openssl/x509.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/https/tls.h"

namespace splitlet::https {

template <auto kFree>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Certificate = std::unique_ptr<X509, OpenSslFree<&X509_free>>;

/// All certificates of a file, at least one.
StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& pem);

/// nullopt: the certificate names no user. UNAUTHENTICATED: the certificate has several uids.
StatusOr<std::optional<ClientCertificate>> Describe(X509& certificate);

/// The last error of OpenSSL on this thread, as text; clears the queue.
std::string TakeOpenSslError();

}  // namespace splitlet::https
