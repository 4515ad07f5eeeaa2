#include "libs/kube/image_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "k8s.io/api/core/v1/volume_source.pb.h"
#include "libs/kube/letters.h"

namespace splitlet::kube {
namespace {

constexpr size_t kMaxRepository = 255;

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

struct ImageParts {
  std::string name, tag, digest;
};

ImageParts SplitImage(const std::string& image) {
  ImageParts parts{.name = image};
  if (const size_t at = parts.name.find('@'); at != std::string::npos) {
    parts.digest = parts.name.substr(at + 1);
    parts.name.resize(at);
  }
  const size_t slash = parts.name.rfind('/');
  const size_t colon = parts.name.rfind(':');
  if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
    parts.tag = parts.name.substr(colon + 1);
    parts.name.resize(colon);
  }
  return parts;
}

/// Matches "[a-z0-9]+" pieces, separated by ".", "_", "__" or dashes.
bool IsPathComponent(std::string_view text) {
  if (text.empty() || !IsLowerAlnum(text.front()) || !IsLowerAlnum(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    if (IsLowerAlnum(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end] == text[i]) ++end;
    const size_t run = end - i;
    const bool good =
        (text[i] == '.' && run == 1) || (text[i] == '_' && run <= 2) || text[i] == '-';
    if (!good || end >= text.size() || !IsLowerAlnum(text[end])) return false;
    i = end;
  }
  return true;
}

bool IsRegistry(std::string_view first) {
  return first == "localhost" || first.find_first_of(".:") != std::string_view::npos ||
         std::any_of(first.begin(), first.end(),
                     [](unsigned char c) { return std::isupper(c) != 0; });
}

bool IsTag(std::string_view tag) {
  const auto word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (tag.empty() || tag.size() > 128 || !word(static_cast<unsigned char>(tag.front())))
    return false;
  return std::all_of(tag.begin(), tag.end(),
                     [&](unsigned char c) { return word(c) || c == '.' || c == '-'; });
}

bool IsDigest(std::string_view digest) {
  const size_t colon = digest.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view algorithm = digest.substr(0, colon), hex = digest.substr(colon + 1);
  if (hex.size() < 32 || !std::all_of(hex.begin(), hex.end(), IsHex)) return false;
  if (algorithm == "sha256") return hex.size() == 64;
  return algorithm != "sha512" || hex.size() == 128;
}

Status CheckRepository(const std::string& name) {
  static constexpr std::string_view kBad = "invalid reference format";
  std::string_view path = name;
  std::string registry;
  const size_t slash = path.find('/');
  if (slash != std::string_view::npos && IsRegistry(path.substr(0, slash))) {
    registry = path.substr(0, slash);
    path.remove_prefix(slash + 1);
  }
  if (path.empty()) return InvalidArgument(kBad);
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return std::isupper(c) != 0; }))
    return InvalidArgument("invalid reference format: repository name ({}) must be lowercase",
                           path);
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    if (!IsPathComponent(path.substr(start, end - start))) return InvalidArgument(kBad);
    start = end + 1;
  }
  if (path.size() > kMaxRepository)
    return InvalidArgument("repository name must not be more than {} characters", kMaxRepository);
  return OkStatus();
}

bool IsBareId(const std::string& image) {
  return image.size() == 64 && std::all_of(image.begin(), image.end(), IsHex);
}

}  // namespace

StatusOr<std::string> WithDefaultTag(const std::string& image) {
  const ImageParts parts = SplitImage(image);
  if (IsBareId(image))
    return InvalidArgument(
        "invalid repository name ({}), cannot specify 64-byte hexadecimal strings", image);
  if (const Status good = CheckRepository(parts.name); !good.ok()) return good;
  if (image.find('@') != std::string::npos && !IsDigest(parts.digest))
    return InvalidArgument("invalid reference format");
  const bool has_tag =
      parts.name.size() + (parts.digest.empty() ? 0 : parts.digest.size() + 1) < image.size();
  if (has_tag && !IsTag(parts.tag)) return InvalidArgument("invalid reference format");
  if (parts.tag.empty() && parts.digest.empty()) return image + ":latest";
  return image;
}

bool IsLatest(const std::string& image) {
  const ImageParts parts = SplitImage(image);
  return parts.digest.empty() && (parts.tag.empty() || parts.tag == "latest");
}

std::string NormalImageName(const std::string& image) {
  if (image.starts_with("sha256:")) return image;
  std::string name = image;
  const size_t first_slash = name.find('/');
  const std::string host = first_slash == std::string::npos ? "" : name.substr(0, first_slash);
  const bool has_host = host.find('.') != std::string::npos ||
                        host.find(':') != std::string::npos || host == "localhost";
  if (first_slash == std::string::npos) {
    name = "docker.io/library/" + name;
  } else if (!has_host) {
    name = "docker.io/" + name;
  }
  if (const size_t at = name.find('@'); at != std::string::npos) {
    // With a digest the tag does not matter.
    const size_t colon = name.rfind(':', at - 1);
    if (colon != std::string::npos && colon > name.rfind('/', at)) name.erase(colon, at - colon);
    return name;
  }
  const size_t colon = name.rfind(':');
  const bool has_tag = colon != std::string::npos && colon > name.rfind('/');
  return has_tag ? name : name + ":latest";
}

std::vector<std::string> ImagesOf(const PodSpec& spec) {
  std::vector<std::string> images;
  for (const auto& container : spec.init_containers()) images.push_back(container.image());
  for (const auto& container : spec.containers()) images.push_back(container.image());
  for (const auto& container : spec.ephemeral_containers())
    images.push_back(container.ephemeral_container_common().image());
  for (const auto& volume : spec.volumes())
    if (volume.volume_source().has_image())
      images.push_back(volume.volume_source().image().reference());
  return images;
}

}  // namespace splitlet::kube
