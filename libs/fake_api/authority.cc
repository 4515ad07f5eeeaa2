#include "libs/fake_api/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace splitlet::fake_api {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using Bio = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509_free>>;
using X509Request = std::unique_ptr<X509_REQ, Freer<X509_REQ_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freer<GENERAL_NAMES_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>>;

PrivateKey MakeKey() {
  PrivateKey key(EVP_EC_gen("P-256"));
  CHECK(key != nullptr, "a key cannot be made");
  return key;
}

Bio Reading(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}
std::string PemOf(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509(bio.get(), certificate) == 1);
  return TextOf(bio.get());
}
std::string PemOf(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return TextOf(bio.get());
}

void AddEntry(X509_NAME* name, int nid, const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  CHECK(X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, bytes, static_cast<int>(text.size()),
                                   -1, 0) == 1);
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  CHECK(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "extension {}",
        value);
}

void SetTimes(X509* certificate, WallTime from, WallTime until) {
  const auto seconds = [](WallTime time) {
    return static_cast<time_t>(ToNanos(time) / 1'000'000'000);
  };
  CHECK(ASN1_TIME_set(X509_getm_notBefore(certificate), seconds(from)) != nullptr);
  CHECK(ASN1_TIME_set(X509_getm_notAfter(certificate), seconds(until)) != nullptr);
}

Certificate Begin() {
  Certificate certificate(X509_new());
  CHECK(X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  unsigned char bytes[8];
  CHECK(RAND_bytes(bytes, sizeof bytes) == 1);
  bytes[0] &= 0x7f;
  const std::unique_ptr<BIGNUM, Freer<BN_free>> number(BN_bin2bn(bytes, sizeof bytes, nullptr));
  CHECK(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get())) != nullptr);
  return certificate;
}

std::string NamesOf(const FakeAuthority::Subject& subject) {
  std::string names;
  for (const auto& name : subject.dns_names)
    names += fmt::format("{}DNS:{}", names.empty() ? "" : ",", name);
  for (const auto& address : subject.addresses)
    names += fmt::format("{}IP:{}", names.empty() ? "" : ",", address);
  return names;
}

std::vector<std::string> EntriesOf(X509_NAME* name, int nid) {
  std::vector<std::string> texts;
  for (int i = X509_NAME_get_index_by_NID(name, nid, -1); i >= 0;
       i = X509_NAME_get_index_by_NID(name, nid, i)) {
    const ASN1_STRING* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i));
    texts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(data)),
                       static_cast<size_t>(ASN1_STRING_length(data)));
  }
  return texts;
}

std::string AddressOf(const ASN1_OCTET_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text,
            sizeof text);
  return text;
}

void ReadNames(X509_REQ* csr, FakeAuthority::SigningRequest& request) {
  STACK_OF(X509_EXTENSION)* extensions = X509_REQ_get_extensions(csr);
  const Names names(static_cast<GENERAL_NAMES*>(
      X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr)));
  sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) {
      request.subject.dns_names.emplace_back(
          reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
          static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      request.subject.addresses.push_back(AddressOf(name->d.iPAddress));
    } else {
      request.other_names = true;
    }
  }
}

