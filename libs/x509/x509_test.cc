#include <gtest/gtest.h>

#include "libs/x509/authority.h"
#include "libs/x509/certificate.h"
#include "libs/x509/key.h"
#include "libs/x509/request.h"

namespace splitlet::x509 {
namespace {

const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

std::string Key(KeyKind kind = KeyKind::kEcP256) { return MakeKey(kind).value_or(""); }

Authority MakeAuthority() {
  auto made = Authority::Make("ca", KeyKind::kEcP256, {kNow, kNow + 1h});
  CHECK(made.ok());
  return *std::move(made);
}

TEST(X509Key, IsWrittenAsAKubeletWritesIt) {
  EXPECT_TRUE(Key().starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  EXPECT_TRUE(Key(KeyKind::kRsa2048).starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  EXPECT_NE(Key(), Key());
}

TEST(X509Key, WhatIsNoKeyIsAnErrorWithoutTheText) {
  for (const char* text : {"", "secret", "-----BEGIN EC PRIVATE KEY-----\nsecret\n"}) {
    const auto read = PublicKeyOf(text);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(Message(read.status()).find("secret"), std::string::npos);
  }
}

TEST(X509Key, DigestIsTheKnownOne) {
  const std::string digest = Sha512_256("abc");
  ASSERT_EQ(digest.size(), 32u);
  EXPECT_EQ(static_cast<unsigned char>(digest[0]), 0x53);
  EXPECT_EQ(static_cast<unsigned char>(digest[31]), 0x23);
}

TEST(X509Request, SaysWhatWasAsked) {
  const struct {
    const char* name;
    Names names;
  } kCases[] = {
      {"client", {.common_name = "system:node:n1", .organizations = {"system:nodes"}}},
      {"server",
       {.common_name = "system:node:n1",
        .organizations = {"system:nodes"},
        .dns = {"n1", "n1.example"},
        .addresses = {"10.0.0.1", "fd00::1"}}},
      {"addresses alone", {.common_name = "x", .addresses = {"192.0.2.1"}}},
      {"two organizations", {.common_name = "x", .organizations = {"a", "b"}}},
  };
  for (const auto& c : kCases) {
    const std::string key = Key();
    const auto request = MakeRequest(key, c.names);
    ASSERT_TRUE(request.ok()) << c.name << ": " << request.status();
    const auto read = ReadRequest(*request);
    ASSERT_TRUE(read.ok()) << c.name << ": " << read.status();
    EXPECT_EQ(read->names, c.names) << c.name;
    EXPECT_EQ(read->public_key, PublicKeyOf(key).value_or("?")) << c.name;
  }
}

TEST(X509Request, WhatCannotBeAskedIsAnError) {
  EXPECT_FALSE(MakeRequest("", {.common_name = "x"}).ok());
  EXPECT_FALSE(MakeRequest(Key(), {.common_name = "x", .addresses = {"10.0.0"}}).ok());
  EXPECT_FALSE(ReadRequest("garbage").ok());
  std::string changed = *MakeRequest(Key(), {.common_name = "system:node:n1"});
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(ReadRequest(changed).ok());
}

TEST(X509Certificate, IsWhatTheAuthoritySigned) {
  const Authority authority = MakeAuthority();
  const std::string key = Key();
  const Names names{.common_name = "system:node:n1", .dns = {"n1"}, .addresses = {"10.0.0.1"}};
  const auto request = MakeRequest(key, names);
  ASSERT_TRUE(request.ok());
  const auto chain = authority.Sign(*request, Usage::kServer, {kNow, kNow + 24h});
  ASSERT_TRUE(chain.ok()) << chain.status();
  // Like a node's file: chain, then key.
  const auto pair = CheckPair(*chain + key, *chain + key);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->names, names);
  EXPECT_EQ(pair->issuer, "ca");
  EXPECT_EQ(pair->not_before, kNow);
  EXPECT_EQ(pair->not_after, kNow + 24h);
  EXPECT_FALSE(pair->authority);
  EXPECT_EQ(ReadCertificates(*chain + authority.certificate())->size(), 2u);
  EXPECT_TRUE(ReadCertificates(authority.certificate())->front().authority);
}

TEST(X509Certificate, APairThatIsNoneIsRefused) {
  const Authority authority = MakeAuthority();
  const std::string key = Key();
  const auto request = MakeRequest(key, {.common_name = "x"});
  const auto chain = authority.Sign(*request, Usage::kClient, {kNow, kNow + 1h});
  ASSERT_TRUE(chain.ok());
  EXPECT_FALSE(CheckPair(*chain, Key()).ok());
  EXPECT_FALSE(CheckPair(*chain, "").ok());
  EXPECT_FALSE(CheckPair("", key).ok());
  EXPECT_FALSE(
      CheckPair("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", key).ok());
}

TEST(X509SelfSigned, NamesTheHostAndWhatItIsReachedBy) {
  const auto pair = MakeSelfSigned("n1", {.addresses = {"10.0.0.1"}}, kNow);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const auto leaf = CheckPair(pair->chain, pair->key);
  ASSERT_TRUE(leaf.ok()) << leaf.status();
  EXPECT_EQ(leaf->names.common_name, "n1@1767225600");
  EXPECT_EQ(leaf->issuer, "n1-ca@1767225600");
  EXPECT_EQ(leaf->names.dns, std::vector<std::string>{"n1"});
  EXPECT_EQ(leaf->names.addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(leaf->not_before, kNow - 1h);
  EXPECT_EQ(leaf->not_after, kNow - 1h + 24h * 365);
  EXPECT_EQ(ReadCertificates(pair->chain)->size(), 2u);
}

TEST(X509SelfSigned, AHostMayBeAnAddress) {
  const auto pair = MakeSelfSigned("10.0.0.1", {.addresses = {"10.0.0.1"}}, kNow);
  ASSERT_TRUE(pair.ok());
  const auto leaf = CheckPair(pair->chain, pair->key);
  ASSERT_TRUE(leaf.ok());
  EXPECT_TRUE(leaf->names.dns.empty());
  EXPECT_EQ(leaf->names.addresses, std::vector<std::string>{"10.0.0.1"});
}

}  // namespace
}  // namespace splitlet::x509
