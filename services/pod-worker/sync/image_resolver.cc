#include "services/pod-worker/sync/image_resolver.h"

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/image_name.h"
#include "services/pod-worker/images/credentials.h"

namespace splitlet::pod_worker {

bool ImageResolver::MayUse(const std::string& image, const ImageIdentity& local) {
  const AccessPolicy& policy = context_.deps.access_policy;
  if (policy.name == kNeverVerify) return true;
  const auto origin = context_.deps.pull_records.Find(local);
  if (!origin.ok()) {
    context_.deps.log.Warn("pulling an image again: no record says which pods may use it",
                           {KV("image", image), KV("err", origin.status())});
    return false;
  }
  if (!MustVerify(policy, image, origin->pulled_here)) return true;
  // The pull reports what is wrong with the secrets.
  const auto secrets = PullSecretsOf(context_.pod, context_.input.objects.get());
  if (!secrets.ok()) return false;
  auto access = DecideAccess(*origin, {secrets->keyring.For(RepositoryOf(image)),
                                       AccountOf(context_.pod, context_.input.objects.get())});
  if (access.add) out_.shown.emplace_back(local, *std::move(access.add));
  return access.allowed;
}

ImageResolver::Answer ImageResolver::Resolve(const Wanted& wanted) {
  const auto& [image, policy, container, user] = wanted;
  const auto known = context_.input.pulls.find(image);
  PullMemory memory = known == context_.input.pulls.end() ? PullMemory{} : known->second;
  if (!container.empty()) memory.unreported_failure = false;  // it is in the events now
  if (!memory.kept_for.empty() && !memory.kept_for.contains(user)) memory.pulled_ref.clear();
  const ImageQuestion question{image, policy, context_.deps.clock.Now()};
  StatusOr<std::optional<cri::Image>> local = std::optional<cri::Image>();
  const auto tagged = kube::WithDefaultTag(image);
  const bool ask = tagged.ok() && NeedsImageStatus(question, memory);
  if (ask) {
    const auto& annotations = context_.pod.metadata().annotations();
    local =
        context_.deps.images.ImageStatus({*tagged, {annotations.begin(), annotations.end()}},
                                         After(context_.deps.clock, context_.deps.request_timeout));
  }
  const auto present =
      ask && local.ok() ? std::optional(local->has_value()) : std::optional<bool>();
  // An image that the pod may not use counts as absent.
  if (local.ok() && *local && !MayUse(image, {*tagged, (*local)->id})) local->reset();
  const ImageDecision decision = DecideImage(question, memory, ask ? &local : nullptr);
  if (const auto request = RequestOf(question, memory, present, decision))
    context_.deps.metrics.CountImageRequest(request->policy, request->present, request->pull);
  Answer answer{.image = local.ok() ? *local : std::nullopt};
  const bool known_wait = decision.backs_off && (!out_.backed_off[image].insert(container).second ||
                                                 memory.backed_off.contains(container));
  for (const auto& event : decision.events) {
    if (known_wait) break;
    event.warning ? context_.events.Warning(event.reason, event.message, container)
                  : context_.events.Normal(event.reason, event.message, container);
  }
  switch (decision.kind) {
    case ImageDecision::Kind::kUse:
      answer.usable = true;
      answer.ref = decision.ref;
      answer.pulled = !memory.pulled_ref.empty();
      if (answer.pulled) answer.kept_for = std::move(memory.kept_for);
      return answer;
    case ImageDecision::Kind::kPull: out_.pulls[image].insert(container); return answer;
    case ImageDecision::Kind::kWaitForPull: out_.awaited[image].insert(container); return answer;
    case ImageDecision::Kind::kFail: break;
  }
  answer.failed = ImageFailure{.reason = {decision.reason, decision.message, decision.retry_at},
                               .image = image,
                               .sync_at = decision.sync_at,
                               .backs_off = decision.backs_off,
                               .backed_off = std::move(memory.backed_off)};
  return answer;
}

}  // namespace splitlet::pod_worker
