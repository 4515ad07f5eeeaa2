#include "services/status/identity/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libs/apiclient/kubeconfig.h"
#include "libs/base/fail_point.h"
#include "libs/exec/fake_exec.h"
#include "libs/fake_api/api_server.h"
#include "libs/fs/fake_file_system.h"
#include "libs/fs/path.h"
#include "libs/kube/time_text.h"
#include "libs/x509/request.h"

namespace splitlet::status {
namespace {

using ::testing::HasSubstr;

const std::string kConfig = "/etc/kubernetes/kubelet.conf";
const std::string kBootstrap = "/etc/kubernetes/bootstrap.conf";
const std::string kFolder = "/pki";
const std::string kCurrent = kFolder + "/kubelet-client-current.pem";

/// A node on fakes, with a cluster that signs on request.
class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() : authority_(MakeAuthority()) {
    api.SetSigning(false);  // only when a test does
    Write(kBootstrap,
          "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
          "clusters: [{name: k, cluster: {server: 'https://10.0.0.9:6443', "
          "certificate-authority: /etc/kubernetes/ca.crt}}]\n"
          "users: [{name: u, user: {token: abcdef.0123456789abcdef}}]\n"
          "contexts: [{name: c, context: {cluster: k, user: u}}]\n");
    options.node_name = "n1";
    options.kubeconfig = kConfig;
    options.bootstrap_kubeconfig = kBootstrap;
    options.cert_dir = kFolder;
  }
  ~IdentityTest() override {
    Kill();
    FailPoints::SetCurrent(nullptr);
  }

  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files.Replace(path, text, {}).ok());
  }
  void Start() {
    process_ = std::make_unique<Process>(all);
    IdentityDeps deps{.env = {.clock = clock,
                              .loop = process_->loop,
                              .strands = process_->strands,
                              .log = log,
                              .metrics = process_->registry},
                      .files = files,
                      .random = random,
                      .api = standalone ? nullptr : &api,
                      .bootstrap = options.bootstrap_kubeconfig.empty() ? nullptr : &bootstrap};
    process_->identity =
        std::make_unique<Identity>(std::move(deps), options, [this] { ++on_client_calls; });
    process_->loop.Post([this] { process_->identity->Start(); });
    all.RunUntilIdle();
  }
  void Kill() {
    if (process_ == nullptr) return;
    all.Drop(process_->owner);
    process_.reset();
  }
  Identity& identity() { return *process_->identity; }
  void Run(Duration duration) { all.Advance(duration); }
  void SetAddresses(std::vector<NodeAddress> addresses) {
    process_->loop.Post([this, a = std::move(addresses)] { identity().OnAddresses(a); });
    all.RunUntilIdle();
  }

  /// Signs all unanswered requests, as the controllers of a cluster do.
  void SignAll(Duration validity) {
    for (const std::string& path : api.List(kSigningRequests)) {
      SigningRequest object;
      ASSERT_TRUE(api.Get(path, object));
      if (object.status().conditions_size() > 0) continue;
      const bool server = object.spec().usages(1) == "server auth";
      const auto signed_by_us = authority_.Sign(
          object.spec().request(), server ? x509::Usage::kServer : x509::Usage::kClient,
          {clock.WallNow() - 5min, clock.WallNow() + validity});
      ASSERT_TRUE(signed_by_us.ok()) << signed_by_us.status();
      object.mutable_status()->set_certificate(*signed_by_us);
      Answer(path, object, "Approved");
    }
  }
  void DenyAll() {
    for (const std::string& path : api.List(kSigningRequests)) {
      SigningRequest object;
      ASSERT_TRUE(api.Get(path, object));
      if (object.status().conditions_size() > 0) continue;
      Answer(path, object, "Denied");
    }
  }
  void Answer(const std::string& path, SigningRequest& object, const std::string& type) {
    auto& condition = *object.mutable_status()->add_conditions();
    condition.set_type(type);
    condition.set_status("True");
    condition.set_reason("Test");
    api.Put(path, object);
  }
  size_t Requests() const { return api.List(kSigningRequests).size(); }
  std::string NameIn(const std::string& path) {
    const auto text = files.Read(path, 1 << 20);
    if (!text.ok()) return "none";
    const auto pair = x509::CheckPair(*text, *text);
    return pair.ok() ? pair->names.common_name : ToString(pair.status());
  }
  x509::Certificate CertificateIn(const std::string& path) {
    const auto text = files.Read(path, 1 << 20);
    const auto all_of_it = text.ok() ? x509::ReadCertificates(*text) : text.status();
    EXPECT_TRUE(all_of_it.ok()) << path << ": " << all_of_it.status();
    return all_of_it.ok() ? all_of_it->front() : x509::Certificate();
  }
  double Metric(const std::string& name) {
    for (const auto& family : process_->registry.Collect())
      if (family.name == name)
        return family.type == prometheus::MetricType::Counter ? family.metric.at(0).counter.value
                                                              : family.metric.at(0).gauge.value;
    return std::nan("");
  }
  /// As a node that was let in some time ago.
  void LetIn(Duration validity) {
    Start();
    Run(1s);
    SignAll(validity);
    Run(15s);
    ASSERT_TRUE(identity().has_client()) << identity().Trouble();
  }

  FakeClock clock;
  exec::Scheduler all{clock};
  fs::FakeFileSystem files{clock};
  fake_api::FakeApiServer api{clock};
  /// The same server, for who comes with a token.
  class Bootstrap final : public apiclient::Transport {
   public:
    explicit Bootstrap(apiclient::Transport& server) : server_(server) {}
    void Begin(apiclient::Request request, Deadline deadline, Done done) override {
      ++calls;
      server_.Begin(std::move(request), std::move(deadline), std::move(done));
    }
    void BeginStream(apiclient::Request request, Deadline deadline, OnData on_data,
                     Done done) override {
      server_.BeginStream(std::move(request), std::move(deadline), std::move(on_data),
                          std::move(done));
    }
    int calls = 0;

   private:
    apiclient::Transport& server_;
  } bootstrap{api};
  Random random{1};
  FakeLogSink sink;
  const Log log{sink};
  IdentityOptions options;
  bool standalone = false;
  int on_client_calls = 0;

 protected:
  struct Process {
    explicit Process(exec::Scheduler& all)
        : owner(all.NewOwner("status")), loop(all, owner), strands(loop) {}
    exec::Scheduler::Owner owner;
    exec::FakeLoop loop;
    exec::FakeStrands strands;
    prometheus::Registry registry;
    std::unique_ptr<Identity> identity;
  };
  static x509::Authority MakeAuthority() {
    const WallTime from{std::chrono::sys_days{std::chrono::year{2020} / 1 / 1}};
    return *x509::Authority::Make("cluster", x509::KeyKind::kEcP256, {from, from + 24h * 3650});
  }
  const x509::Authority authority_;
  std::unique_ptr<Process> process_;
};

