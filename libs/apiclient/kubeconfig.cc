#include "libs/apiclient/kubeconfig.h"

#include <algorithm>

#include "libs/base/one_line.h"
#include "libs/fs/path.h"
#include "libs/kube/codec.h"
#include "splitlet/v1/kubeconfig.pb.h"

namespace splitlet::apiclient {

namespace {

constexpr uint64_t kMaxKubeconfig = 4u << 20;
constexpr uint32_t kWritableByOthers = 0022;
constexpr std::string_view kExecVersions[] = {"client.authentication.k8s.io/v1",
                                              "client.authentication.k8s.io/v1beta1"};

template <class List>
auto FindNamed(const List& list, const std::string& name) {
  return std::find_if(list.begin(), list.end(),
                      [&name](const auto& one) { return one.name() == name; });
}

/// Reads one context of a file; an error begins with the path of its field.
class Reader {
 public:
  Reader(std::string folder, const std::string& why_not_trusted)
      : folder_(std::move(folder)), why_not_trusted_(why_not_trusted) {}

  Status Read(const v1::KubeConfig& file) {
    const std::string& wanted = file.current_context();
    if (wanted.empty()) return InvalidArgument("current-context: missing");
    const auto context = FindNamed(file.contexts(), wanted);
    if (context == file.contexts().end())
      return InvalidArgument("current-context: there is no context \"{}\"", OneLine(wanted));
    const auto cluster = FindNamed(file.clusters(), context->context().cluster());
    if (cluster == file.clusters().end())
      return InvalidArgument("contexts[{0}].context.cluster: there is no cluster \"{1}\"",
                             OneLine(wanted), OneLine(context->context().cluster()));
    RETURN_IF_ERROR(ReadCluster(cluster->cluster()), "clusters[{}].cluster",
                    OneLine(cluster->name()));
    if (context->context().user().empty()) return OkStatus();
    const auto user = FindNamed(file.users(), context->context().user());
    if (user == file.users().end())
      return InvalidArgument("contexts[{0}].context.user: there is no user \"{1}\"",
                             OneLine(wanted), OneLine(context->context().user()));
    RETURN_IF_ERROR(ReadUser(user->user()), "users[{}].user", OneLine(user->name()));
    return OkStatus();
  }
  ClientConfig Take() { return std::move(out_); }

 private:
  Status ReadCluster(const v1::KubeCluster& cluster) {
    RETURN_IF_ERROR(ReadServer(cluster.server()), "server");
    out_.tls_server_name = cluster.tls_server_name();
    out_.insecure = cluster.insecure_skip_tls_verify();
    out_.proxy_url = cluster.proxy_url();
    out_.compression = !cluster.disable_compression();
    out_.ca = {Absolute(cluster.certificate_authority()), cluster.certificate_authority_data()};
    if (out_.insecure && !out_.ca.empty())
      return InvalidArgument(
          "insecure-skip-tls-verify: not together with certificate-authority, which would not be "
          "used");
    if (!out_.ca.data.empty()) out_.ca.file.clear();
    RETURN_IF_ERROR(CheckInside(out_.ca.file), "certificate-authority");
    for (const char* scheme : {"http://", "https://", "socks5://"})
      if (out_.proxy_url.empty() || out_.proxy_url.starts_with(scheme)) return OkStatus();
    return InvalidArgument("proxy-url: want http://, https:// or socks5://");
  }

  Status ReadServer(const std::string& server) {
    if (server.empty()) return InvalidArgument("missing");
    const bool secure = server.starts_with("https://");
    if (!secure && !server.starts_with("http://"))
      return InvalidArgument("\"{}\" begins with neither https:// nor http://", OneLine(server));
    const std::string_view rest =
        std::string_view(server).substr(std::string_view(secure ? "https://" : "http://").size());
    if (rest.empty() || rest.front() == '/' || rest.find_first_of(" \t\r\n?#@") != rest.npos)
      return InvalidArgument("\"{}\" is not the address of a server", OneLine(server));
    out_.server = server.substr(0, server.find_last_not_of('/') + 1);
    return OkStatus();
  }

