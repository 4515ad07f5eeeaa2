#include <gtest/gtest.h>

#include "libs/x509/key.h"
#include "services/status/identity/identity.h"
#include "services/status/identity/names.h"
#include "services/status/identity/rotation.h"
#include "services/status/identity/signing_request.h"

/// Decisions about certificates, as tables.

namespace splitlet::status {
namespace {

const WallTime kNow{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

x509::Certificate Of(x509::Names names, WallTime from, WallTime until) {
  x509::Certificate certificate;
  certificate.names = std::move(names);
  certificate.not_before = from;
  certificate.not_after = until;
  return certificate;
}

TEST(RotationTime, IsBetweenSeventyAndNinetyPercent) {
  const auto certificate = Of({}, kNow, kNow + 100h);
  const struct {
    double unit;
    Duration want;
  } kCases[] = {{0, 70h}, {0.5, 80h}, {1, 90h}};
  for (const auto& c : kCases) {
    const Duration after = RotationTime(certificate, c.unit) - kNow;
    EXPECT_LT(std::chrono::abs(after - c.want), 1s) << c.unit;
  }
}

TEST(WhyNeeded, NamesWhatIsMissing) {
  const x509::Names node = ClientNames("n1");
  x509::Names server = node;
  server.dns = {"n1"};
  server.addresses = {"10.0.0.1"};
  x509::Names more = server;
  more.addresses.emplace_back("10.0.0.2");
  const struct {
    const char* name;
    std::optional<x509::Certificate> certificate;
    x509::Names wanted;
    const char* want;
  } kCases[] = {
      {"none", std::nullopt, node, "no certificate"},
      {"good", Of(node, kNow - 1h, kNow + 1h), node, ""},
      {"of a clock that is ahead", Of(node, kNow + 1h, kNow + 2h), node, ""},
      {"expired", Of(node, kNow - 2h, kNow), node, "certificate has expired"},
      {"another node", Of(ClientNames("n2"), kNow, kNow + 1h), node,
       "certificate has another common name"},
      {"no organization", Of({.common_name = "system:node:n1"}, kNow, kNow + 1h), node,
       "certificate lacks an organization"},
      {"an address more is wanted", Of(server, kNow, kNow + 1h), more,
       "certificate lacks an address"},
      {"an address less is wanted", Of(more, kNow, kNow + 1h), server, ""},
      {"a name more is wanted", Of(node, kNow, kNow + 1h), server, "certificate lacks a DNS name"},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(WhyNeeded(c.certificate, c.wanted, kNow), c.want) << c.name;
}

TEST(ServerNames, AreThoseOfTheNode) {
  const auto names = ServerNames("n1", {{"InternalIP", "10.0.0.2"},
                                        {"InternalIP", "10.0.0.1"},
                                        {"ExternalIP", "10.0.0.1"},
                                        {"Hostname", "n1"},
                                        {"InternalDNS", "n1"},
                                        {"ExternalDNS", "a.example"},
                                        {"Hostname", "fd00::1"},
                                        {"InternalIP", ""}});
  EXPECT_EQ(names.common_name, "system:node:n1");
  EXPECT_EQ(names.organizations, std::vector<std::string>{"system:nodes"});
  EXPECT_EQ(names.dns, (std::vector<std::string>{"a.example", "n1"}));
  EXPECT_EQ(names.addresses, (std::vector<std::string>{"10.0.0.1", "10.0.0.2", "fd00::1"}));
}

TEST(ClientPlan, DependsOnWhatIsThere) {
  using enum ClientPlan;
  const Status bad = NotFound("no such file");
  const struct {
    const char* bootstrap;
    Status kubeconfig;
    bool stored;
    ClientPlan want;
  } kCases[] = {
      {"", OkStatus(), false, kUse},
      {"", bad, false, kUse},
      {"", bad, true, kUse},
      {"/b", OkStatus(), false, kUse},
      {"/b", OkStatus(), true, kUse},
      {"/b", bad, false, kBootstrap},
      {"/b", bad, true, kWriteKubeconfig},
  };
  IdentityOptions rotates{.bootstrap_kubeconfig = "/b", .rotate = true};
  KubeconfigState expired{.usable = bad, .certificate = x509::Certificate()};
  EXPECT_EQ(ChooseClientPlan(rotates, expired, true), kUse) << "the rotated one is shown";
  EXPECT_EQ(ChooseClientPlan(rotates, expired, false), kBootstrap);
  rotates.rotate = false;
  EXPECT_EQ(ChooseClientPlan(rotates, expired, true), kWriteKubeconfig);
  for (const auto& c : kCases) {
    IdentityOptions options;
    options.bootstrap_kubeconfig = c.bootstrap;
    KubeconfigState state;
    state.usable = c.kubeconfig;
    EXPECT_EQ(ChooseClientPlan(options, state, c.stored), c.want)
        << c.bootstrap << " " << c.kubeconfig << " " << c.stored;
  }
}

class Requests : public ::testing::Test {
 protected:
  const CertificateWish wish{ClientNames("n1"), "kubernetes.io/kube-apiserver-client-kubelet",
                             "client auth"};
  const std::string key = x509::MakeKey(x509::KeyKind::kEcP256).value_or("");
  const std::string public_key = x509::PublicKeyOf(key).value_or("");
};

TEST_F(Requests, HaveAStableNameOnlyWhenAsked) {
  const std::string name = StableName(wish, public_key);
  EXPECT_TRUE(name.starts_with("node-csr-"));
  EXPECT_EQ(name.size(), std::string("node-csr-").size() + 43);  // 32 bytes in base64url
  EXPECT_EQ(name, StableName(wish, public_key));
  EXPECT_NE(name, StableName({ClientNames("n2"), wish.signer, wish.usage}, public_key));
  EXPECT_NE(name, StableName(wish, "another key"));

  const auto named = MakeSigningRequest(wish, key, name);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->metadata().name(), name);
  EXPECT_EQ(named->metadata().generate_name(), "");
  const auto unnamed = MakeSigningRequest(wish, key, "");
  ASSERT_TRUE(unnamed.ok());
  EXPECT_EQ(unnamed->metadata().generate_name(), "csr-");
  EXPECT_EQ(unnamed->spec().signer_name(), wish.signer);
  ASSERT_EQ(unnamed->spec().usages_size(), 2);
  EXPECT_EQ(unnamed->spec().usages(0), "digital signature");
  EXPECT_EQ(unnamed->spec().usages(1), "client auth");
  EXPECT_FALSE(unnamed->spec().has_expiration_seconds());
}

TEST_F(Requests, OfSomebodyElseAreNotTaken) {
  const auto ours = MakeSigningRequest(wish, key, "x");
  ASSERT_TRUE(ours.ok());
  EXPECT_TRUE(CheckSame(*ours, wish, public_key).ok());
  EXPECT_FALSE(CheckSame(*ours, wish, "another key").ok());
  EXPECT_FALSE(CheckSame(*ours, {ClientNames("n2"), wish.signer, wish.usage}, public_key).ok());
  EXPECT_FALSE(CheckSame(*ours, {wish.names, "other", wish.usage}, public_key).ok());
  EXPECT_FALSE(CheckSame({}, wish, public_key).ok());
}

TEST_F(Requests, AreJudgedByTheirConditions) {
  using enum Judgement::Outcome;
  const struct {
    const char* condition;
    const char* certificate;
    Judgement::Outcome want;
  } kCases[] = {
      {"", "", kWaiting},       {"Approved", "", kWaiting},  {"Approved", "PEM", kIssued},
      {"Denied", "", kRefused}, {"Failed", "PEM", kRefused},
  };
  for (const auto& c : kCases) {
    SigningRequest object;
    if (*c.condition != '\0') {
      auto& condition = *object.mutable_status()->add_conditions();
      condition.set_type(c.condition);
      condition.set_reason("Why");
      condition.set_message("because");
    }
    object.mutable_status()->set_certificate(c.certificate);
    const Judgement judgement = Judge(object);
    EXPECT_EQ(judgement.outcome, c.want) << c.condition;
    const std::string reason =
        c.want == kRefused ? std::string(c.condition) + ": Why: because" : "";
    EXPECT_EQ(judgement.reason, reason);
  }
}

}  // namespace
}  // namespace splitlet::status