TEST_F(IdentityTest, ABootstrapKubeconfigLetsTheNodeIn) {
  Start();
  Run(2s);
  ASSERT_EQ(Requests(), 1u);
  SigningRequest object;
  ASSERT_TRUE(api.Get(api.List(kSigningRequests).front(), object));
  EXPECT_TRUE(object.metadata().name().starts_with("node-csr-"));
  EXPECT_EQ(object.spec().signer_name(), "kubernetes.io/kube-apiserver-client-kubelet");
  EXPECT_FALSE(identity().has_client());
  EXPECT_THAT(identity().Trouble(), HasSubstr("is not signed yet"));
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client());
  EXPECT_EQ(identity().Trouble(), "");
  EXPECT_EQ(on_client_calls, 1);
  EXPECT_EQ(NameIn(kCurrent), "system:node:n1");
  EXPECT_FALSE(files.Stat(kFolder + "/kubelet-client.key.tmp", false).ok());
  const auto config = apiclient::LoadKubeconfig(files, kConfig, ::geteuid());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://10.0.0.9:6443");
  EXPECT_EQ(config->ca.file, "/etc/kubernetes/ca.crt");
  EXPECT_EQ(config->certificate.file, kCurrent);
  EXPECT_EQ(config->key.file, kCurrent);
  EXPECT_EQ(config->token, "");
}

