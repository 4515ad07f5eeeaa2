#include "libs/x509/openssl.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

namespace splitlet::x509 {
namespace {

constexpr int kV4Bytes = 4;
constexpr int kV6Bytes = 16;

std::string_view BytesOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string Utf8Of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int length = ASN1_STRING_to_UTF8(&bytes, text);
  if (length < 0) return {};
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  OPENSSL_free(bytes);
  return copy;
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  const int length = ASN1_STRING_length(bytes);
  if (length != kV4Bytes && length != kV6Bytes) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* shown = inet_ntop(length == kV4Bytes ? AF_INET : AF_INET6,
                                ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return shown == nullptr ? std::string() : std::string(shown);
}

/// Takes ownership of `value`.
bool Append(GENERAL_NAMES* names, int type, ASN1_STRING* value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr || value == nullptr) {
    GENERAL_NAME_free(name);
    ASN1_STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

ASN1_STRING* NewDnsName(const std::string& dns) {
  ASN1_STRING* text = ASN1_IA5STRING_new();
  if (text != nullptr) ASN1_STRING_set(text, dns.data(), static_cast<int>(dns.size()));
  return text;
}

bool AddSubjectPart(X509_NAME* subject, int nid, const std::string& value) {
  return X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

}  // namespace

Status OpensslError(std::string_view what) {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  if (reason == nullptr) return InvalidArgument("{}", what);
  return InvalidArgument("{}: {}", what, reason);
}

Bio ReadFrom(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Bio NewBuffer() { return Bio(BIO_new(BIO_s_mem())); }

std::string TextOf(const Bio& buffer) {
  char* data = nullptr;
  const long length = BIO_get_mem_data(buffer.get(), &data);
  return length <= 0 ? std::string() : std::string(data, static_cast<size_t>(length));
}

StatusOr<PrivateKey> ReadPrivateKey(std::string_view pem) {
  const Bio bio = ReadFrom(pem);
  // Encrypted keys are an error, because no person is there to enter a password.
  const auto refuse = [](char*, int, int, void*) { return -1; };
  PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, refuse, nullptr));
  if (key == nullptr) return OpensslError("no private key in PEM");
  return key;
}

StatusOr<std::string> PublicKeyBytes(EVP_PKEY* key) {
  unsigned char* bytes = nullptr;
  const int length = i2d_PUBKEY(key, &bytes);
  if (length <= 0) return OpensslError("encode the public key");
  std::string copy(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
  OPENSSL_free(bytes);
  return copy;
}

Status FillSubject(X509_NAME* subject, const Names& names) {
  for (const std::string& organization : names.organizations)
    if (!AddSubjectPart(subject, NID_organizationName, organization))
      return OpensslError("organization of the subject");
  if (!names.common_name.empty() && !AddSubjectPart(subject, NID_commonName, names.common_name))
    return OpensslError("common name of the subject");
  return OkStatus();
}

void ReadSubject(const X509_NAME* subject, Names& names) {
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    const std::string value = Utf8Of(X509_NAME_ENTRY_get_data(entry));
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName) names.common_name = value;
    if (nid == NID_organizationName) names.organizations.push_back(value);
  }
}

StatusOr<GeneralNames> MakeAlternativeNames(const Names& names) {
  if (names.dns.empty() && names.addresses.empty()) return GeneralNames();
  GeneralNames list(GENERAL_NAMES_new());
  for (const std::string& dns : names.dns)
    if (!Append(list.get(), GEN_DNS, NewDnsName(dns))) return OpensslError("DNS name");
  for (const std::string& address : names.addresses)
    if (!Append(list.get(), GEN_IPADD, a2i_IPADDRESS(address.c_str())))
      return OpensslError(fmt::format("\"{}\" is no IP address", address));
  return list;
}

void ReadAlternativeNames(const GENERAL_NAMES* alternatives, Names& names) {
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives); ++i) {
    int type = 0;
    const auto* value = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(alternatives, i), &type));
    if (type == GEN_DNS) names.dns.emplace_back(BytesOf(value));
    if (type == GEN_IPADD) names.addresses.push_back(AddressOf(value));
  }
}

}  // namespace splitlet::x509