StatusOr<X509Request> ParseCsr(const std::string& text) {
  X509Request csr(PEM_read_bio_X509_REQ(Reading(text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (csr == nullptr) return InvalidArgument("PEM block type must be CERTIFICATE REQUEST");
  if (X509_REQ_verify(csr.get(), X509_REQ_get0_pubkey(csr.get())) != 1) {
    ERR_clear_error();
    return InvalidArgument("the signature of the request is wrong");
  }
  return csr;
}

}  // namespace

struct FakeAuthority::Keys {
  PrivateKey key;
  Certificate certificate;

  std::string Make(EVP_PKEY* public_key, const Subject& subject, const Terms& terms) const {
    const Certificate made = Begin();
    X509_NAME* name = X509_get_subject_name(made.get());
    for (const auto& organization : subject.organizations)
      AddEntry(name, NID_organizationName, organization);
    AddEntry(name, NID_commonName, subject.common_name);
    X509_set_issuer_name(made.get(), X509_get_subject_name(certificate.get()));
    X509_set_pubkey(made.get(), public_key);
    SetTimes(made.get(), terms.from, terms.until);
    X509* issuer = certificate.get();
    AddExtension(made.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
    AddExtension(made.get(), issuer, NID_key_usage, "critical,digitalSignature");
    std::string usages = terms.client ? "clientAuth" : "";
    if (terms.server) usages += usages.empty() ? "serverAuth" : ",serverAuth";
    if (!usages.empty()) AddExtension(made.get(), issuer, NID_ext_key_usage, usages);
    AddExtension(made.get(), issuer, NID_authority_key_identifier, "keyid");
    if (const std::string names = NamesOf(subject); !names.empty())
      AddExtension(made.get(), issuer, NID_subject_alt_name, names);
    CHECK(X509_sign(made.get(), key.get(), EVP_sha256()) > 0);
    return PemOf(made.get());
  }
};

FakeAuthority::FakeAuthority() : keys_(std::make_unique<Keys>()) {}
FakeAuthority::~FakeAuthority() = default;

FakeAuthority::FakeAuthority(const std::string& name, WallTime now) : FakeAuthority() {
  keys_->key = MakeKey();
  keys_->certificate = Begin();
  X509* own = keys_->certificate.get();
  AddEntry(X509_get_subject_name(own), NID_commonName, name);
  X509_set_issuer_name(own, X509_get_subject_name(own));
  X509_set_pubkey(own, keys_->key.get());
  SetTimes(own, now - std::chrono::hours{24}, now + std::chrono::hours{24 * 3650});
  AddExtension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(own, own, NID_key_usage, "critical,digitalSignature,keyCertSign");
  AddExtension(own, own, NID_subject_key_identifier, "hash");
  CHECK(X509_sign(own, keys_->key.get(), EVP_sha256()) > 0);
  certificate_ = PemOf(own);
}

StatusOr<std::unique_ptr<FakeAuthority>> FakeAuthority::Load(const std::string& certificate,
                                                             const std::string& key) {
  std::unique_ptr<FakeAuthority> loaded(new FakeAuthority());
  loaded->keys_->certificate.reset(
      PEM_read_bio_X509(Reading(certificate).get(), nullptr, nullptr, nullptr));
  loaded->keys_->key.reset(PEM_read_bio_PrivateKey(Reading(key).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (loaded->keys_->certificate == nullptr || loaded->keys_->key == nullptr)
    return InvalidArgument("the authority's PEM cannot be read");
  loaded->certificate_ = certificate;
  return loaded;
}

std::string FakeAuthority::Key() const { return PemOf(keys_->key.get()); }

FakeAuthority::Issued FakeAuthority::Issue(const Subject& subject, const Terms& terms) const {
  const auto key = MakeKey();
  return {keys_->Make(key.get(), subject, terms), PemOf(key.get())};
}

StatusOr<FakeAuthority::SigningRequest> FakeAuthority::Read(const std::string& request) {
  const auto csr = ParseCsr(request);
  if (!csr.ok()) return csr.status();
  SigningRequest read;
  X509_NAME* name = X509_REQ_get_subject_name(csr->get());
  const auto common = EntriesOf(name, NID_commonName);
  if (!common.empty()) read.subject.common_name = common.front();
  read.subject.organizations = EntriesOf(name, NID_organizationName);
  ReadNames(csr->get(), read);
  return read;
}

StatusOr<std::string> FakeAuthority::Sign(const std::string& request, const Terms& terms) const {
  const auto csr = ParseCsr(request);
  if (!csr.ok()) return csr.status();
  const auto read = Read(request);
  if (!read.ok()) return read.status();
  return keys_->Make(X509_REQ_get0_pubkey(csr->get()), read->subject, terms);
}

}  // namespace splitlet::fake_api