TEST_F(IdentityTest, AKubeconfigForProcessesOfOtherUsersNamesNoFileElsewhere) {
  options.for_group = true;
  const std::string own = options.kubeconfig = kFolder + "/kubeconfig";
  Write("/etc/kubernetes/ca.crt", "CA");
  LetIn(24h);
  files.SetOwner(own, 1234, 0640);
  const auto config = apiclient::LoadKubeconfig(files, own, 0);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ca.data, "CA");
  EXPECT_EQ(config->certificate.file, kCurrent);
  Kill();
  // As a version before wrote it.
  Write(own,
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
        "clusters: [{name: k, cluster: {server: 'https://10.0.0.9:6443', "
        "certificate-authority: /etc/kubernetes/ca.crt}}]\n"
        "users: [{name: u, user: {client-certificate: " +
            kCurrent + ", client-key: " + kCurrent +
            "}}]\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n");
  files.SetOwner(own, 1234, 0640);
  EXPECT_FALSE(apiclient::LoadKubeconfig(files, own, 0).ok());
  Start();
  Run(1s);
  EXPECT_TRUE(identity().has_client());
  files.SetOwner(own, 1234, 0640);
  EXPECT_TRUE(apiclient::LoadKubeconfig(files, own, 0).ok()) << "it was written again";
}

TEST_F(IdentityTest, AFolderThatOthersWouldNotReadIsNamed) {
  options.for_group = true;
  options.kubeconfig = "/elsewhere/kubeconfig";
  Write("/etc/kubernetes/ca.crt", "CA");
  Start();
  Run(1s);
  SignAll(24h);
  Run(15s);
  EXPECT_THAT(identity().Trouble(), HasSubstr("is outside of the folder of /elsewhere/kubeconfig"));
  EXPECT_FALSE(files.Stat("/elsewhere/kubeconfig", false).ok());
}

TEST_F(IdentityTest, AGoodKubeconfigIsUsedAsItIs) {
  LetIn(24h);
  Kill();
  const int calls = bootstrap.calls;
  Start();
  EXPECT_TRUE(identity().has_client());
  Run(1h);
  EXPECT_EQ(bootstrap.calls, calls);
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(IdentityTest, WaitsForAServerThatIsAway) {
  api.SetAway(true);
  Start();
  Run(10min);
  EXPECT_EQ(Requests(), 0u);
  EXPECT_FALSE(identity().has_client());
  api.SetAway(false);
  Run(40s);
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client());
}

TEST_F(IdentityTest, AnAnswerThatIsLostIsFoundAgain) {
  api.Inject({.method = "POST", .prefix = kSigningRequests, .times = 1, .after_effect = true});
  Start();
  Run(10s);
  EXPECT_EQ(Requests(), 1u);  // not a second one
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client());
}

TEST_F(IdentityTest, WhatNobodySignsIsAskedForAnewWithAnotherKey) {
  Start();
  Run(14min);
  EXPECT_EQ(Requests(), 1u);
  Run(2min);
  EXPECT_EQ(Requests(), 2u);
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client());
}

