#include "services/node-api/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/daemon/service.h"

namespace splitlet::node_api {
namespace {

using testing::HasSubstr;

TEST(NodeApiConfig, WhichCertificateIsServed) {
  const struct {
    const char* name;
    bool bootstrap;
    std::string certificate, key;
    std::pair<std::string, std::string> want;
  } kCases[] = {
      {"one of our own", false, "", "", {"/pki/kubelet.crt", "/pki/kubelet.key"}},
      {"one that is given", false, "/a.crt", "/a.key", {"/a.crt", "/a.key"}},
      {"half of a pair is none", false, "/a.crt", "", {"/a.crt", ""}},
      {"one that the API server signs, and no other until then",
       true,
       "",
       "",
       {"/pki/kubelet-server-current.pem", "/pki/kubelet-server-current.pem"}},
      {"also where one is given",
       true,
       "/a.crt",
       "/a.key",
       {"/pki/kubelet-server-current.pem", "/pki/kubelet-server-current.pem"}},
  };
  daemon::Flags flags;
  flags.cert_dir = "/pki";
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    config::KubeletConfig file;
    file.api.server_tls_bootstrap = c.bootstrap;
    file.server.tls_cert_file = c.certificate;
    file.server.tls_key_file = c.key;
    const auto config = LoadNodeApiConfig(file, flags, "");
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->certificate, c.want);
  }
}

TEST(NodeApiConfig, WhichHandlersAreOn) {
  const auto load = [](const std::string& content) {
    return LoadNodeApiConfig({}, {}, content).value().handlers;
  };
  EXPECT_TRUE(load("").profiles && load("").flags);
  EXPECT_FALSE(load("enableProfilingHandler: false\n").profiles);
  EXPECT_TRUE(load("enableProfilingHandler: false\n").flags);
  EXPECT_FALSE(load("enableDebugFlagsHandler: false\n").flags);
}

TEST(NodeApiConfig, ACertificateThatIsGivenIsReadOnceWithoutItsFeatureGate) {
  config::KubeletConfig file;
  const auto reloads = [&file] { return LoadNodeApiConfig(file, {}, "")->reload_certificate; };
  file.server.tls_cert_file = "/s.crt";
  file.server.tls_key_file = "/s.key";
  EXPECT_TRUE(reloads());
  file.gates = config::FeatureGates({{"ReloadKubeletServerCertificateFile", false}});
  EXPECT_FALSE(reloads());
  file.api.server_tls_bootstrap = true;
  EXPECT_TRUE(reloads()) << "it is renewed";
  file.api.server_tls_bootstrap = false;
  file.server.tls_cert_file.clear();
  EXPECT_TRUE(reloads()) << "it is the node's own";
}

TEST(NodeApiConfig, ACertificateThatTheNodeMakesIsWaitedForAsLongAsItTakes) {
  config::KubeletConfig file;
  const auto patience = [&file] { return LoadNodeApiConfig(file, {}, "")->certificate_patience; };
  EXPECT_EQ(patience(), Duration{30s}) << "the node's addresses";
  file.api.server_tls_bootstrap = true;
  EXPECT_EQ(patience(), Duration{15min}) << "a person may have to approve it";
  file.api.server_tls_bootstrap = false;
  file.server.tls_cert_file = "/s.crt";
  EXPECT_EQ(patience(), Duration{0});
}

TEST(NodeApiConfig, FeatureGatesAreHandlersToo) {
  config::KubeletConfig file;
  EXPECT_TRUE(LoadNodeApiConfig(file, {}, "")->handlers.checkpoint);
  file.gates = config::FeatureGates(
      {{"ComponentFlagz", false}, {"ContainerCheckpoint", false}, {"ComponentStatusz", true}});
  const auto handlers = LoadNodeApiConfig(file, {}, "")->handlers;
  EXPECT_FALSE(handlers.flagz);
  EXPECT_TRUE(handlers.statusz);
  EXPECT_FALSE(handlers.checkpoint);
}

TEST(NodeApiConfig, WhatEndsTheStart) {
  const daemon::Flags flags;
  config::KubeletConfig file;
  file.server.authorization = "Maybe";
  EXPECT_THAT(Message(LoadNodeApiConfig(file, flags, "").status()),
              HasSubstr("unknown authorization mode Maybe"));
  file.server.authorization = "Webhook";
  file.server.webhook_authentication = false;
  EXPECT_THAT(Message(LoadNodeApiConfig(file, flags, "").status()),
              HasSubstr("no authentication method configured"));
}

}  // namespace
}  // namespace splitlet::node_api
