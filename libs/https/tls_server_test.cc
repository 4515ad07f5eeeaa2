#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "libs/fs/fake_file_system.h"
#include "libs/https/server.h"
#include "libs/https/test_client.h"
#include "libs/https/tls_files.h"

namespace splitlet::https {
namespace {

using testing::HasSubstr;

const TestIdentity& Authority() {
  static const TestIdentity authority({.common_name = "ca", .organizations = {}, .usage = "CA"});
  return authority;
}

/// Answers with the client's identity.
std::unique_ptr<Server> WhoAmI() {
  auto server = StartServer({}, [](const Request& request, std::shared_ptr<Responder> responder) {
    std::string text = request.bad_client.empty() ? "nobody" : "refused";
    if (request.client)
      text = fmt::format(
          "{} of {}", request.client->common_name,
          request.client->organizations.empty() ? "none" : request.client->organizations[0]);
    responder->Send({.code = 200, .headers = {}, .body = text + "\n"});
  });
  CHECK(server.ok(), "{}", ToString(server.status()));
  return *std::move(server);
}

class TlsServer : public testing::Test {
 protected:
  void Serve(const TlsSettings& settings = {}, int rsa_bits = 0) {
    const TestIdentity identity({.rsa_bits = rsa_bits});
    files_.Replace("/s.crt", identity.certificate_pem(), {}).IgnoreError();
    files_.Replace("/s.key", identity.key_pem(), {}).IgnoreError();
    files_.Replace("/ca.crt", Authority().certificate_pem(), {}).IgnoreError();
    found_ = std::make_unique<TlsFiles>(files_, settings,
                                        TlsFiles::Places{{{"/s.crt", "/s.key"}}, "/ca.crt"});
    ASSERT_EQ(found_->Apply(*server_), OkStatus());
  }
  /// The body of an answer.
  std::string Ask(const TestClient::Tls& tls) {
    TestClient client(server_->port());
    if (!client.Handshake(tls)) return "no handshake";
    const std::string head = client.Ask("GET / HTTP/1.1", "\r\n\r\n");
    return head.empty() ? "no answer" : client.ReadUntil("\n");
  }