  Status ReadUser(const v1::KubeUser& user) {
    if (!user.as().empty())
      return InvalidArgument("as: not supported, a node does not impersonate");
    if (user.has_auth_provider())
      return InvalidArgument("auth-provider: replaced by exec plugins, and not supported");
    if (user.has_exec()) RETURN_IF_ERROR(CheckTrusted(), "exec");
    if (!user.token_file().empty()) RETURN_IF_ERROR(CheckTrusted(), "tokenFile");
    out_.certificate = {Absolute(user.client_certificate()), user.client_certificate_data()};
    out_.key = {Absolute(user.client_key()), user.client_key_data()};
    for (Pem* pem : {&out_.certificate, &out_.key})
      if (!pem->data.empty()) pem->file.clear();
    RETURN_IF_ERROR(CheckInside(out_.certificate.file), "client-certificate");
    RETURN_IF_ERROR(CheckInside(out_.key.file), "client-key");
    if (out_.certificate.empty() != out_.key.empty())
      return InvalidArgument("{}: missing, but its counterpart is set",
                             out_.key.empty() ? "client-key" : "client-certificate");
    out_.token = user.token();
    out_.token_file = Absolute(user.token_file());
    out_.user = user.username();
    out_.password = user.password();
    if (!out_.user.empty() && (!out_.token.empty() || !out_.token_file.empty()))
      return InvalidArgument("username: not together with a token");
    if (user.has_exec()) RETURN_IF_ERROR(ReadExec(user.exec()), "exec");
    return OkStatus();
  }

  Status ReadExec(const v1::KubeExec& exec) {
    if (exec.command().empty()) return InvalidArgument("command: missing");
    if (std::ranges::find(kExecVersions, exec.api_version()) == std::end(kExecVersions))
      return InvalidArgument("apiVersion: want one of {}, got \"{}\"",
                             fmt::join(kExecVersions, ", "), OneLine(exec.api_version()));
    if (exec.interactive_mode() == "Always")
      return InvalidArgument("interactiveMode: Always: not supported, there is no user to prompt");
    // A name without a slash is searched in PATH; any other path is relative to the kubeconfig.
    const bool is_path = exec.command().find('/') != std::string::npos;
    ExecPlugin plugin{.command = is_path ? Absolute(exec.command()) : exec.command(),
                      .args = {exec.args().begin(), exec.args().end()},
                      .api_version = exec.api_version(),
                      .install_hint = exec.install_hint(),
                      .provide_cluster_info = exec.provide_cluster_info()};
    for (const auto& variable : exec.env()) plugin.env[variable.name()] = variable.value();
    out_.exec = std::move(plugin);
    return OkStatus();
  }

  Status CheckTrusted() const {
    if (why_not_trusted_.empty()) return OkStatus();
    return FailedPrecondition("refused: {}", why_not_trusted_);
  }

  Status CheckInside(const std::string& path) const {
    if (path.empty() || why_not_trusted_.empty()) return OkStatus();
    const auto names = fs::NamesOf(path);
    const bool inside =
        path.starts_with(folder_ + "/") && std::ranges::find(names, "..") == names.end();
    if (inside) return OkStatus();
    return FailedPrecondition("refused: {} is outside of {}, and {}", OneLine(path), folder_,
                              why_not_trusted_);
  }

  std::string Absolute(const std::string& path) const {
    return path.empty() || path.front() == '/' ? path : folder_ + "/" + path;
  }

  const std::string folder_;
  const std::string& why_not_trusted_;
  ClientConfig out_;
};

}  // namespace

std::string WhyNotTrusted(const fs::OwnedText& file, uint32_t user) {
  if (file.owner != 0 && file.owner != user)
    return fmt::format("the file belongs to user {}, and neither to root nor to this process",
                       file.owner);
  if ((file.mode & kWritableByOthers) != 0)
    return fmt::format("users other than its owner can write the file (mode {:04o})", file.mode);
  return {};
}

StatusOr<ClientConfig> ReadKubeconfig(std::string_view text, const std::string& file,
                                      const std::string& why_not_trusted) {
  static const std::vector<kube::KnownKind> kKinds = {
      {"v1", "Config", &v1::KubeConfig::default_instance()}};
  const auto decoded = kube::Decode(text, file, kube::Strictness::kLenient, kKinds);
  if (!decoded.ok()) return decoded.status();
  Reader reader(fs::ParentOf(file), why_not_trusted);
  RETURN_IF_ERROR(reader.Read(*decoded->As<v1::KubeConfig>()), "{}", file);
  return reader.Take();
}

StatusOr<ClientConfig> LoadKubeconfig(fs::FileSystem& files, const std::string& file,
                                      uint32_t user) {
  ASSIGN_OR_RETURN(const fs::OwnedText owned, files.ReadOwned(file, kMaxKubeconfig), "{}", file);
  return ReadKubeconfig(owned.text, file, WhyNotTrusted(owned, user));
}

}  // namespace splitlet::apiclient