TEST_F(IdentityTest, WhatIsDeniedIsAskedForAnewMoreAndMoreSlowly) {
  Start();
  bool reason_shown = false;
  for (int i = 0; i < 120; ++i) {
    if (i % 10 == 0) DenyAll();
    Run(1s);
    reason_shown = reason_shown || identity().Trouble().find("Denied: Test") != std::string::npos;
  }
  EXPECT_TRUE(reason_shown);
  EXPECT_GE(Requests(), 4u);
  EXPECT_LE(Requests(), 7u);  // after 2, 4, 8, 16 and 32 s
  SignAll(24h);
  Run(50s);
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client()) << identity().Trouble();
}

TEST_F(IdentityTest, ACertificateOfAnotherKeyIsNotTaken) {
  Start();
  Run(1s);
  SigningRequest object;
  const std::string path = api.List(kSigningRequests).front();
  ASSERT_TRUE(api.Get(path, object));
  const std::string request =
      *x509::MakeRequest(*x509::MakeKey(x509::KeyKind::kEcP256), ClientNames("n1"));
  object.mutable_status()->set_certificate(
      *authority_.Sign(request, x509::Usage::kClient, {clock.WallNow(), clock.WallNow() + 1h}));
  Answer(path, object, "Approved");
  Run(20s);
  EXPECT_FALSE(identity().has_client());
  EXPECT_EQ(Requests(), 2u);
}

TEST_F(IdentityTest, TheClientCertificateIsReplacedInTime) {
  options.rotate = true;
  LetIn(100h);
  const auto first = CertificateIn(kCurrent);
  Run(69h);
  EXPECT_EQ(Requests(), 1u);
  EXPECT_NEAR(Metric("kubelet_certificate_manager_client_ttl_seconds"), 31 * 3600, 120);
  for (int i = 0; i < 22 * 6 && Requests() == 1; ++i) Run(10min);
  ASSERT_EQ(Requests(), 2u);
  const int calls = bootstrap.calls;
  SignAll(100h);
  Run(15s);
  EXPECT_EQ(bootstrap.calls, calls);  // with what it has
  EXPECT_NE(CertificateIn(kCurrent).public_key, first.public_key);
  EXPECT_NEAR(Metric("kubelet_certificate_manager_client_ttl_seconds"), 100 * 3600, 120);
  EXPECT_EQ(Metric("kubelet_certificate_manager_client_expiration_renew_errors"), 0);
}

TEST_F(IdentityTest, RotationThatFailsIsCountedAndTriedAgain) {
  options.rotate = true;
  LetIn(1h);
  Run(40min);
  api.SetAway(true);
  Run(15min);
  EXPECT_GE(Metric("kubelet_certificate_manager_client_expiration_renew_errors"), 4);
  EXPECT_EQ(identity().Trouble(), "");
  api.SetAway(false);
  Run(1min);
  SignAll(100h);
  Run(15s);
  EXPECT_GT(CertificateIn(kCurrent).not_after, clock.WallNow() + 99h);
}

