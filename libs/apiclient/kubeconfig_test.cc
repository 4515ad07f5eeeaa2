#include "libs/apiclient/kubeconfig.h"

#include <gtest/gtest.h>

#include "libs/fs/fake_file_system.h"
#include "libs/kube/time_text.h"

namespace splitlet::apiclient {
namespace {

const std::string kFile = "/etc/kubernetes/kubelet.conf";

std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "clusters:\n- name: c\n  cluster: {" +
         cluster + "}\n- name: other\n  cluster: {server: 'https://other'}\n" +
         "users:\n- name: u\n  user: {" + user + "}\n" +
         "contexts:\n- name: there\n  context: {cluster: other, user: u}\n"
         "- name: here\n  context: {cluster: c, user: u, namespace: pods}\n";
}

ClientConfig MustRead(const std::string& cluster, const std::string& user) {
  auto read = ReadKubeconfig(Config(cluster, user), kFile);
  EXPECT_TRUE(read.ok()) << read.status();
  return read.value_or(ClientConfig{});
}

TEST(Kubeconfig, TheCurrentContextDecides) {
  const auto config =
      MustRead("server: 'https://10.0.0.1:6443/', tls-server-name: api", "token: t");
  EXPECT_EQ(config.server, "https://10.0.0.1:6443");
  EXPECT_EQ(config.tls_server_name, "api");
  EXPECT_EQ(config.token, "t");
  EXPECT_TRUE(config.ca.empty());
  EXPECT_TRUE(config.compression);
}

TEST(Kubeconfig, PathsCountFromTheFile) {
  const auto config = MustRead(
      "server: 'https://s', certificate-authority: pki/ca.crt, proxy-url: 'http://p:1', "
      "disable-compression: true",
      "client-certificate: /var/c.pem, client-key: ../k.pem, tokenFile: token");
  EXPECT_EQ(config.ca.file, "/etc/kubernetes/pki/ca.crt");
  EXPECT_EQ(config.certificate.file, "/var/c.pem");
  EXPECT_EQ(config.key.file, "/etc/kubernetes/../k.pem");
  EXPECT_EQ(config.token_file, "/etc/kubernetes/token");
  EXPECT_EQ(config.proxy_url, "http://p:1");
  EXPECT_FALSE(config.compression);
}

TEST(Kubeconfig, DataInTheFileWinsOverFiles) {
  const std::string data = kube::EncodeBase64("PEM");
  const auto config = MustRead(
      "server: 'https://s', certificate-authority: ca, certificate-authority-data: " + data,
      "client-certificate: c, client-certificate-data: " + data +
          ", client-key: k, client-key-data: " + data);
  for (const Pem* pem : {&config.ca, &config.certificate, &config.key}) {
    EXPECT_EQ(pem->data, "PEM");
    EXPECT_EQ(pem->file, "");
  }
}

TEST(Kubeconfig, AProgramMaySayTheCredentials) {
  const auto config = MustRead(
      "server: 'https://s'",
      "exec: {command: bin/login, args: [a, b], env: [{name: WHO, value: v}], installHint: h, "
      "interactiveMode: Never, provideClusterInfo: true, "
      "apiVersion: client.authentication.k8s.io/v1}");
  ASSERT_TRUE(config.exec);
  EXPECT_EQ(config.exec->command, "/etc/kubernetes/bin/login");
  EXPECT_EQ(config.exec->args, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.exec->env.at("WHO"), "v");
  EXPECT_TRUE(config.exec->provide_cluster_info);
  EXPECT_EQ(MustRead("server: 'https://s'",
                     "exec: {command: login, apiVersion: client.authentication.k8s.io/v1beta1}")
                .exec->command,
            "login");
}

TEST(Kubeconfig, WhatIsWrongIsNamedAndNoSecretIsShown) {
  const std::string good = "server: 'https://s'";
  const struct {
    std::string text, want;
  } kCases[] = {
      {"x", kFile},
      {"apiVersion: v1\nkind: Config\n", "current-context: missing"},
      {"apiVersion: v1\nkind: Config\ncurrent-context: x\n", "there is no context \"x\""},
      {"apiVersion: v1\nkind: Config\ncurrent-context: x\ncontexts: [{name: x, context: {cluster: "
       "c}}]\n",
       "contexts[x].context.cluster: there is no cluster \"c\""},
      {"apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: "
       "'http://s'}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n",
       "contexts[x].context.user: there is no user \"u\""},
      {Config("", ""), "clusters[c].cluster: server: missing"},
      {Config("server: s", ""), "server: \"s\" begins with neither"},
      {Config("server: 'https://'", ""), "server: \"https://\" is not the address"},
      {Config("server: 'https://a b'", ""), "is not the address"},
      {Config(good + ", insecure-skip-tls-verify: true, certificate-authority: ca", ""),
       "insecure-skip-tls-verify: not together with certificate-authority"},
      {Config(good + ", proxy-url: 'ftp://p'", ""), "proxy-url: want http://"},
      {Config(good, "as: admin"), "users[u].user: as: "},
      {Config(good, "auth-provider: {name: gcp}"), "auth-provider: "},
      {Config(good, "client-certificate: c"), "client-key: missing"},
      {Config(good, "client-key: k"), "client-certificate: missing"},
      {Config(good, "username: u, password: hunter2, token: hunter2"), "username: not together"},
      {Config(good, "exec: {}"), "exec: command: missing"},
      {Config(good, "exec: {command: c, apiVersion: client.authentication.k8s.io/v1alpha1}"),
       "exec: apiVersion: want one of "},
      {Config(good,
              "exec: {command: c, interactiveMode: Always, apiVersion: "
              "client.authentication.k8s.io/v1}"),
       "interactiveMode: Always"},
      {Config(good, "client-key-data: 'hunter2!', client-certificate-data: aGVsbG8="), kFile},
  };
  for (const auto& c : kCases) {
    const auto read = ReadKubeconfig(c.text, kFile);
    ASSERT_FALSE(read.ok()) << c.text;
    const std::string text = Message(read.status());
    EXPECT_NE(text.find(c.want), std::string::npos) << text << "\nwant " << c.want;
    EXPECT_EQ(text.find(kFile), 0u) << text;
    EXPECT_EQ(text.find("hunter2"), std::string::npos) << text;
  }
}

TEST(Kubeconfig, IsReadFromItsFile) {
  FakeClock clock;
  fs::FakeFileSystem files(clock);
  EXPECT_EQ(LoadKubeconfig(files, kFile, ::geteuid()).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(files.Replace(kFile, Config("server: 'https://s'", "token: t"), {}).ok());
  EXPECT_EQ(LoadKubeconfig(files, kFile, ::geteuid())->token, "t");
}

}  // namespace
}  // namespace splitlet::apiclient
