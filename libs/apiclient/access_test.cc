#include "libs/apiclient/access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "libs/apiclient/https_request.h"
#include "libs/fs/fake_file_system.h"
#include "libs/kube/time_text.h"
#include "libs/x509/authority.h"
#include "libs/x509/key.h"
#include "libs/x509/request.h"

namespace splitlet::apiclient {
namespace {

const std::string kKubeconfig = "/etc/kubelet.conf";
const std::string kRotated = "/pki/kubelet-client-current.pem";

class Reading : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.Replace(path, text, {}).ok());
  }
  void WriteConfig(const std::string& user, const std::string& cluster = "") {
    Write(kKubeconfig,
          "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
          "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
          "clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443/api'" +
              cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n");
  }
  ServerAccess Must() {
    const auto read = reader.Read(nullptr);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? **read : ServerAccess{};
  }
  std::string Error() {
    const auto read = reader.Read(nullptr);
    EXPECT_FALSE(read.ok());
    return fmt::format("{} {}", CodeName(read.status().code()), Message(read.status()));
  }
  void WritePlugin() {
    WriteConfig(
        "exec: {command: login, args: [now], env: [{name: WHO, value: me}], installHint: get it, "
        "provideClusterInfo: true, apiVersion: client.authentication.k8s.io/v1}",
        ", certificate-authority-data: " + kube::EncodeBase64("CA"));
  }
  static std::string Credential(const std::string& status) {
    return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)" +
           status + "}}";
  }

  /// A certificate, valid for a year and one hour old, and its key.
  std::string PairFields() {
    const auto pair = x509::MakeSelfSigned("n", {}, clock.WallNow());
    EXPECT_TRUE(pair.ok());
    const auto quoted = [](std::string pem) {
      for (size_t at = 0; (at = pem.find('\n', at)) != std::string::npos; at += 2)
        pem.replace(at, 1, "\\n");
      return "\"" + pem + "\"";
    };
    return fmt::format(R"("clientCertificateData":{},"clientKeyData":{})", quoted(pair->chain),
                       quoted(pair->key));
  }
  /// The value of the only series, or of the series with this label; a histogram gives its count.
  double Metric(const std::string& name, const std::string& label = "") {
    for (const auto& family : registry.Collect())
      for (const auto& metric : family.name == name ? family.metric : decltype(family.metric){}) {
        const bool is = label.empty() || std::ranges::any_of(metric.label, [&](const auto& one) {
                          return one.value == label;
                        });
        if (is)
          return metric.counter.value + metric.gauge.value +
                 static_cast<double>(metric.histogram.sample_count);
      }
    return 0;
  }

  /// True while another process creates the file that `by` reads.
  bool IsAwaitedBy(AccessReader& by) { return IsAwaited(by.Read(nullptr).status()); }

  FakeClock clock;
  fs::FakeFileSystem files{clock};
  std::vector<process::Program> runs;
  StatusOr<std::string> prints = Unavailable("exit code 1");
  int exit_code = -1;  // exit code that runs report; negative: none
  prometheus::Registry registry;
  AccessReader reader{{.clock = clock,
                       .files = files,
                       .run =
                           [this](const process::Program& program) {
                             runs.push_back(program);
                             if (exit_code >= 0 && program.exit_code != nullptr)
                               *program.exit_code = exit_code;
                             return prints;
                           },
                       .plugin_metrics = std::make_shared<PluginMetrics>(registry)},
                      kKubeconfig,
                      kRotated};
};

TEST_F(Reading, AKubeconfigThatATlsBootstrapIsMakingIsAwaitedForAWhile) {
  EXPECT_FALSE(IsAwaitedBy(reader)) << "no TLS bootstrap makes it";
  AccessReader bootstraps({.clock = clock, .files = files, .run = {}, .made_within = 30s},
                          kKubeconfig, "");
  EXPECT_TRUE(IsAwaitedBy(bootstraps));
  Write(kKubeconfig, "this is no kubeconfig");
  EXPECT_FALSE(IsAwaitedBy(bootstraps));
  ASSERT_TRUE(files.Remove(kKubeconfig).ok());
  clock.Advance(29s);
  EXPECT_TRUE(IsAwaitedBy(bootstraps));
  clock.Advance(1s);
  EXPECT_FALSE(IsAwaitedBy(bootstraps));
}