TEST_F(IdentityTest, WithoutRotationThereAreNoMetricsAndTheCertificateExpires) {
  LetIn(100h);
  EXPECT_TRUE(std::isnan(Metric("kubelet_certificate_manager_client_ttl_seconds")));
  Run(99h);
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(IdentityTest, AnExpiredCertificateIsReplacedByTheBootstrapKubeconfig) {
  options.rotate = true;
  LetIn(1h);
  api.SetAway(true);
  Run(61min);
  EXPECT_THAT(identity().Trouble(), HasSubstr("has expired"));
  api.SetAway(false);
  const int calls = bootstrap.calls;
  Run(1min);
  EXPECT_GT(bootstrap.calls, calls);
  SignAll(100h);
  Run(15s);
  EXPECT_EQ(identity().Trouble(), "");
  EXPECT_GT(CertificateIn(kCurrent).not_after, clock.WallNow() + 99h);
  EXPECT_FALSE(files.Stat(kFolder + "/kubelet-client.key.tmp", false).ok());
}

TEST_F(IdentityTest, AnExpiredCertificateIsReplacedAtStart) {
  LetIn(1h);
  Kill();
  all.Advance(2h);
  Start();
  Run(2s);
  EXPECT_FALSE(identity().has_client());
  SignAll(24h);
  Run(15s);
  EXPECT_TRUE(identity().has_client()) << identity().Trouble();
}

TEST_F(IdentityTest, AClockThatJumpsCostsAtMostARequest) {
  options.rotate = true;
  for (const Duration jump : {Duration{1h}, Duration{-1h}}) {
    for (const auto& path : api.List(kSigningRequests)) api.Remove(path);
    for (const auto& file : files.List(kFolder).value_or(std::vector<fs::DirEntry>()))
      ASSERT_TRUE(files.Remove(kFolder + "/" + file.name).ok());
    ASSERT_TRUE(files.Remove(kConfig).ok());
    Kill();
    LetIn(24h);
    clock.SetWall(clock.WallNow() + jump);
    Run(10min);
    EXPECT_EQ(identity().Trouble(), "");
    clock.SetWall(clock.WallNow() - jump);
    Run(10min);
    EXPECT_EQ(identity().Trouble(), "");
    EXPECT_EQ(Requests(), 1u);
  }
}

TEST_F(IdentityTest, AClockThatIsWrongAsksForNoCertificatesWithoutEnd) {
  options.rotate = true;
  Start();
  Run(1s);
  SignAll(-1min);  // expired already, by the clock of this node
  for (int i = 0; i < 60; ++i) {
    Run(1min);
    SignAll(-1min);
  }
  EXPECT_LE(Requests(), 6u);
}

class OwnKubeconfig : public IdentityTest {
 protected:
  OwnKubeconfig() : chain_(Signed()) {
    options.rotate = true;
    options.bootstrap_kubeconfig.clear();
  }
  /// Whose user is `user`.
  void WriteConfig(const std::string& user) {
    Write(kConfig,
          "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
          "clusters: [{name: k, cluster: {server: 'https://10.0.0.9:6443'}}]\n"
          "users: [{name: u, user: {" +
              user +
              "}}]\n"
              "contexts: [{name: c, context: {cluster: k, user: u}}]\n");
  }
  std::string Signed() const {
    const auto request = x509::MakeRequest(key_, ClientNames("n1"));
    return *authority_.Sign(*request, x509::Usage::kClient,
                            {clock.WallNow(), clock.WallNow() + 24h});
  }
  const std::string key_ = x509::MakeKey(x509::KeyKind::kEcP256).value_or("");
  const std::string chain_;
};

TEST_F(OwnKubeconfig, WithoutACertificateIsLeftAlone) {
  WriteConfig("token: t");
  Start();
  Run(1h);
  EXPECT_TRUE(identity().has_client());
  EXPECT_EQ(Requests(), 0u);
}

TEST_F(OwnKubeconfig, WithFilesOfItsOwnIsUsedUntilItsTimeHasCome) {
  Write("/c.pem", chain_);
  Write("/k.pem", key_);
  WriteConfig("client-certificate: /c.pem, client-key: /k.pem");
  Start();
  Run(16h);
  EXPECT_TRUE(identity().has_client());
  EXPECT_EQ(Requests(), 0u);
  EXPECT_EQ(NameIn(kCurrent), "none");
}

TEST_F(OwnKubeconfig, WithACertificateWithinIsSavedAndReplacedAtOnce) {
  WriteConfig("client-certificate-data: " + kube::EncodeBase64(chain_) +
              ", client-key-data: " + kube::EncodeBase64(key_));
  Start();
  EXPECT_TRUE(identity().has_client());
  EXPECT_EQ(*x509::PublicKeyOf(*files.Read(kCurrent, 1 << 20)), *x509::PublicKeyOf(key_));
  EXPECT_EQ(Requests(), 1u);
  Run(2s);
  SignAll(24h);
  Run(15s);
  EXPECT_NE(CertificateIn(kCurrent).public_key, *x509::PublicKeyOf(key_));
  Kill();
  Start();
  Run(1min);
  EXPECT_EQ(Requests(), 1u);
}

/// A node of kubeadm: the flag names a bootstrap kubeconfig, whose file is long gone.
TEST_F(OwnKubeconfig, ThatIsThereIsNeverWrittenAnew) {
  options.bootstrap_kubeconfig = kBootstrap;
  ASSERT_TRUE(files.Remove(kBootstrap).ok());
  WriteConfig("client-certificate-data: " + kube::EncodeBase64(chain_) +
              ", client-key-data: " + kube::EncodeBase64(key_));
  const std::string before = *files.Read(kConfig, 1 << 20);
  Start();
  Run(2s);
  SignAll(48h);
  Run(15s);
  EXPECT_NE(CertificateIn(kCurrent).public_key, *x509::PublicKeyOf(key_)) << "it was rotated";
  EXPECT_EQ(*files.Read(kConfig, 1 << 20), before);
  EXPECT_EQ(identity().Trouble(), "");
  for (const auto& line : sink.lines()) EXPECT_NE(line.message, "cannot write the kubeconfig");
  // The inlined certificate has expired when status starts again.
  Kill();
  Run(25h);
  Start();
  Run(1min);
  EXPECT_TRUE(identity().has_client());
  EXPECT_EQ(identity().Trouble(), "");
  EXPECT_EQ(*files.Read(kConfig, 1 << 20), before);
  for (const auto& line : sink.lines()) EXPECT_NE(line.message, "cannot write the kubeconfig");
}

TEST_F(IdentityTest, TheServingCertificateFollowsTheAddresses) {
  options.server_bootstrap = true;
  LetIn(24h);
  const std::string current = kFolder + "/kubelet-server-current.pem";
  EXPECT_EQ(identity().serving_certificate_file(), current);
  SetAddresses({{"Hostname", "n1"}});
  Run(10min);
  EXPECT_EQ(Requests(), 1u);  // no signer accepts a request without an address
  SetAddresses({{"InternalIP", "10.0.0.1"}, {"Hostname", "n1"}});
  ASSERT_EQ(Requests(), 2u);
  EXPECT_EQ(Metric("kubelet_certificate_manager_server_ttl_seconds"),
            std::numeric_limits<double>::infinity());
  SignAll(24h);
  Run(15s);
  EXPECT_EQ(CertificateIn(current).names.addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(CertificateIn(current).names.dns, std::vector<std::string>{"n1"});
  SetAddresses({{"InternalIP", "10.0.0.2"}, {"Hostname", "n1"}});
  ASSERT_EQ(Requests(), 3u);
  SetAddresses({{"InternalIP", "10.0.0.3"}, {"Hostname", "n1"}});  // while it waits
  ASSERT_EQ(Requests(), 4u);
  SignAll(24h);
  Run(15s);
  EXPECT_EQ(CertificateIn(current).names.addresses, std::vector<std::string>{"10.0.0.3"});
  SetAddresses({{"InternalIP", "10.0.0.3"}});
  Run(1h);
  EXPECT_EQ(Requests(), 4u);  // one name less needs no other certificate
}

TEST_F(IdentityTest, WithoutFilesTheServerSignsForItself) {
  standalone = true;
  options.self_signed = true;
  Start();
  Run(5s);
  EXPECT_FALSE(files.Stat(kFolder + "/kubelet.crt", false).ok());
  SetAddresses({{"InternalIP", "10.0.0.1"}, {"Hostname", "n1"}});
  const auto made = CertificateIn(kFolder + "/kubelet.crt");
  EXPECT_EQ(made.names.dns, std::vector<std::string>{"n1"});
  EXPECT_EQ(made.names.addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_TRUE(x509::CheckPair(*files.Read(kFolder + "/kubelet.crt", 1 << 20),
                              *files.Read(kFolder + "/kubelet.key", 1 << 20))
                  .ok());
  Kill();
  Run(24h * 400);
  Start();
  SetAddresses({{"InternalIP", "10.0.0.2"}});
  EXPECT_EQ(CertificateIn(kFolder + "/kubelet.crt").public_key, made.public_key);
}

TEST_F(IdentityTest, WhatAnEarlierStartWasWritingGoes) {
  options.self_signed = true;
  const std::vector<std::string> left = {
      kFolder + "/.kubelet.key.new", kFolder + "/.kubelet.crt.new",
      kFolder + "/.kubelet-client-2026-01-01-00-00-00.pem.new", fs::NewContentPath(kConfig)};
  for (const auto& path : left) Write(path, "half");
  Start();
  Run(20s);
  for (const auto& path : left) EXPECT_FALSE(files.Stat(path, false).ok()) << path;
}

TEST_F(IdentityTest, ANodeWithoutAddressSignsForItsName) {
  standalone = true;
  options.self_signed = true;
  Start();
  Run(14s);
  EXPECT_FALSE(files.Stat(kFolder + "/kubelet.crt", false).ok());
  Run(2s);
  EXPECT_EQ(CertificateIn(kFolder + "/kubelet.crt").names.dns, std::vector<std::string>{"n1"});
}

TEST_F(IdentityTest, ACertificateWithoutAKeyIsLeftAlone) {
  standalone = true;
  options.self_signed = true;
  Write(kFolder + "/kubelet.crt", "somebody's");
  Start();
  Run(1min);
  EXPECT_THAT(identity().Trouble(), HasSubstr("must be supplied as a pair"));
  EXPECT_EQ(*files.Read(kFolder + "/kubelet.crt", 100), "somebody's");
}

/// Killed at each point that it passes on its way in, the node gets in by one request alone.
TEST_F(IdentityTest, KilledAnywhereItGoesOn) {
  const std::vector<std::string> points = {
      "status.save-key.before",         "status.save-key.after",
      "status.ask-certificate.before",  "status.ask-certificate.after",
      "status.save-certificate.before", "status.save-certificate.after",
      "status.link-certificate.before", "status.link-certificate.between",
      "status.link-certificate.after",  "status.write-kubeconfig.before",
      "status.write-kubeconfig.after",
  };
  bool died = false;
  all.SetAfterStep([&died](const auto&, bool crashed) { died = died || crashed; });
  for (const std::string& point : points) {
    FailPoints armed(FailPoints::Actions{.crash = [] { throw exec::Scheduler::CrashedHere{}; },
                                         .delay = [](int64_t) {}});
    FailPoints::SetCurrent(&armed);
    ASSERT_TRUE(armed.Set(point, "1*crash->off").ok());
    for (const auto& path : api.List(kSigningRequests)) api.Remove(path);
    for (const auto& file : files.List(kFolder).value_or(std::vector<fs::DirEntry>()))
      ASSERT_TRUE(files.Remove(kFolder + "/" + file.name).ok());
    ASSERT_TRUE(files.Remove(kConfig).ok());
    died = false;
    int deaths = 0;
    Start();
    for (int i = 0; i < 40; ++i) {
      Run(1s);
      if (i > 3) SignAll(24h);
      if (!died) continue;
      died = false;
      ++deaths;
      Kill();
      Start();
    }
    EXPECT_EQ(deaths, 1) << point;
    EXPECT_TRUE(identity().has_client()) << point << ": " << identity().Trouble();
    EXPECT_EQ(NameIn(kCurrent), "system:node:n1") << point;
    EXPECT_EQ(Requests(), 1u) << point;
    EXPECT_FALSE(files.Stat(kFolder + "/kubelet-client.key.tmp", false).ok()) << point;
    EXPECT_TRUE(apiclient::LoadKubeconfig(files, kConfig, ::geteuid()).ok()) << point;
    Kill();
    FailPoints::SetCurrent(nullptr);
  }
}

}  // namespace
}  // namespace splitlet::status
