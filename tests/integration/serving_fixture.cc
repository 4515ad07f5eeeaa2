#include "tests/integration/serving_fixture.h"

#include "tests/harness/free_port.h"

namespace splitlet::integration {

void ServingTest::StartNodeToServe(const std::string& more_config,
                                   const std::map<std::string, uint32_t>& users) {
  port_ = harness::FreePort();
  harness::WriteFile(files_ / "clients.pem", ca_.certificate_pem());
  harness::WriteFile(files_ / "server.pem", server_.certificate_pem());
  harness::WriteFile(files_ / "server.key", server_.key_pem());
  StartNode({.config = fmt::format(
                 "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                 "fileCheckFrequency: 2s\nsyncFrequency: 10s\nfailSwapOn: false\n"
                 "evictionHard: {{}}\naddress: 127.0.0.1\nport: {}\nhealthzPort: 0\n"
                 "tlsCertFile: {}\ntlsPrivateKeyFile: {}\n"
                 "authentication: {{webhook: {{enabled: false}}, x509: {{clientCAFile: {}}}}}\n"
                 "authorization: {{mode: AlwaysAllow}}\n{}",
                 port_, files_ / "server.pem", files_ / "server.key", files_ / "clients.pem",
                 more_config.empty() ? "splitlet: {machineSetup: false}\n" : more_config),
             .users = users});
}

std::unique_ptr<https::TestClient> ServingTest::Connect() {
  auto client = std::make_unique<https::TestClient>(port_);
  if (!client->connected || !client->Handshake({.identity = &client_})) return nullptr;
  return client;
}

std::string ServingTest::Ask(const std::string& method, const std::string& target,
                             const std::string& sent) {
  const auto client = Connect();
  if (client == nullptr) return "";
  client->Write(fmt::format(
      "{} {} HTTP/1.1\r\nHost: node\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", method,
      target, sent.size(), sent));
  const std::string answer = client->ReadAll();
  const size_t body = answer.find("\r\n\r\n");
  if (body == std::string::npos) return "";
  return answer.substr(9, 3) + " " + answer.substr(body + 4);
}

}  // namespace splitlet::integration