TEST_F(Reading, AKubeconfigThatIsNotThereMayCome) {
  EXPECT_EQ(Error().find("UNAVAILABLE /etc/kubelet.conf: "), 0u);
  Write(kKubeconfig, "kind: Config\napiVersion: v1\n");
  EXPECT_EQ(Error().find("UNAVAILABLE /etc/kubelet.conf: current-context"), 0u);
  WriteConfig("token: t");
  const ServerAccess access = Must();
  EXPECT_EQ(access.server, "https://10.0.0.1:6443/api");
  EXPECT_EQ(access.host, "10.0.0.1:6443");
  EXPECT_EQ(access.authorization, "Bearer t");
}

TEST_F(Reading, IsTheSameWhileNothingChanges) {
  WriteConfig("client-certificate: c, client-key: k");
  EXPECT_EQ(Error().find("UNAVAILABLE client certificate: /etc/c: "), 0u);
  Write("/etc/c", "CERT");
  Write("/etc/k", "KEY");
  const auto first = reader.Read(nullptr);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, *reader.Read(nullptr));
  Write("/etc/c", "CERT 2");
  const auto second = reader.Read(nullptr);
  EXPECT_NE(*first, *second);
  EXPECT_EQ((*first)->certificate, "CERT");
  EXPECT_EQ((*second)->certificate, "CERT 2");
  EXPECT_EQ((*second)->key, "KEY");
}

TEST_F(Reading, ARotatedCertificateIsShownInPlaceOfTheKubeconfigsWhileItIsGood) {
  const WallTime now = clock.WallNow();
  const auto authority =
      x509::Authority::Make("ca", x509::KeyKind::kEcP256, {now - 1h, now + 1000h});
  const auto pair = [&](Duration life) {
    const std::string key = *x509::MakeKey(x509::KeyKind::kEcP256);
    const auto request = x509::MakeRequest(key, {.common_name = "system:node:n1"});
    return *authority->Sign(*request, x509::Usage::kClient, {now - 1h, now + life}) + key;
  };
  const std::string first = pair(24h), second = pair(48h);
  const std::string users[] = {"client-certificate: c, client-key: k",
                               "client-certificate-data: Q0VSVA==, client-key-data: S0VZ"};
  Write("/etc/c", "CERT");
  Write("/etc/k", "KEY");
  const struct {
    const char* name;
    std::string rotated;  // empty: none
    Duration passed;
    std::string certificate, key;
  } kCases[] = {
      {"nothing was rotated yet", "", 0s, "CERT", "KEY"},
      {"no pair", "garbage", 0s, "CERT", "KEY"},
      {"a certificate without its key", first.substr(0, first.find("-----BEGIN EC")), 0s, "CERT",
       "KEY"},
      {"the first", first, 0s, first, first},
      {"the next", second, 12h, second, second},
      {"it stays", second, 12h, second, second},
      {"it has expired", second, 25h, "CERT", "KEY"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    clock.SetWall(clock.WallNow() + c.passed);
    if (!c.rotated.empty()) Write(kRotated, c.rotated);
    for (const auto& user : users) {
      WriteConfig(user);
      EXPECT_EQ(Must().certificate, c.certificate) << user;
      EXPECT_EQ(Must().key, c.key) << user;
    }
  }
  Write(kRotated, pair(1000h));
  WriteConfig("client-certificate: gone, client-key: gone");
  EXPECT_NE(Must().certificate, "") << "the kubeconfig's own is not needed any more";
  WriteConfig("token: t");
  EXPECT_EQ(Must().certificate, "") << "who shows no certificate shows none";
}

TEST_F(Reading, ATokenFileWinsAndIsReadEachTime) {
  WriteConfig("token: old, tokenFile: t");
  EXPECT_EQ(Must().authorization, "Bearer old");
  Write("/etc/t", " new\n");
  EXPECT_EQ(Must().authorization, "Bearer new");
  Write("/etc/t", "a\nX-Other: b");
  EXPECT_EQ(Error(), "UNAUTHENTICATED /etc/t: the token is not one line of text");
}

TEST_F(Reading, ATokenOfSeveralLinesIsRefusedWithTheNameOfItsSource) {
  WriteConfig("token: \"a\\nb\"");
  EXPECT_EQ(Error(), "UNAUTHENTICATED /etc/kubelet.conf: the token is not one line of text");
  WritePlugin();
  prints = Credential(R"("token":"a\nb")");
  EXPECT_EQ(Error(), "UNAUTHENTICATED exec plugin login: the token is not one line of text");
}

TEST_F(Reading, AUserHasAPassword) {
  WriteConfig("username: u, password: p");
  EXPECT_EQ(Must().authorization, "Basic dTpw");
}

TEST_F(Reading, APluginIsToldWhatItNeedsAndItsWordIsKept) {
  WritePlugin();
  prints = Credential(R"("token":"t","expirationTimestamp":"2026-01-01T00:10:00Z")");
  EXPECT_EQ(Must().authorization, "Bearer t");
  EXPECT_EQ(Must().authorization, "Bearer t");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].argv, (std::vector<std::string>{"login", "now"}));
  EXPECT_EQ(runs[0].env.at("WHO"), "me");
  EXPECT_TRUE(runs[0].secret_output);
  EXPECT_EQ(runs[0].env.at("KUBERNETES_EXEC_INFO"),
            R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":)"
            R"({"interactive":false,"cluster":{"server":"https://10.0.0.1:6443/api",)"
            R"("tls-server-name":"","insecure-skip-tls-verify":false,)"
            R"("certificate-authority-data":"Q0E=","proxy-url":"","disable-compression":false}}})");
  clock.Advance(10min);
  prints = Credential(R"("clientCertificateData":"C","clientKeyData":"K")");
  const ServerAccess access = Must();
  EXPECT_EQ(access.authorization, "");
  EXPECT_EQ(access.certificate, "C");
  EXPECT_EQ(access.key, "K");
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(Reading, APluginIsAskedAgainWhenItsWordIsRefused) {
  WritePlugin();
  prints = Credential(R"("token":"t")");
  const auto first = reader.Read(nullptr);
  ASSERT_TRUE(first.ok());
  clock.Advance(11s);
  prints = Credential(R"("token":"u")");
  const auto second = reader.Read(first->get());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ((*second)->authorization, "Bearer u");
  EXPECT_EQ(*reader.Read(first->get()), *second)
      << "the caller was refused with the credentials before";
  EXPECT_EQ(*reader.Read(second->get()), *second) << "it was asked just now";
  EXPECT_EQ(runs.size(), 2u);
}

