#include "libs/apiclient/access.h"

#include <algorithm>
#include <utility>

#include "libs/base/trim.h"
#include "libs/kube/time_text.h"
#include "libs/x509/certificate.h"

namespace splitlet::apiclient {
namespace {

constexpr uint64_t kMaxFile = 4u << 20;

std::string HostOf(const std::string& server) {
  const size_t at = server.find("://");
  const std::string rest = server.substr(at == std::string::npos ? 0 : at + 3);
  return rest.substr(0, rest.find('/'));
}

/// False if the text has a control character: a line end would also end the HTTP header.
bool IsOneLine(const std::string& text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

}  // namespace

std::string BasicAuthorization(const std::string& user, const std::string& password) {
  return "Basic " + kube::EncodeBase64(user + ":" + password);
}

StatusOr<std::shared_ptr<const ServerAccess>> AccessReader::Read(const ServerAccess* refused) {
  const auto config = ReadConfig();
  if (!config.ok()) return config.status();
  auto access = Make(**config, refused);
  if (!access.ok()) return access.status();
  if (last_ == nullptr || *last_ != *access) last_ = std::make_shared<const ServerAccess>(*access);
  return last_;
}

StatusOr<const ClientConfig*> AccessReader::ReadConfig() {
  const auto owned = deps_.files.ReadOwned(kubeconfig_, kMaxFile);
  if (!owned.ok()) {
    const Status missing = Unavailable("{}: {}", kubeconfig_, Message(owned.status()));
    const bool being_made =
        owned.status().code() == StatusCode::kNotFound && deps_.clock.Now() < made_by_;
    return being_made ? Awaited(missing) : missing;
  }
  std::string why_not_trusted = WhyNotTrusted(*owned, deps_.user);
  if (config_ && owned->text == text_ && why_not_trusted == why_not_trusted_) return &*config_;
  auto config = ReadKubeconfig(owned->text, kubeconfig_, why_not_trusted);
  if (!config.ok())
    return Unavailable("{}", Message(config.status()));  // a person may repair the file
  if (!config_ || config_->exec != config->exec) plugin_.Forget();
  config_ = std::move(*config);
  text_ = owned->text;
  why_not_trusted_ = std::move(why_not_trusted);
  return &*config_;
}

StatusOr<std::string> AccessReader::ReadPem(const Pem& pem) {
  if (pem.file.empty()) return pem.data;
  auto text = deps_.files.Read(pem.file, kMaxFile);
  if (!text.ok()) return Unavailable("{}: {}", pem.file, Message(text.status()));
  return text;
}

/// False: no such file, or the node could not log in with it.
bool AccessReader::UseRotated(ServerAccess& access) {
  if (rotated_.empty()) return false;
  auto text = deps_.files.Read(rotated_, kMaxFile);
  if (!text.ok()) return false;
  if (*text != rotated_text_) {
    const auto pair = x509::CheckPair(*text, *text);
    rotated_until_ = pair.ok() ? pair->not_after : WallTime{};
    rotated_text_ = *text;
  }
  if (rotated_until_ <= deps_.clock.WallNow()) return false;
  access.certificate = access.key = std::move(*text);
  return true;
}

StatusOr<ServerAccess> AccessReader::Make(const ClientConfig& config, const ServerAccess* refused) {
  ServerAccess access{.server = config.server,
                      .host = HostOf(config.server),
                      .tls_server_name = config.tls_server_name,
                      .insecure = config.insecure,
                      .compression = config.compression,
                      .proxy_url = config.proxy_url};
  ASSIGN_OR_RETURN(access.ca, ReadPem(config.ca), "certificate authority");
  if (config.certificate.empty() || !UseRotated(access)) {
    ASSIGN_OR_RETURN(access.certificate, ReadPem(config.certificate), "client certificate");
    ASSIGN_OR_RETURN(access.key, ReadPem(config.key), "client key");
  }
  const Status added = AddCredentials(config, refused, access);
  if (!added.ok()) return added;
  return access;
}

Status AccessReader::AddCredentials(const ClientConfig& config, const ServerAccess* refused,
                                    ServerAccess& access) {
  if (!config.user.empty()) {
    access.authorization = BasicAuthorization(config.user, config.password);
    return OkStatus();
  }
  std::string token = config.token;
  std::string source = kubeconfig_;
  if (!config.token_file.empty()) {
    // The kubeconfig's own token counts if the file cannot be read.
    auto text = deps_.files.Read(config.token_file, kMaxFile);
    if (text.ok()) token = Trimmed(*text);
    if (text.ok()) source = config.token_file;
    if (!text.ok() && token.empty())
      return Unavailable("token: {}: {}", config.token_file, Message(text.status()));
  }
  const bool has_own = !token.empty() || !access.certificate.empty();
  if (config.exec && !has_own) {
    // The server refused the plugin's credentials, unless the plugin has new ones since.
    const bool again = refused != nullptr && last_ != nullptr && *refused == *last_;
    ASSIGN_OR_RETURN(const PluginAnswer answer, plugin_.Get(config, access.ca, again),
                     "exec plugin {}", config.exec->command);
    token = answer.token;
    source = "exec plugin " + config.exec->command;
    access.certificate = answer.certificate;
    access.key = answer.key;
  }
  if (!IsOneLine(token)) return Unauthenticated("{}: the token is not one line of text", source);
  if (!token.empty()) access.authorization = "Bearer " + token;
  return OkStatus();
}

}  // namespace splitlet::apiclient
