#include "libs/x509/authority.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "libs/x509/openssl.h"
#include "libs/x509/request.h"

namespace splitlet::x509 {
namespace {

constexpr size_t kSerialBytes = 16;
constexpr Duration kBefore = std::chrono::hours{1};
constexpr Duration kYear = std::chrono::hours{24} * 365;

time_t SecondsOf(WallTime time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Status SetSerial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    return OpensslError("serial number");
  bytes[0] = (bytes[0] & 0x3f) | 0x40;  // positive, and always of the same length
  const std::unique_ptr<BIGNUM, Freed<&BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  if (number == nullptr ||
      BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr)
    return OpensslError("serial number");
  return OkStatus();
}

Status SetExtension(X509* certificate, int nid, const char* value) {
  const std::unique_ptr<X509_EXTENSION, Freed<&X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, nid, value));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1)
    return OpensslError(value);
  return OkStatus();
}

/// Fields of both kinds of certificates.
StatusOr<X509Certificate> Begin(const Validity& validity, EVP_PKEY* key) {
  X509Certificate certificate(X509_new());
  RETURN_IF_ERROR(SetSerial(certificate.get()), "certificate");
  const bool made =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), SecondsOf(validity.from)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), SecondsOf(validity.until)) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1;
  if (!made) return OpensslError("certificate");
  return certificate;
}

StatusOr<std::string> Finish(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) <= 0) return OpensslError("sign the certificate");
  const Bio buffer = NewBuffer();
  if (PEM_write_bio_X509(buffer.get(), certificate) != 1)
    return OpensslError("write the certificate");
  return TextOf(buffer);
}

bool IsAddress(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

StatusOr<Authority> Authority::Make(const std::string& common_name, KeyKind kind,
                                    const Validity& validity) {
  Authority made;
  ASSIGN_OR_RETURN(made.key_, MakeKey(kind), "authority");
  ASSIGN_OR_RETURN(const PrivateKey key, ReadPrivateKey(made.key_), "authority");
  ASSIGN_OR_RETURN(const X509Certificate certificate, Begin(validity, key.get()), "authority");
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  RETURN_IF_ERROR(FillSubject(subject, {.common_name = common_name}), "authority");
  X509_set_issuer_name(certificate.get(), subject);
  RETURN_IF_ERROR(SetExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE"),
                  "authority");
  RETURN_IF_ERROR(SetExtension(certificate.get(), NID_key_usage,
                               "critical,digitalSignature,keyEncipherment,keyCertSign"),
                  "authority");
  ASSIGN_OR_RETURN(made.certificate_, Finish(certificate.get(), key.get()), "authority");
  return made;
}

StatusOr<std::string> Authority::Sign(std::string_view request_pem, Usage usage,
                                      const Validity& validity) const {
  const auto wanted = ReadRequest(request_pem);
  if (!wanted.ok()) return wanted.status();
  const auto* der = reinterpret_cast<const unsigned char*>(wanted->public_key.data());
  const PrivateKey subject_key(
      d2i_PUBKEY(nullptr, &der, static_cast<long>(wanted->public_key.size())));
  ASSIGN_OR_RETURN(const PrivateKey own_key, ReadPrivateKey(key_), "authority");
  const Bio own = ReadFrom(certificate_);
  const X509Certificate issuer(PEM_read_bio_X509(own.get(), nullptr, nullptr, nullptr));
  if (subject_key == nullptr || issuer == nullptr) return OpensslError("authority");

  ASSIGN_OR_RETURN(const X509Certificate certificate, Begin(validity, subject_key.get()), "sign");
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  RETURN_IF_ERROR(FillSubject(X509_get_subject_name(certificate.get()), wanted->names), "sign");
  ASSIGN_OR_RETURN(const GeneralNames alternatives, MakeAlternativeNames(wanted->names), "sign");
  if (alternatives != nullptr &&
      X509_add1_ext_i2d(certificate.get(), NID_subject_alt_name, alternatives.get(), 0, 0) != 1)
    return OpensslError("subject alternative names");
  RETURN_IF_ERROR(SetExtension(certificate.get(), NID_basic_constraints, "critical,CA:FALSE"),
                  "sign");
  RETURN_IF_ERROR(
      SetExtension(certificate.get(), NID_key_usage, "critical,digitalSignature,keyEncipherment"),
      "sign");
  RETURN_IF_ERROR(SetExtension(certificate.get(), NID_ext_key_usage,
                               usage == Usage::kClient ? "clientAuth" : "serverAuth"),
                  "sign");
  return Finish(certificate.get(), own_key.get());
}

StatusOr<Pair> MakeSelfSigned(const std::string& host, Names names, WallTime now) {
  const Validity validity{now - kBefore, now - kBefore + kYear};
  ASSIGN_OR_RETURN(
      const Authority authority,
      Authority::Make(fmt::format("{}-ca@{}", host, SecondsOf(now)), KeyKind::kRsa2048, validity),
      "sign for {}", host);
  names.common_name = fmt::format("{}@{}", host, SecondsOf(now));
  auto& own = IsAddress(host) ? names.addresses : names.dns;
  if (std::ranges::find(own, host) == own.end()) own.insert(own.begin(), host);
  Pair pair;
  ASSIGN_OR_RETURN(pair.key, MakeKey(KeyKind::kRsa2048), "sign for {}", host);
  ASSIGN_OR_RETURN(const std::string request, MakeRequest(pair.key, names), "sign for {}", host);
  ASSIGN_OR_RETURN(const std::string leaf, authority.Sign(request, Usage::kServer, validity),
                   "sign for {}", host);
  pair.chain = leaf + authority.certificate();
  return pair;
}

}  // namespace splitlet::x509
