#include "services/pod-worker/images/policy.h"

#include <algorithm>
#include <cctype>

#include "libs/kube/image_name.h"

namespace splitlet::pod_worker {

namespace {

constexpr Duration kPullBackoffInitial = 10s;
constexpr Duration kPullBackoffMax = 300s;
constexpr Duration kPullBackoffForget = 600s;
constexpr double kPullBackoffJitter = 0.2;
constexpr const char* kBackOff = "ImagePullBackOff";
constexpr const char* kNeverPull = "ErrImageNeverPull";

/// A kubelet syncs the pod again after about 10 s, and finds the back-off.
Clock::Time EndOfError(const PullMemory& memory) {
  return memory.failed_at + std::min(memory.wait / 2, kPullBackoffInitial);
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
  return decision;
}

std::optional<bool> PullRequired(const ImageDecision& decision) {
  switch (decision.kind) {
    case ImageDecision::Kind::kUse: return false;
    case ImageDecision::Kind::kPull:
    case ImageDecision::Kind::kWaitForPull: return true;
    case ImageDecision::Kind::kFail: break;
  }
  if (decision.backs_off) return true;
  if (decision.never_pulls) return false;
  return std::nullopt;
}

ImageDecision DecidePull(const ImageQuestion& question, const PullMemory& memory) {
  if (memory.pulling) return {.kind = ImageDecision::Kind::kWaitForPull};
  if (!InBackoff(memory, question.now)) return {.kind = ImageDecision::Kind::kPull};
  if (memory.unreported_failure) {
    ImageDecision failed = Fail(memory.reason, memory.message);
    failed.retry_at = memory.failed_at + memory.wait;
    failed.sync_at = EndOfError(memory);
    return failed;
  }
  const std::string short_text = fmt::format("Back-off pulling image \"{}\"", question.image);
  std::string message = short_text;
  if (!memory.reason.empty()) message += fmt::format(": {}: {}", memory.reason, memory.message);
  ImageDecision decision = Fail(kBackOff, message, {{false, "BackOff", short_text}});
  decision.retry_at = decision.sync_at = memory.failed_at + memory.wait;
  decision.backs_off = true;
  return decision;
}

}  // namespace

std::string PullPolicyOf(const std::string& policy, const std::string& image) {
  if (!policy.empty()) return policy;
  return kube::IsLatest(image) ? "Always" : "IfNotPresent";
}

bool NeedsImageStatus(const ImageQuestion& question, const PullMemory& memory) {
  return memory.pulled_ref.empty() && PullPolicyOf(question.policy, question.image) != "Always";
}

ImageDecision DecideImage(const ImageQuestion& question, const PullMemory& memory,
                          const StatusOr<std::optional<cri::Image>>* local) {
  if (const auto tagged = kube::WithDefaultTag(question.image); !tagged.ok()) {
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
    ImageDecision never = Fail(kNeverPull, text, {{true, kNeverPull, text}});
    never.never_pulls = true;
    return never;
  }
  return DecidePull(question, memory);
}

std::optional<ImageRequest> RequestOf(const ImageQuestion& question, const PullMemory& memory,
                                      std::optional<bool> present, const ImageDecision& decision) {
  const bool reported = memory.unreported_failure && decision.kind == ImageDecision::Kind::kFail;
  if (memory.pulling || !memory.pulled_ref.empty() || reported) return std::nullopt;
  const auto text = [](std::optional<bool> known) {
    return known ? (*known ? "true" : "false") : "unknown";
  };
  std::string policy = PullPolicyOf(question.policy, question.image);
  std::ranges::transform(policy, policy.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ImageRequest{std::move(policy), text(present), text(PullRequired(decision))};
}

std::string PullErrorText(const Status& error) {
  if (error.code() == StatusCode::kUnknown) return std::string(Message(error));
  return fmt::format("rpc error: code = {} desc = {}", GoName(error.code()), Message(error));
}

ImageDecision PullFailed(const ImageQuestion& question, const Status& error, Random& random,
                         PullMemory& memory) {
  const std::string text = PullErrorText(error);
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
  const bool after_pause =
      memory.delay == Duration{0} || question.now - memory.failed_at > kPullBackoffForget;
  memory.delay = after_pause ? kPullBackoffInitial : std::min(memory.delay * 2, kPullBackoffMax);
  memory.wait = random.Jitter(memory.delay, kPullBackoffJitter);
  memory.failed_at = question.now;
  memory.backed_off.clear();
  ImageDecision decision = Fail(
      memory.reason, memory.message,
      {{true, "Failed", fmt::format("Failed to pull image \"{}\": {}", question.image, text)}});
  decision.retry_at = memory.failed_at + memory.wait;
  decision.sync_at = EndOfError(memory);
  return decision;
}

}  // namespace splitlet::pod_worker
