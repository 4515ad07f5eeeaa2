#pragma once

/// Certificates and keys in memory, for tests.
/// Threads: any; a failure is a CHECK.

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"

namespace splitlet::https {

/// A certificate that can sign others, or itself.
class TestIdentity {
 public:
  struct Wanted {
    std::string common_name = "localhost";
    std::vector<std::string> organizations;
    std::string usage = "serverAuth";           // or clientAuth; "CA": may sign certificates
    long not_before = -3600, not_after = 3600;  // seconds from now
    int rsa_bits = 0;                           // 0: a key on curve P-256
    const EVP_MD* signed_by = EVP_sha256();
  };
  /// A null `issuer` means self-signed.
  explicit TestIdentity(const Wanted& wanted, const TestIdentity* issuer = nullptr)
      : key_(wanted.rsa_bits == 0 ? EVP_EC_gen("P-256")
                                  : EVP_RSA_gen(static_cast<unsigned>(wanted.rsa_bits)),
             &EVP_PKEY_free),
        certificate_(X509_new(), &X509_free) {
    static long serial = 1;
    ASN1_INTEGER_set(X509_get_serialNumber(certificate_.get()), serial++);
    X509_set_version(certificate_.get(), 2);
    X509_gmtime_adj(X509_getm_notBefore(certificate_.get()), wanted.not_before);
    X509_gmtime_adj(X509_getm_notAfter(certificate_.get()), wanted.not_after);
    X509_set_pubkey(certificate_.get(), key_.get());
    X509_NAME* const name = X509_get_subject_name(certificate_.get());
    AddName(name, "CN", wanted.common_name);
    for (const auto& organization : wanted.organizations) AddName(name, "O", organization);
    const TestIdentity& signer = issuer == nullptr ? *this : *issuer;
    X509_set_issuer_name(certificate_.get(), X509_get_subject_name(signer.certificate_.get()));
    if (wanted.usage == "CA") {
      AddExtension(NID_basic_constraints, "critical,CA:TRUE");
    } else {
      AddExtension(NID_ext_key_usage, wanted.usage);
      AddExtension(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    }
    CHECK(X509_sign(certificate_.get(), signer.key_.get(), wanted.signed_by) > 0);
  }

  std::string certificate_pem() const {
    return Text([this](BIO* bio) { PEM_write_bio_X509(bio, certificate_.get()); });
  }
  std::string key_pem() const {
    return Text([this](BIO* bio) {
      PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  X509* certificate() const { return certificate_.get(); }
  EVP_PKEY* key() const { return key_.get(); }

 private:
  static void AddName(X509_NAME* name, const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()), -1, 0);
  }
  void AddExtension(int kind, const std::string& value) {
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    CHECK(made != nullptr);
    X509_add_ext(certificate_.get(), made, -1);
    X509_EXTENSION_free(made);
  }
  template <class Write>
  static std::string Text(const Write& write) {
    const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), &BIO_free);
    write(bio.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<size_t>(size)};
  }

  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
};

}  // namespace splitlet::https
