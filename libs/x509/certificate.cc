#include "libs/x509/certificate.h"

#include <openssl/pem.h>

#include <algorithm>
#include <ctime>

#include "libs/x509/key.h"
#include "libs/x509/openssl.h"

namespace splitlet::x509 {
namespace {

/// Nanoseconds cannot hold a later time.
constexpr int64_t kLatest = 7258118400;  // 2200-01-01
constexpr int64_t kEarliest = 0;

WallTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  const int64_t seconds = timegm(&parts);
  return WallTime{std::chrono::seconds{std::clamp(seconds, kEarliest, kLatest)}};
}

StatusOr<Certificate> Describe(X509* certificate) {
  Certificate out;
  Names issuer;
  ReadSubject(X509_get_subject_name(certificate), out.names);
  ReadSubject(X509_get_issuer_name(certificate), issuer);
  out.issuer = issuer.common_name;
  out.not_before = TimeOf(X509_get0_notBefore(certificate));
  out.not_after = TimeOf(X509_get0_notAfter(certificate));
  out.authority = X509_check_ca(certificate) > 0;
  const GeneralNames alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (alternatives != nullptr) ReadAlternativeNames(alternatives.get(), out.names);
  EVP_PKEY* key = X509_get0_pubkey(certificate);
  if (key == nullptr) return OpensslError("public key of the certificate");
  ASSIGN_OR_RETURN(out.public_key, PublicKeyBytes(key), "certificate");
  return out;
}

}  // namespace

StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem) {
  const Bio bio = ReadFrom(pem);
  std::vector<Certificate> all;
  while (true) {
    const X509Certificate one(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (one == nullptr) break;
    auto described = Describe(one.get());
    if (!described.ok()) return described.status();
    all.push_back(*std::move(described));
  }
  const Status end = OpensslError("no certificate in PEM");  // also clears "no start line"
  if (all.empty()) return end;
  return all;
}

StatusOr<Certificate> CheckPair(std::string_view chain, std::string_view key) {
  auto certificates = ReadCertificates(chain);
  if (!certificates.ok()) return certificates.status();
  const auto public_key = PublicKeyOf(key);
  if (!public_key.ok()) return public_key.status();
  if (certificates->front().public_key != *public_key)
    return InvalidArgument("the private key is not that of the certificate");
  return std::move(certificates->front());
}

}  // namespace splitlet::x509
