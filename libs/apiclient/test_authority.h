#pragma once

/// Certificates of a test, by an authority of its own.
/// Threads: one.

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "libs/base/status.h"

namespace splitlet::apiclient {

class TestAuthority {
 public:
  struct Issued {
    std::string certificate, key;  // PEM
  };
  TestAuthority() : key_(MakeKey()) { certificate_ = Sign("authority", "", *key_); }
  std::string pem() const { return PemOf(*certificate_); }
  /// `names`: "DNS:api.test,IP:127.0.0.1"; empty: none.
  Issued Issue(const std::string& name, const std::string& names) const {
    const auto key = MakeKey();
    const auto certificate = Sign(name, names, *key);
    const Bio bio = MakeBio();
    CHECK(PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr));
    return {PemOf(*certificate), TextOf(*bio)};
  }
  /// For a server that verifies a client's certificate, if the client sends one.
  std::shared_ptr<SSL_CTX> Server(const std::string& names) const {
    std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    const auto key = MakeKey();
    const auto certificate = Sign("server", names, *key);
    CHECK(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
    CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate_.get()) == 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_id_context(context.get(), reinterpret_cast<const unsigned char*>("t"), 1);
    return context;
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
  using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
  using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;

  static Key MakeKey() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }
  static Bio MakeBio() { return {BIO_new(BIO_s_mem()), BIO_free}; }
  static std::string TextOf(BIO& bio) {
    char* text = nullptr;
    const long size = BIO_get_mem_data(&bio, &text);
    return {text, static_cast<size_t>(size)};
  }
  static std::string PemOf(X509& certificate) {
    const Bio bio = MakeBio();
    CHECK(PEM_write_bio_X509(bio.get(), &certificate));
    return TextOf(*bio);
  }
  static void Add(X509& certificate, int nid, const std::string& value) {
    X509V3_CTX context{};
    X509V3_set_ctx_nodb(&context);
    const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
        X509V3_EXT_nconf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
    CHECK(extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1);
  }
  Certificate Sign(const std::string& name, const std::string& names, EVP_PKEY& key) const {
    const bool is_own = certificate_ == nullptr;
    Certificate made(X509_new(), X509_free);
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), &key);
    X509_NAME* const subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), is_own ? subject : X509_get_subject_name(certificate_.get()));
    if (is_own) Add(*made, NID_basic_constraints, "critical,CA:TRUE");
    if (!names.empty()) Add(*made, NID_subject_alt_name, names);
    CHECK(X509_sign(made.get(), is_own ? &key : key_.get(), EVP_sha256()) > 0);
    return made;
  }

  mutable long serial_ = 0;
  const Key key_;
  Certificate certificate_{nullptr, X509_free};
};

}  // namespace splitlet::apiclient