  FakeClock clock_;
  fs::FakeFileSystem files_{clock_};
  std::unique_ptr<Server> server_ = WhoAmI();
  std::unique_ptr<TlsFiles> found_;
};

TEST_F(TlsServer, KnowsClientsByTheirCertificates) {
  Serve();
  const TestIdentity alice(
      {.common_name = "alice", .organizations = {"dev"}, .usage = "clientAuth"}, &Authority());
  const TestIdentity server_only({.common_name = "bob", .organizations = {}}, &Authority());
  const TestIdentity past({.common_name = "past",
                           .organizations = {},
                           .usage = "clientAuth",
                           .not_before = -7200,
                           .not_after = -3600},
                          &Authority());
  const TestIdentity own({.common_name = "mallory", .organizations = {}, .usage = "clientAuth"});
  const TestIdentity nameless({.common_name = "", .organizations = {"dev"}, .usage = "clientAuth"},
                              &Authority());
  EXPECT_EQ(Ask({}), "nobody\n");
  EXPECT_EQ(Ask({.identity = &alice}), "alice of dev\n");
  EXPECT_EQ(Ask({.identity = &server_only}), "refused\n");
  EXPECT_EQ(Ask({.identity = &past}), "refused\n");
  EXPECT_EQ(Ask({.identity = &own}), "refused\n");
  EXPECT_EQ(Ask({.identity = &nameless}), "nobody\n");
}

TEST_F(TlsServer, HasNoOldVersions) {
  EXPECT_EQ(Ask({}), "no handshake");  // no certificate yet
  Serve();
  EXPECT_EQ(Ask({.max_version = TLS1_1_VERSION}), "no handshake");
  EXPECT_EQ(Ask({.max_version = TLS1_2_VERSION}), "nobody\n");
  Serve({.min_version = "VersionTLS13", .cipher_suites = {}});
  EXPECT_EQ(Ask({.max_version = TLS1_2_VERSION}), "no handshake");
  EXPECT_EQ(Ask({}), "nobody\n");
  Serve({.min_version = "", .cipher_suites = {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}});
  EXPECT_EQ(Ask({.max_version = TLS1_2_VERSION}), "nobody\n");
}

TEST_F(TlsServer, OffersNoSuiteWithoutKeysOfItsOwnAndAuthenticatedEncryption) {
  constexpr int kRsaBits = 2048;
  Serve({}, kRsaBits);
  const std::pair<const char*, const char*> kCases[] = {
      {"ECDHE-RSA-AES128-GCM-SHA256", "nobody\n"},
      {"ECDHE-RSA-AES256-GCM-SHA384", "nobody\n"},
      {"ECDHE-RSA-CHACHA20-POLY1305", "nobody\n"},
      {"ECDHE-RSA-AES128-SHA256", "no handshake"},
      {"ECDHE-RSA-AES256-SHA", "no handshake"},
      {"AES128-GCM-SHA256", "no handshake"},
      {"AES256-SHA", "no handshake"},
  };
  for (const auto& [suites, want] : kCases)
    EXPECT_EQ(Ask({.max_version = TLS1_2_VERSION, .suites = suites}), want) << suites;
  Serve({.min_version = "", .cipher_suites = {"TLS_RSA_WITH_AES_128_GCM_SHA256"}}, kRsaBits);
  EXPECT_EQ(Ask({.max_version = TLS1_2_VERSION, .suites = "AES128-GCM-SHA256"}), "nobody\n")
      << "what is named is offered";
}

TEST_F(TlsServer, RefusesChainsThatCanBeForged) {
  Serve();
  const auto signed_by = [](const EVP_MD* digest, int rsa_bits) {
    return TestIdentity({.common_name = "alice",
                         .organizations = {},
                         .usage = "clientAuth",
                         .rsa_bits = rsa_bits,
                         .signed_by = digest},
                        &Authority());
  };
  const struct {
    const char* name;
    TestIdentity identity;
    const char* want;
  } kCases[] = {
      {"SHA-256, P-256", signed_by(EVP_sha256(), 0), "alice of none\n"},
      {"SHA-256, RSA of 2048 bits", signed_by(EVP_sha256(), 2048), "alice of none\n"},
      {"SHA-1", signed_by(EVP_sha1(), 0), "refused\n"},
      {"RSA of 1024 bits", signed_by(EVP_sha256(), 1024), "refused\n"},
  };
  for (const auto& c : kCases) EXPECT_EQ(Ask({.identity = &c.identity}), c.want) << c.name;
}

TEST_F(TlsServer, TakesNewFilesAndKeepsGoodOnes) {
  Serve();
  const auto name = [this] {
    TestClient client(server_->port());
    return client.Handshake({}) ? client.server_name() : "no handshake";
  };
  EXPECT_EQ(name(), "localhost");
  const TestIdentity next({.common_name = "next", .organizations = {}});
  files_.Replace("/s.crt", next.certificate_pem(), {}).IgnoreError();
  // the key does not fit the certificate
  EXPECT_EQ(found_->Apply(*server_).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(name(), "localhost");
  files_.Replace("/s.key", next.key_pem(), {}).IgnoreError();
  EXPECT_EQ(found_->Apply(*server_), OkStatus());
  EXPECT_EQ(name(), "next");

  const TestIdentity other_ca({.common_name = "ca2", .organizations = {}, .usage = "CA"});
  const TestIdentity carol({.common_name = "carol", .organizations = {}, .usage = "clientAuth"},
                           &other_ca);
  EXPECT_EQ(Ask({.identity = &carol}), "refused\n");
  files_.Replace("/ca.crt", "nothing", {}).IgnoreError();
  EXPECT_THAT(Message(found_->Apply(*server_)), HasSubstr("/ca.crt: client CA: it contains no"));
  files_.Replace("/ca.crt", other_ca.certificate_pem(), {}).IgnoreError();
  EXPECT_EQ(found_->Apply(*server_), OkStatus());
  EXPECT_EQ(Ask({.identity = &carol}), "carol of none\n");
}

/// Joins the bytes of an answer's chunks.
std::string Joined(std::string_view answer) {
  answer.remove_prefix(std::min(answer.find("\r\n\r\n") + 4, answer.size()));
  std::string all;
  while (true) {
    const size_t line = answer.find("\r\n");
    const size_t size = line == std::string_view::npos
                            ? 0
                            : std::stoul(std::string(answer.substr(0, line)), nullptr, 16);
    if (size == 0 || answer.size() < line + 2 + size + 2) return all;
    all += answer.substr(line + 2, size);
    EXPECT_EQ(answer.substr(line + 2 + size, 2), "\r\n");
    answer.remove_prefix(line + 2 + size + 2);
  }
}

TEST(TlsStream, ALongOneComesWhole) {
  std::string want;
  for (int i = 0; i < 40'000; ++i) want += fmt::format("line {} {}\n", i, std::string(i % 97, 'x'));
  std::thread writer;
  auto server = StartServer({}, [&](const Request&, const std::shared_ptr<Responder>& responder) {
    writer = std::thread([&want, out = responder->Begin({})] {
      constexpr size_t kPiece = 33'333;
      for (size_t at = 0; at < want.size() && out->WaitForRoom(kPiece); at += kPiece)
        out->Write(std::string_view(want).substr(at, kPiece));
      out->End();
    });
  });
  ASSERT_TRUE(server.ok()) << ToString(server.status());
  const TestIdentity identity({});
  (*server)->SetTls(*MakeTlsContext({}, identity.certificate_pem(), identity.key_pem(), ""));
  TestClient client((*server)->port());
  ASSERT_TRUE(client.Handshake({}));
  client.Write("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  std::string got;
  for (std::string more = client.Read(); !more.empty(); more = client.Read()) got += more;
  writer.join();
  EXPECT_TRUE(got.ends_with("\r\n0\r\n\r\n"));
  EXPECT_TRUE(Joined(got) == want);
}

TEST(TlsContext, WhatCannotBe) {
  const TestIdentity one({}), other({});
  const struct {
    const char* name;
    TlsSettings settings;
    std::string certificate, key, ca, error;
  } kCases[] = {
      {"an unknown version",
       {"VersionTLS9", {}},
       one.certificate_pem(),
       one.key_pem(),
       "",
       "unknown tls version \"VersionTLS9\""},
      {"an unknown suite",
       {"", {"TLS_FOO"}},
       one.certificate_pem(),
       one.key_pem(),
       "",
       "Cipher suite TLS_FOO not supported or doesn't exist"},
      {"no certificate", {}, "x", one.key_pem(), "", "certificate: "},
      {"another's key", {}, one.certificate_pem(), other.key_pem(), "", "key"},
      {"no authority", {}, one.certificate_pem(), one.key_pem(), "x", "client CA: "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto made = MakeTlsContext(c.settings, c.certificate, c.key, c.ca);
    EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(made.status()), HasSubstr(c.error));
  }
}

}  // namespace
}  // namespace splitlet::https