TEST_F(Reading, APluginThatFailsIsNotRunAllTheTimeAndShowsNoSecret) {
  WritePlugin();
  EXPECT_EQ(Error(), "UNAUTHENTICATED exec plugin login: run: exit code 1; get it");
  EXPECT_EQ(Error(), "UNAUTHENTICATED exec plugin login: run: exit code 1; get it");
  EXPECT_EQ(runs.size(), 1u);
  for (const std::string& text :
       {std::string("hunter2"), Credential(""), Credential(R"("clientKeyData":"hunter2")"),
        Credential(R"("token":"hunter2","expirationTimestamp":"hunter2")"),
        std::string(R"({"kind":"ExecCredential","apiVersion":"v2","status":{"token":"hunter2"}})"),
        std::string(R"({"kind":"Other","status":{"token":"hunter2"}})")}) {
    clock.Advance(11s);
    prints = text;
    const std::string error = Error();
    EXPECT_EQ(error.find("UNAUTHENTICATED exec plugin login: answer: "), 0u) << error;
    EXPECT_EQ(error.find("hunter2"), std::string::npos) << error;
  }
}

TEST_F(Reading, ACredentialOfItsOwnNeedsNoPlugin) {
  WriteConfig("token: t, exec: {command: c, apiVersion: client.authentication.k8s.io/v1}");
  EXPECT_EQ(Must().authorization, "Bearer t");
  EXPECT_TRUE(runs.empty());
}

