#include "services/pod-worker/volumes/csi/publish.h"

#include "csi/v1/csi.pb.h"
#include "libs/base/fail_point.h"
#include "libs/csi/fs_group.h"
#include "libs/csi/requests.h"
#include "services/pod-worker/volumes/csi/attach.h"
#include "services/pod-worker/volumes/csi/secret_read.h"

namespace splitlet::pod_worker {

namespace {

using csi::ErrorClass;

Outcome FailedPublish(ErrorClass error_class, Status why) {
  return Failed(error_class, VolumeStep::kSetUp, std::move(why));
}

Outcome NotPublished(const Status& why, std::string_view context) {
  return FailedPublish(ErrorClass::kTransient, Annotate(why, context));
}

bool IsOk(const std::optional<Outcome>& step) { return step && step->status.ok(); }

}  // namespace

std::optional<Outcome> PublishVolume::FindDriver() {
  const auto& volume = in_.wish.volume;
  if (driver_ == nullptr) {
    const auto found = deps_.drivers.Find(volume.driver);
    if (!found.ok())
      return NotPublished(found.status(),
                          "kubernetes.io/csi: mounter.SetUpAt failed to get CSI client");
    driver_ = *found;
  }
  const Status has = csi::CheckLifecycle(in_.object.get(), volume.driver, volume.lifecycle);
  if (!has.ok())
    return NotPublished(has,
                        "kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode");
  if (!Ask(capabilities_,
           [this](auto answer) { driver_->BeginGetCapabilities(deadline_, answer); }))
    return std::nullopt;
  const auto& answer = *capabilities_.answer;
  if (answer.status.ok()) return Outcome{};
  return FailedPublish(answer.error_class,
                       Annotate(answer.status,
                                "kubernetes.io/csi: mounter.SetUpAt failed to check for "
                                "STAGE_UNSTAGE_VOLUME capability"));
}

std::optional<Outcome> PublishVolume::ReadContext() {
  const auto& volume = in_.wish.volume;
  if (!in_.attached || volume.lifecycle != csi::Lifecycle::kPersistent) return Outcome{};
  const std::string name = csi::AttachmentName(volume.handle, volume.driver, deps_.node_name);
  if (!Ask(attachment_, [&](auto answer) { deps_.objects.ReadAttachment(name, answer); }))
    return std::nullopt;
  csi::Attachment found = AttachmentOf(volume, name, *attachment_.answer);
  if (found.state != csi::AttachmentState::kReady)
    return NotPublished(FailedPrecondition("{}", found.text),
                        "kubernetes.io/csi: mounter.SetUpAt failed to fetch publishContext");
  publish_context_ = std::move(found.publish_context);
  return Outcome{};
}

std::optional<Outcome> PublishVolume::ReadSecret() {
  const auto& name = in_.wish.volume.publish_secret;
  if (!name) return Outcome{};
  if (!Ask(secret_, [&](auto answer) {
        deps_.objects.ReadSecret({name->namespace_, name->name}, answer);
      }))
    return std::nullopt;
  auto secrets = SecretFor("NodePublishSecretRef", *name, *secret_.answer);
  if (!secrets.ok()) return FailedPublish(ErrorClass::kTransient, secrets.status());
  secrets_ = *std::move(secrets);
  return Outcome{};
}

/// All tokens are requested at the same time.
std::optional<Outcome> PublishVolume::GetTokens() {
  const auto orders = csi::TokensOf(in_.object.get());
  const auto& pod = in_.wish.pod;
  tokens_.resize(orders.size());
  bool all = true;
  for (size_t i = 0; i < orders.size(); ++i)
    all = Ask(tokens_[i],
              [&](auto answer) {
                deps_.objects.GetToken({pod.uid, pod.name, pod.namespace_, pod.service_account},
                                       {.audience = orders[i].audience,
                                        .seconds = orders[i].expiration_seconds.value_or(0)},
                                       answer);
              }) &&
          all;
  if (!all) return std::nullopt;
  std::map<std::string, csi::ServiceAccountToken> given;
  for (size_t i = 0; i < orders.size(); ++i) {
    const auto& token = *tokens_[i].answer;
    if (!token.ok())
      return NotPublished(token.status(),
                          "kubernetes.io/csi: mounter.SetUpAt failed to get service accoount token "
                          "attributes");
    given[orders[i].audience] = {.token = token->token, .expires = token->expires};
  }
  if (!given.empty()) tokens_json_ = csi::TokensJson(given);
  return Outcome{};
}

csi::VolumeData PublishVolume::Data() const {
  const auto& volume = in_.wish.volume;
  return {.driver = volume.driver,
          .handle = volume.handle,
          .spec = volume.spec,
          .node = deps_.node_name,
          .attachment = csi::AttachmentName(volume.handle, volume.driver, deps_.node_name),
          .lifecycle = volume.lifecycle};
}

/// A published volume has its file.
std::optional<Outcome> PublishVolume::SaveData() {
  if (in_.before.state == csi::MountState::kMounted) return Outcome{};
  if (!AskFiles(saved_, [disk = deps_.disk, directory = in_.wish.directory, data = Data()] {
        return PreparePublish(disk, directory, data);
      }))
    return std::nullopt;
  return saved_.answer->ok() ? Outcome{} : FailedPublish(ErrorClass::kFinal, *saved_.answer);
}

std::optional<Outcome> PublishVolume::Publish() {
  const Wish& wish = in_.wish;
  const auto begin = [&](auto answer) {
    csi::PublishInput input{
        .volume = wish.volume,
        .capabilities = capabilities_.answer->reply,
        .staging_path = deps_.paths.GlobalMount(wish.volume.driver, wish.volume.handle),
        .target_path = TargetOf(wish.directory),
        .read_only = wish.read_only,
        .publish_context = publish_context_,
        .secrets = secrets_,
        .tokens = tokens_json_,
        .token_place = csi::TokenPlaceOf(in_.object.get())};
    if (csi::WantsPodInfo(in_.object.get())) input.pod = wish.pod;
    input.options.fs_group = wish.fs_group;
    FAIL_POINT_VOID("pod-worker.csi-publish.before");
    driver_->BeginPublish(csi::MakePublishRequest(input), deadline_, answer);
  };
  if (!Ask(publish_, begin)) return std::nullopt;
  FAIL_POINT_VOID("pod-worker.csi-publish.after");
  const auto& answer = *publish_.answer;
  return answer.status.ok() ? Outcome{} : FailedPublish(answer.error_class, answer.status);
}

std::optional<Outcome> PublishVolume::GiveToGroup() {
  const Wish& wish = in_.wish;
  const auto owner = csi::ComputeGroupOwnership({.volume = wish.volume,
                                                 .capabilities = capabilities_.answer->reply,
                                                 .policy = csi::FsGroupPolicyOf(in_.object.get()),
                                                 .fs_group = wish.fs_group,
                                                 .read_only = wish.read_only});
  if (owner != csi::GroupOwnership::kByWalk) return Outcome{};
  if (!AskFiles(given_, [disk = deps_.disk, target = TargetOf(wish.directory),
                         group = *wish.fs_group, lazy = wish.only_if_other_group] {
        GiveVolumeToGroup(disk, target, group, lazy);
        return OkStatus();
      }))
    return std::nullopt;
  return Outcome{};
}

/// A failed publish leaves nothing if nothing can be mounted there.
std::optional<Outcome> PublishVolume::End(Outcome outcome) {
  if (!saved_.asked ||
      !csi::RemovesLeftovers(in_.before.state, outcome.error_class, in_.before.origin))
    return outcome;
  const std::string& directory = in_.wish.directory;
  if (!AskFiles(removed_, [disk = deps_.disk, directory] {
        return RemoveVolumeDir(disk, directory, TargetOf(directory));
      }))
    return std::nullopt;
  deps_.env.log.LogIfError(*removed_.answer,
                           "remove the directory of a volume that is not published");
  // Still mounted, whatever the driver says: it is to be unpublished.
  if (!removed_.answer->ok()) outcome.error_class = ErrorClass::kUncertain;
  return outcome;
}

std::optional<Outcome> PublishVolume::Advance() {
  using Step = std::optional<Outcome> (PublishVolume::*)();
  constexpr Step kSteps[] = {&PublishVolume::FindDriver, &PublishVolume::ReadContext,
                             &PublishVolume::ReadSecret, &PublishVolume::GetTokens,
                             &PublishVolume::SaveData,   &PublishVolume::Publish,
                             &PublishVolume::GiveToGroup};
  for (const Step step : kSteps) {
    auto outcome = (this->*step)();
    if (!outcome) return std::nullopt;
    if (!IsOk(outcome)) return End(*std::move(outcome));
  }
  return Outcome{};
}

}  // namespace splitlet::pod_worker
