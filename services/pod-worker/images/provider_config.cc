#include "services/pod-worker/images/provider_config.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/base/one_line.h"
#include "libs/config/scalars.h"
#include "libs/kube/codec.h"
#include "libs/kube/names.h"
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

/// A plain file name, without a path.
bool IsProgramName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/ ") == std::string_view::npos;
}

using Keys = google::protobuf::RepeatedPtrField<std::string>;

Status CheckKeys(const char* field, const Keys& keys) {
  std::set<std::string> seen;
  for (int i = 0; i < keys.size(); ++i) {
    std::string lower = keys[i];
    std::ranges::transform(lower, lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (const std::string wrong = kube::CheckQualifiedName(lower); !wrong.empty())
      return InvalidArgument("{}[{}]: \"{}\": {}", field, i, OneLine(keys[i]), wrong);
    if (!seen.insert(keys[i]).second)
      return InvalidArgument("{}[{}]: {} is listed twice", field, i, keys[i]);
  }
  return OkStatus();
}

Status CheckAnnotations(const v1::CredentialProviderTokenAttributes& from) {
  const Keys& required = from.required_service_account_annotation_keys();
  const Keys& optional = from.optional_service_account_annotation_keys();
  if (Status keys = CheckKeys("requiredServiceAccountAnnotationKeys", required); !keys.ok())
    return keys;
  if (Status keys = CheckKeys("optionalServiceAccountAnnotationKeys", optional); !keys.ok())
    return keys;
  for (int i = 0; i < optional.size(); ++i)
    if (std::find(required.begin(), required.end(), optional[i]) != required.end())
      return InvalidArgument("optionalServiceAccountAnnotationKeys[{}]: {} is required too", i,
                             optional[i]);
  if (!from.require_service_account() && !required.empty())
    return InvalidArgument(
        "requireServiceAccount: has to be true with requiredServiceAccountAnnotationKeys");
  return OkStatus();
}

StatusOr<TokenAttributes> CheckedToken(const v1::CredentialProviderTokenAttributes& from) {
  using CacheType = TokenAttributes::CacheType;
  if (from.service_account_token_audience().empty())
    return InvalidArgument("serviceAccountTokenAudience: missing");
  if (from.cache_type() != "Token" && from.cache_type() != "ServiceAccount")
    return InvalidArgument("cacheType: want Token or ServiceAccount, got \"{}\"",
                           OneLine(from.cache_type()));
  if (!from.has_require_service_account()) return InvalidArgument("requireServiceAccount: missing");
  if (Status annotations = CheckAnnotations(from); !annotations.ok()) return annotations;
  const Keys& required = from.required_service_account_annotation_keys();
  const Keys& optional = from.optional_service_account_annotation_keys();
  return TokenAttributes{
      .audience = from.service_account_token_audience(),
      .cache_type = from.cache_type() == "Token" ? CacheType::kToken : CacheType::kServiceAccount,
      .require_account = from.require_service_account(),
      .required_annotations = {required.begin(), required.end()},
      .optional_annotations = {optional.begin(), optional.end()}};
}

/// `version`: the apiVersion of the file.
Status AddToken(const v1::CredentialProvider& from, const std::string& version,
                CredentialProvider& out) {
  if (!from.has_token_attributes()) return OkStatus();
  for (const auto& [given, want] :
       {std::pair{std::string_view(version), kConfigVersions[0]},
        std::pair{std::string_view(from.api_version()), kPluginVersions[0]}})
    if (given != want)
      return InvalidArgument("tokenAttributes: needs apiVersion {}, got {}", want, given);
  ASSIGN_OR_RETURN(out.token, CheckedToken(from.token_attributes()), "tokenAttributes");
  return OkStatus();
}

/// Without the tokenAttributes. An error names the field.
StatusOr<CredentialProvider> Checked(const v1::CredentialProvider& provider,
                                     const std::string& bin_dir) {
  if (!IsProgramName(provider.name()))
    return InvalidArgument("name: \"{}\" is not the name of a program", OneLine(provider.name()));
  if (provider.match_images().empty())
    return InvalidArgument("matchImages: {} matches no image", provider.name());
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
    RETURN_IF_ERROR(AddToken(document->providers(i), decoded->api_version, provider),
                    "{}: providers[{}]", path, i);
    RETURN_IF_ERROR(CheckProgram(files, provider.argv[0]), "{}: providers[{}]", path, i);
    for (const auto& other : providers)
      if (other.name == provider.name)
        return InvalidArgument("{}: providers[{}]: name: {} is listed twice", path, i,
                               provider.name);
    providers.push_back(std::move(provider));
  }
  return OkStatus();
}

/// The names as the pod writes them.
std::set<std::string> ImagesOf(const kube::Pod& pod) {
  std::set<std::string> images;
  for (const auto& container : pod.spec().init_containers()) images.insert(container.image());
  for (const auto& container : pod.spec().containers()) images.insert(container.image());
  for (const auto& container : pod.spec().ephemeral_containers())
    images.insert(container.ephemeral_container_common().image());
  for (const auto& volume : pod.spec().volumes())
    if (volume.volume_source().has_image())
      images.insert(volume.volume_source().image().reference());
  return images;
}

}  // namespace

bool IsFor(const CredentialProvider& provider, const std::string& repository) {
  return std::ranges::any_of(provider.match_images, [&repository](const std::string& pattern) {
    return KeyMatches(pattern, repository);
  });
}

bool MayNeedAccount(const std::vector<CredentialProvider>& providers, const kube::Pod& pod) {
  if (pod.spec().service_account_name().empty() ||
      std::ranges::none_of(providers, [](const auto& one) { return one.token.has_value(); }))
    return false;
  return std::ranges::any_of(ImagesOf(pod), [&providers](const std::string& image) {
    const std::string repository = RepositoryOf(image);
    return std::ranges::any_of(providers, [&repository](const auto& provider) {
      return provider.token && IsFor(provider, repository);
    });
  });
}

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

Status CheckWithoutTokens(const std::vector<CredentialProvider>& providers) {
  for (const CredentialProvider& provider : providers)
    if (provider.token)
      return InvalidArgument(
          "--image-credential-provider-config: {}: tokenAttributes is not supported when "
          "KubeletServiceAccountTokenForCredentialProviders feature gate is disabled",
          provider.name);
  return OkStatus();
}

}  // namespace splitlet::pod_worker
