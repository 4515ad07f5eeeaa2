#pragma once

/// OpenSSL's handles and errors, for the .cc files of this folder alone.
/// Threads: values.
/// Errors: INVALID_ARGUMENT with OpenSSL's reason.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/x509/names.h"

namespace splitlet::x509 {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};
using Bio = std::unique_ptr<BIO, Freed<&BIO_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using X509Request = std::unique_ptr<X509_REQ, Freed<&X509_REQ_free>>;
using GeneralNames = std::unique_ptr<GENERAL_NAMES, Freed<&GENERAL_NAMES_free>>;

/// `what` and OpenSSL's reason; clears OpenSSL's error queue.
Status OpensslError(std::string_view what);

Bio ReadFrom(std::string_view text);
Bio NewBuffer();
std::string TextOf(const Bio& buffer);

StatusOr<PrivateKey> ReadPrivateKey(std::string_view pem);
/// DER of the SubjectPublicKeyInfo.
StatusOr<std::string> PublicKeyBytes(EVP_PKEY* key);

Status FillSubject(X509_NAME* subject, const Names& names);
void ReadSubject(const X509_NAME* subject, Names& names);
/// Null if there are no DNS names and addresses.
StatusOr<GeneralNames> MakeAlternativeNames(const Names& names);
void ReadAlternativeNames(const GENERAL_NAMES* alternatives, Names& names);

}  // namespace splitlet::x509
