#include "services/pod-worker/images/provider_config.h"

#include <algorithm>
#include <array>
#include <set>

#include "libs/base/one_line.h"
#include "libs/config/scalars.h"
#include "libs/kube/codec.h"
#include "splitlet/v1/credential_provider.pb.h"

namespace splitlet::pod_worker {

namespace {

constexpr uint64_t kMaxProviderConfig = 1u << 20;
constexpr std::string_view kKind = "CredentialProviderConfig";
constexpr std::array<std::string_view, 3> kConfigVersions = {
    "kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1"};
constexpr std::array<std::string_view, 3> kPluginVersions = {
    "credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1beta1",
    "credentialprovider.kubelet.k8s.io/v1alpha1"};

const std::vector<kube::KnownKind>& Kinds() {
  static const std::vector<kube::KnownKind> kinds = [] {
    std::vector<kube::KnownKind> all;
    for (const auto& version : kConfigVersions)
      all.push_back({version, kKind, &v1::CredentialProviderConfig::default_instance()});
    return all;
  }();
  return kinds;
}

/// The name of a file in a folder, and nothing else.
bool IsProgramName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/ ") == std::string_view::npos;
}

/// What `provider` says, with the field that is wrong.
StatusOr<CredentialProvider> Checked(const v1::CredentialProvider& provider,
                                     const std::string& bin_dir) {
  if (!IsProgramName(provider.name()))
    return InvalidArgument("name: \"{}\" is not the name of a program", OneLine(provider.name()));
  if (provider.match_images().empty())
    return InvalidArgument("matchImages: {} is for no image", provider.name());
  if (std::ranges::find(kPluginVersions, provider.api_version()) == kPluginVersions.end())
    return InvalidArgument("apiVersion: want one of {}, got \"{}\"",
                           fmt::join(kPluginVersions, ", "), OneLine(provider.api_version()));
  if (provider.default_cache_duration().empty())
    return InvalidArgument("defaultCacheDuration: missing");
  const auto keep = config::ParseGoDuration(provider.default_cache_duration());
  if (!keep.ok()) return InvalidArgument("defaultCacheDuration: {}", Message(keep.status()));
  if (*keep < Duration{0})
    return InvalidArgument("defaultCacheDuration: {} is negative",
                           OneLine(provider.default_cache_duration()));
  if (provider.has_token_attributes())
    return InvalidArgument(
        "tokenAttributes: this version sends no tokens of service accounts to plugins");
  CredentialProvider out{
      .name = provider.name(),
      .argv = {bin_dir + "/" + provider.name()},
      .match_images = {provider.match_images().begin(), provider.match_images().end()},
      .api_version = provider.api_version(),
      .keep = *keep};
  out.argv.insert(out.argv.end(), provider.args().begin(), provider.args().end());
  for (const auto& variable : provider.env()) out.env[variable.name()] = variable.value();
  return out;
}

Status CheckProgram(fs::FileSystem& files, const std::string& path) {
  const auto info = files.Stat(path, true);
  if (!info.ok()) return InvalidArgument("name: {}: {}", path, Message(info.status()));
  if (info->kind != fs::FileInfo::Kind::kFile)
    return InvalidArgument("name: {} is not a file", path);
  return OkStatus();
}

StatusOr<std::vector<std::string>> FilesOf(fs::FileSystem& files, const std::string& config) {
  ASSIGN_OR_RETURN(const auto info, files.Stat(config, true), "{}", config);
  if (info.kind != fs::FileInfo::Kind::kDirectory) return std::vector<std::string>{config};
  ASSIGN_OR_RETURN(const auto entries, files.List(config), "{}", config);
  std::vector<std::string> out;
  for (const auto& entry : entries)
    for (const char* suffix : {".json", ".yaml", ".yml"})
      if (entry.name.ends_with(suffix) && entry.kind != fs::FileInfo::Kind::kDirectory)
        out.push_back(config + "/" + entry.name);
  return out;
}

Status AddFile(fs::FileSystem& files, const std::string& path, const std::string& bin_dir,
               std::vector<CredentialProvider>& providers) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(path, kMaxProviderConfig), "{}", path);
  const auto decoded = kube::Decode(text, path, kube::Strictness::kStrict, Kinds());
  if (!decoded.ok()) return decoded.status();
  const auto document = decoded->As<v1::CredentialProviderConfig>();
  for (int i = 0; i < document->providers_size(); ++i) {
    ASSIGN_OR_RETURN(auto provider, Checked(document->providers(i), bin_dir), "{}: providers[{}]",
                     path, i);
    RETURN_IF_ERROR(CheckProgram(files, provider.argv[0]), "{}: providers[{}]", path, i);
    for (const auto& other : providers)
      if (other.name == provider.name)
        return InvalidArgument("{}: providers[{}]: name: {} is there twice", path, i,
                               provider.name);
    providers.push_back(std::move(provider));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<CredentialProvider>> ReadProviders(fs::FileSystem& files,
                                                        const std::string& config,
                                                        const std::string& bin_dir) {
  std::vector<CredentialProvider> providers;
  if (config.empty() && bin_dir.empty()) return providers;
  if (config.empty() || bin_dir.empty())
    return InvalidArgument(
        "--image-credential-provider-config and --image-credential-provider-bin-dir go together");
  RETURN_IF_ERROR(files.List(bin_dir), "--image-credential-provider-bin-dir: {}", bin_dir);
  ASSIGN_OR_RETURN(const auto paths, FilesOf(files, config), "--image-credential-provider-config");
  for (const auto& path : paths)
    RETURN_IF_ERROR(AddFile(files, path, bin_dir, providers), "--image-credential-provider-config");
  if (providers.empty())
    return InvalidArgument("--image-credential-provider-config: {}: no provider", config);
  return providers;
}

}  // namespace splitlet::pod_worker
