#include "libs/fake_api/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "libs/fake_api/api_server.h"

namespace splitlet::fake_api {
namespace {

namespace certificates = k8s::io::api::certificates::v1;

constexpr const char* kPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr";

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <class T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;
using Certificate = Owned<X509, X509_free>;

/// PEM of a signing request with a new key. `names`: "DNS:n1,IP:10.0.0.1".
std::string MakeRequest(const std::string& organization, const std::string& common_name,
                        const std::string& names) {
  const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Owned<X509_REQ, X509_REQ_free> csr(X509_REQ_new());
  X509_NAME* name = X509_REQ_get_subject_name(csr.get());
  const auto add = [name](const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()), -1, 0);
  };
  add("O", organization);
  add("CN", common_name);
  X509_REQ_set_pubkey(csr.get(), key.get());
  if (!names.empty()) {
    STACK_OF(X509_EXTENSION)* extensions = sk_X509_EXTENSION_new_null();
    sk_X509_EXTENSION_push(
        extensions, X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()));
    X509_REQ_add_extensions(csr.get(), extensions);
    sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
  }
  CHECK(X509_REQ_sign(csr.get(), key.get(), EVP_sha256()) > 0);
  const Owned<BIO, BIO_free_all> bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_X509_REQ(bio.get(), csr.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

Certificate ReadCertificate(const std::string& pem) {
  const Owned<BIO, BIO_free_all> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

/// Verifies a certificate against the authority, at `now`, for that purpose.
bool Verifies(const std::string& ca, const std::string& pem, int purpose, WallTime now) {
  const Certificate root = ReadCertificate(ca), leaf = ReadCertificate(pem);
  const Owned<X509_STORE, X509_STORE_free> store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), root.get());
  const Owned<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_STORE_CTX_set_time(context.get(), 0, static_cast<time_t>(ToNanos(now) / 1'000'000'000));
  return X509_verify_cert(context.get()) == 1;
}

class SigningRequests : public ::testing::Test {
 protected:
  certificates::CertificateSigningRequest Ask(const std::string& signer, const std::string& usage,
                                              const std::string& request) {
    certificates::CertificateSigningRequest csr;
    csr.mutable_spec()->set_signer_name("kubernetes.io/" + signer);
    csr.mutable_spec()->set_request(request);
    csr.mutable_spec()->add_usages("digital signature");
    csr.mutable_spec()->add_usages(usage);
    csr.mutable_spec()->set_expiration_seconds(3600);
    api.Put(kPath, csr);
    CHECK(api.Get(kPath, csr));
    api.Remove(kPath);
    return csr;
  }

  FakeClock clock;
  FakeApiServer api{clock};
};

TEST_F(SigningRequests, WhatKubeletsAskForIsSigned) {
  const auto csr = Ask("kube-apiserver-client-kubelet", "client auth",
                       MakeRequest("system:nodes", "system:node:n1", ""));
  ASSERT_EQ(csr.status().conditions_size(), 1);
  EXPECT_EQ(csr.status().conditions(0).type(), "Approved");
  const std::string ca = api.authority().certificate(), pem = csr.status().certificate();
  EXPECT_TRUE(Verifies(ca, pem, X509_PURPOSE_SSL_CLIENT, clock.WallNow()));
  EXPECT_FALSE(Verifies(ca, pem, X509_PURPOSE_SSL_SERVER, clock.WallNow()));
  EXPECT_FALSE(Verifies(ca, pem, X509_PURPOSE_SSL_CLIENT, clock.WallNow() + 3601s));
  const auto serving = Ask("kubelet-serving", "server auth",
                           MakeRequest("system:nodes", "system:node:n1", "DNS:n1,IP:10.0.0.1"));
  const std::string serving_pem = serving.status().certificate();
  EXPECT_TRUE(Verifies(ca, serving_pem, X509_PURPOSE_SSL_SERVER, clock.WallNow()));
  const Certificate leaf = ReadCertificate(serving_pem);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "10.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "n1", 2, 0, nullptr), 1);
}

TEST_F(SigningRequests, WhatIsNoKubeletsIsNotApproved) {
  const struct {
    const char *name, *signer, *usage, *organization, *common_name, *names;
  } kCases[] = {
      {"another group", "kube-apiserver-client-kubelet", "client auth", "dev", "system:node:a", ""},
      {"no node", "kube-apiserver-client-kubelet", "client auth", "system:nodes", "jane", ""},
      {"a client with names", "kube-apiserver-client-kubelet", "client auth", "system:nodes",
       "system:node:a", "DNS:a"},
      {"a server without", "kubelet-serving", "server auth", "system:nodes", "system:node:a", ""},
      {"another usage", "kubelet-serving", "client auth", "system:nodes", "system:node:a", "DNS:a"},
      {"another signer", "kube-apiserver-client", "client auth", "dev", "jane", ""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto csr = Ask(c.signer, c.usage, MakeRequest(c.organization, c.common_name, c.names));
    EXPECT_EQ(csr.status().conditions_size(), 0);
    EXPECT_EQ(csr.status().certificate(), "");
  }
}

TEST_F(SigningRequests, ASignerThatIsOffLeavesThemAlone) {
  api.SetSigning(false);
  const auto csr = Ask("kube-apiserver-client-kubelet", "client auth",
                       MakeRequest("system:nodes", "system:node:n1", ""));
  EXPECT_EQ(csr.status().conditions_size(), 0);
}

TEST(FakeAuthority, IsTheSameFromItsFiles) {
  const FakeClock clock;
  const FakeAuthority first("test", clock.WallNow());
  const auto second = FakeAuthority::Load(first.certificate(), first.Key());
  ASSERT_TRUE(second.ok()) << second.status();
  const auto issued =
      (*second)->Issue({.common_name = "a", .organizations = {"b"}},
                       {.from = clock.WallNow(), .until = clock.WallNow() + 60s, .client = true});
  EXPECT_TRUE(
      Verifies(first.certificate(), issued.certificate, X509_PURPOSE_SSL_CLIENT, clock.WallNow()));
  EXPECT_FALSE(FakeAuthority::Load("x", "y").ok());
}

}  // namespace
}  // namespace splitlet::fake_api