TEST(RetryAfter, IsSecondsOrADate) {
  const WallTime now{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
  EXPECT_EQ(ParseRetryAfter("7", now), 7s);
  EXPECT_EQ(ParseRetryAfter("0", now), 0s);
  EXPECT_EQ(ParseRetryAfter("Thu, 01 Jan 2026 00:01:00 GMT", now), 60s);
  EXPECT_EQ(ParseRetryAfter("Wed, 31 Dec 2025 00:01:00 GMT", now), 0s);
  EXPECT_EQ(ParseRetryAfter("99999999999", now), 24h);
  for (const char* text : {"", "-1", "soon", "1.5", "7 ", "Thu, 01 Jan"})
    EXPECT_EQ(ParseRetryAfter(text, now), std::nullopt) << text;
}

TEST_F(Reading, AFileOfAnotherUserMakesThisProcessRunAndReadNothing) {
  const uint32_t other = ::geteuid() + 1;
  const std::string whose =
      fmt::format("the file belongs to user {}, and neither to root nor to this process", other);
  const std::string plugin =
      "exec: {command: /bin/touch, apiVersion: client.authentication.k8s.io/v1}";
  const struct {
    const char* name;
    std::string user, cluster;
    uint32_t owner, mode;
    std::string want;  // empty: accepted
  } kCases[] = {
      {"a plugin", plugin, "", other, 0600, "users[u].user: exec: refused: " + whose},
      {"a plugin of root's file", plugin, "", 0, 0640, ""},
      {"a plugin of the process's own file", plugin, "", ::geteuid(), 0644, ""},
      {"a plugin that the group may write", plugin, "", 0, 0660,
       "users[u].user: exec: refused: users other than its owner can write the file (mode 0660)"},
      {"a plugin that anybody may write", plugin, "", 0, 0602,
       "users[u].user: exec: refused: users other than its owner can write the file (mode 0602)"},
      {"a file with a token", "tokenFile: t", "", other, 0600,
       "users[u].user: tokenFile: refused: " + whose},
      {"a token", "token: t", "", other, 0600, ""},
      {"an authority elsewhere", "token: t", ", certificate-authority: /root/ca", other, 0600,
       "clusters[c].cluster: certificate-authority: refused: /root/ca is outside of /etc, and " +
           whose},
      {"a certificate elsewhere", "client-certificate: ../root/c, client-key: k", "", other, 0600,
       "users[u].user: client-certificate: refused: /etc/../root/c is outside of /etc, and " +
           whose},
      {"a key elsewhere", "client-certificate: c, client-key: /root/k", "", other, 0600,
       "users[u].user: client-key: refused: /root/k is outside of /etc, and " + whose},
      {"both beside it", "client-certificate: c, client-key: pki/k", "", other, 0600, ""},
  };
  Write("/etc/c", "CERT");
  Write("/etc/pki/k", "KEY");
  Write("/etc/t", "t");
  Write("/root/ca", "CA");
  prints = Credential(R"("token":"t")");
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    WriteConfig(c.user, c.cluster);
    files.SetOwner(kKubeconfig, c.owner, c.mode);
    runs.clear();
    if (c.want.empty()) {
      EXPECT_NE(Must().server, "");
      continue;
    }
    EXPECT_EQ(Error(), "UNAVAILABLE /etc/kubelet.conf: " + c.want);
    EXPECT_TRUE(runs.empty());
  }
}

TEST_F(Reading, AFileIsJudgedAgainWhenItsOwnerChanges) {
  WriteConfig("token: old, tokenFile: t");
  EXPECT_EQ(Must().authorization, "Bearer old");
  files.SetOwner(kKubeconfig, ::geteuid() + 1, 0600);
  EXPECT_NE(Error().find("tokenFile: refused"), std::string::npos);
  files.SetOwner(kKubeconfig, ::geteuid(), 0600);
  EXPECT_EQ(Must().authorization, "Bearer old");
}

TEST_F(Reading, RunsOfAPluginAndItsCertificateHaveMetrics) {
  const std::string calls = "rest_client_exec_plugin_call_total";
  const std::string ttl = "rest_client_exec_plugin_ttl_seconds";
  const std::string rotation = "rest_client_exec_plugin_certificate_rotation_age";
  EXPECT_EQ(Metric(ttl), std::numeric_limits<double>::infinity());
  WritePlugin();
  exit_code = 3;
  Error();
  EXPECT_EQ(Metric(calls, "plugin_execution_error"), 1);
  EXPECT_EQ(Metric(calls, "3"), 1);
  exit_code = -1;
  prints = NotFound("no such file");
  clock.Advance(11s);
  Error();
  EXPECT_EQ(Metric(calls, "plugin_not_found_error"), 1);
  prints = DeadlineExceeded("no end");
  clock.Advance(11s);
  Error();
  EXPECT_EQ(Metric(calls, "client_internal_error"), 1);
  clock.Advance(11s);
  prints = Credential(PairFields());
  const auto first = reader.Read(nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(Metric(calls, "no_error"), 1);
  const double year = Metric(ttl);
  EXPECT_GT(year, 86400 * 364);
  clock.Advance(100s);
  Must();
  EXPECT_NEAR(Metric(ttl), year - 100, 1) << "it is measured again";
  EXPECT_EQ(Metric(rotation), 0);
  prints = Credential(PairFields());
  ASSERT_TRUE(reader.Read(first->get()).ok());
  EXPECT_EQ(Metric(rotation), 1);
  WriteConfig("token: t");
  Must();
  EXPECT_EQ(Metric(ttl), std::numeric_limits<double>::infinity()) << "no plugin is meant any more";
}

}  // namespace
}  // namespace splitlet::apiclient
