#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <future>
#include <memory>

#include "libs/http/async_client.h"
#include "libs/http/test_server.h"

namespace splitlet::http {
namespace {

/// A self-signed certificate that names no host and expired an hour ago.
std::shared_ptr<SSL_CTX> ExpiredIdentity() {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), -3600);
  X509_set_pubkey(certificate.get(), key.get());
  CHECK(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  CHECK(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
  CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  return context;
}

/// Answers one request; `first`: bytes already read from the connection. Returns the request.
std::string ServeTls(SSL_CTX* context, const std::string& first, int connection) {
  const std::unique_ptr<SSL, void (*)(SSL*)> tls(SSL_new(context), SSL_free);
  BIO* const in = BIO_new(BIO_s_mem());
  SSL_set_bio(tls.get(), in, BIO_new_socket(connection, BIO_NOCLOSE));
  SSL_set_accept_state(tls.get());
  BIO_write(in, first.data(), static_cast<int>(first.size()));
  char request[4096], more[4096];
  int size = 0;
  while ((size = SSL_read(tls.get(), request, sizeof(request))) <= 0) {
    if (SSL_get_error(tls.get(), size) != SSL_ERROR_WANT_READ) return "no TLS";
    const ssize_t got = ::recv(connection, more, sizeof(more), 0);
    if (got <= 0) return "the client went";
    BIO_write(in, more, static_cast<int>(got));
  }
  const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell";
  SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size()));
  return {request, static_cast<size_t>(size)};
}

TEST(Tls, AnExpiredCertificateOfNobodyWillDo) {
  const auto identity = ExpiredIdentity();
  std::promise<std::string> request;
  const Server server([&](const std::string& first, int connection) {
    request.set_value(ServeTls(identity.get(), first, connection));
  });
  const RealClock clock;
  AsyncClient client{clock};
  std::promise<Outcome> outcome;
  client.Begin({.url = server.Url("https"), .max_bytes = 10},
               After(clock, std::chrono::seconds{20}),
               [&outcome](Outcome done) { outcome.set_value(std::move(done)); });
  const Outcome done = outcome.get_future().get();
  ASSERT_TRUE(done.status.ok()) << done.status;
  EXPECT_EQ(done.code, 200);
  EXPECT_EQ(done.body, "well");
  EXPECT_EQ(
      request.get_future().get(),
      fmt::format("GET /hook HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: */*\r\n\r\n", server.port));
}

}  // namespace
}  // namespace splitlet::http
