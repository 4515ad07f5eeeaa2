#include "libs/https/client_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <utility>

namespace splitlet::https {
namespace {

constexpr const char* kUidAttribute = "1.3.6.1.4.1.57683.2";

/// 112 bits of security: RSA keys of 2048 bits, curves of 224 bits, no signature by MD5 or SHA-1.
constexpr int kAuthLevel = 2;

using Store = std::unique_ptr<X509_STORE, OpenSslFree<&X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, OpenSslFree<&X509_STORE_CTX_free>>;

std::string TextOf(const ASN1_STRING* value) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, value);
  if (length < 0) return "";
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<size_t>(length));
  OPENSSL_free(utf8);
  return text;
}

std::string KindOf(const X509_NAME_ENTRY* entry) {
  std::array<char, 128> text{};
  OBJ_obj2txt(text.data(), text.size(), X509_NAME_ENTRY_get_object(entry), 1);
  return text.data();
}

std::string Sha256Of(const X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  X509_digest(&certificate, EVP_sha256(), digest.data(), &length);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

class StoreAuthority final : public ClientAuthority {
 public:
  explicit StoreAuthority(Store store) : store_(std::move(store)) {}

  StatusOr<std::optional<ClientCertificate>> Verify(SSL* connection) const override {
    const Certificate own(SSL_get1_peer_certificate(connection));
    if (own == nullptr) return std::optional<ClientCertificate>();
    RETURN_IF_ERROR(CheckSigned(own.get(), SSL_get_peer_cert_chain(connection)),
                    "client certificate");
    return Describe(*own);
  }

 private:
  Status CheckSigned(X509* certificate, STACK_OF(X509) * others) const {
    const StoreContext context(X509_STORE_CTX_new());
    if (X509_STORE_CTX_init(context.get(), store_.get(), certificate, others) != 1)
      return Internal("{}", TakeOpenSslError());
    X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(context.get()), kAuthLevel);
    const bool is_signed = X509_verify_cert(context.get()) == 1;
    ERR_clear_error();
    if (is_signed) return OkStatus();
    return Unauthenticated("{}",
                           X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())));
  }

  const Store store_;
};

}  // namespace

std::string TakeOpenSslError() {
  std::array<char, 256> text{"unknown"};
  if (const auto error = ERR_peek_last_error(); error != 0)
    ERR_error_string_n(error, text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

StatusOr<std::vector<Certificate>> ReadCertificates(const std::string& pem) {
  const std::unique_ptr<BIO, OpenSslFree<&BIO_free_all>> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Certificate> all;
  while (true) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (next == nullptr) break;
    all.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = TakeOpenSslError();
  if (!at_end) return InvalidArgument("a certificate cannot be read: {}", error);
  if (all.empty()) return InvalidArgument("it contains no certificate");
  return all;
}

StatusOr<std::optional<ClientCertificate>> Describe(X509& certificate) {
  ClientCertificate who;
  int uids = 0;
  const X509_NAME* name = X509_get_subject_name(&certificate);
  for (int i = 0; i < X509_NAME_entry_count(name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(name, i);
    const std::string text = TextOf(X509_NAME_ENTRY_get_data(entry));
    const int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    if (nid == NID_commonName) who.common_name = text;
    if (nid == NID_organizationName) who.organizations.push_back(text);
    if (KindOf(entry) == kUidAttribute) {
      who.uid = text;
      ++uids;
    }
  }
  if (who.common_name.empty()) return std::optional<ClientCertificate>();
  if (uids > 1 || (uids == 1 && who.uid.empty()))
    return Unauthenticated("client certificate: its uid is not a single text");
  who.sha256 = Sha256Of(certificate);
  return std::optional(std::move(who));
}

StatusOr<std::shared_ptr<const ClientAuthority>> MakeClientAuthority(const std::string& ca_pem) {
  ASSIGN_OR_RETURN(const auto certificates, ReadCertificates(ca_pem), "client CA");
  Store store(X509_STORE_new());
  for (const auto& certificate : certificates) X509_STORE_add_cert(store.get(), certificate.get());
  // Each certificate of the list is trusted itself, even if another authority signed it.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  ERR_clear_error();
  return std::make_shared<const StoreAuthority>(std::move(store));
}

}  // namespace splitlet::https
