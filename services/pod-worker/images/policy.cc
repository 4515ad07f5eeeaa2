#include "services/pod-worker/images/policy.h"

#include <algorithm>
#include <cctype>

namespace splitlet::pod_worker {

namespace {

constexpr Duration kPullBackoffInitial = 10s;
constexpr Duration kPullBackoffMax = 300s;
constexpr Duration kPullBackoffForget = 600s;
constexpr double kPullBackoffJitter = 0.2;
constexpr size_t kMaxRepository = 255;

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

struct Parts {
  std::string name, tag, digest;
};

Parts Split(const std::string& image) {
  Parts parts{.name = image};
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

/// "[a-z0-9]+" pieces, separated inside by ".", "_", "__" or dashes.
bool IsPathComponent(std::string_view text) {
  if (text.empty() || !IsLower(text.front()) || !IsLower(text.back())) return false;
  for (size_t i = 0; i < text.size();) {
    if (IsLower(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && text[end] == text[i]) ++end;
    const size_t run = end - i;
    const bool good =
        (text[i] == '.' && run == 1) || (text[i] == '_' && run <= 2) || text[i] == '-';
    if (!good || end >= text.size() || !IsLower(text[end])) return false;
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

bool InBackoff(const PullMemory& memory, Clock::Time now) {
  return memory.wait > Duration{0} && now - memory.failed_at < memory.wait;
}

/// NOT_FOUND as Go prints it: NotFound.
std::string GoName(StatusCode code) {
  std::string name;
  bool upper = true;
  for (const char c : CodeName(code)) {
    if (c != '_')
      name += upper ? c : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    upper = c == '_';
  }
  return name;
}

ImageDecision Fail(std::string reason, std::string message, std::vector<ImageEvent> events = {}) {
  ImageDecision decision{.kind = ImageDecision::Kind::kFail};
  decision.reason = std::move(reason);
  decision.message = std::move(message);
  decision.events = std::move(events);
  decision.events.push_back({true, "Failed", fmt::format("Error: {}", decision.reason)});
  return decision;
}

ImageDecision DecidePull(const ImageQuestion& question, const PullMemory& memory) {
  if (memory.pulling) return {.kind = ImageDecision::Kind::kWaitForPull};
  if (!InBackoff(memory, question.now)) return {.kind = ImageDecision::Kind::kPull};
  const std::string short_text = fmt::format("Back-off pulling image \"{}\"", question.image);
  std::string message = short_text;
  if (!memory.reason.empty()) message += fmt::format(": {}: {}", memory.reason, memory.message);
  ImageDecision decision = Fail("ImagePullBackOff", message, {{false, "BackOff", short_text}});
  decision.retry_at = memory.failed_at + memory.wait;
  return decision;
}

}  // namespace

StatusOr<std::string> WithDefaultTag(const std::string& image) {
  const Parts parts = Split(image);
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

std::string PullPolicyOf(const std::string& policy, const std::string& image) {
  if (!policy.empty()) return policy;
  const Parts parts = Split(image);
  const bool latest = parts.digest.empty() && (parts.tag.empty() || parts.tag == "latest");
  return latest ? "Always" : "IfNotPresent";
}

bool NeedsImageStatus(const ImageQuestion& question, const PullMemory& memory) {
  return memory.pulled_ref.empty() && PullPolicyOf(question.policy, question.image) != "Always";
}

ImageDecision DecideImage(const ImageQuestion& question, const PullMemory& memory,
                          const StatusOr<std::optional<cri::Image>>* local) {
  if (const auto tagged = WithDefaultTag(question.image); !tagged.ok()) {
    const std::string text = fmt::format(
        "Failed to apply default image tag \"{0}\": couldn't parse image name \"{0}\": {1}",
        question.image, Message(tagged.status()));
    return Fail("InvalidImageName", text, {{true, "InspectFailed", text}});
  }
  if (!memory.pulled_ref.empty())
    return {.kind = ImageDecision::Kind::kUse, .ref = memory.pulled_ref};
  if (local == nullptr) return DecidePull(question, memory);
  if (!local->ok()) {
    const std::string text =
        fmt::format("Failed to inspect image \"\": {}", Message(local->status()));
    return Fail("ImageInspectError", text, {{true, "InspectFailed", text}});
  }
  if (local->value().has_value()) {
    ImageDecision use{.kind = ImageDecision::Kind::kUse, .ref = local->value()->id};
    use.events.push_back(
        {false, "Pulled",
         fmt::format(
             "Container image \"{}\" already present on machine and can be accessed by the pod",
             question.image)});
    return use;
  }
  if (PullPolicyOf(question.policy, question.image) == "Never") {
    const std::string text = fmt::format(
        "Container image \"{}\" is not present with pull policy of Never", question.image);
    return Fail("ErrImageNeverPull", text, {{true, "ErrImageNeverPull", text}});
  }
  return DecidePull(question, memory);
}

ImageDecision PullFailed(const ImageQuestion& question, const Status& error, Random& random,
                         PullMemory& memory) {
  const std::string text =
      error.code() == StatusCode::kUnknown
          ? Message(error)
          : fmt::format("rpc error: code = {} desc = {}", GoName(error.code()), Message(error));
  memory.reason = "ErrImagePull";
  memory.message = text;
  static constexpr std::pair<std::string_view, std::string_view> kSpecial[] = {
      {"RegistryUnavailable", "because the registry is unavailable"},
      {"SignatureValidationFailed", "because the signature validation failed"},
  };
  for (const auto& [prefix, why] : kSpecial) {
    if (!text.starts_with(prefix)) continue;
    memory.reason = prefix;
    memory.message = fmt::format("image pull failed for {} {}{}", question.image, why,
                                 text.substr(prefix.size()));
  }
  const bool anew =
      memory.delay == Duration{0} || question.now - memory.failed_at > kPullBackoffForget;
  memory.delay = anew ? kPullBackoffInitial : std::min(memory.delay * 2, kPullBackoffMax);
  memory.wait = random.Jitter(memory.delay, kPullBackoffJitter);
  memory.failed_at = question.now;
  ImageDecision decision = Fail(
      memory.reason, memory.message,
      {{true, "Failed", fmt::format("Failed to pull image \"{}\": {}", question.image, text)}});
  decision.retry_at = memory.failed_at + memory.wait;
  return decision;
}

}  // namespace splitlet::pod_worker
