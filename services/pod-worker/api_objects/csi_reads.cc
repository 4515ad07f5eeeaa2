#include "services/pod-worker/api_objects/csi_reads.h"

#include <google/protobuf/message.h>

#include <memory>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/apiclient/client.h"
#include "libs/base/fail_point.h"

namespace splitlet::pod_worker {

namespace {

using TokenRequest = k8s::io::api::authentication::v1::TokenRequest;

constexpr Duration kOldestCsiToken = 24h;
constexpr Duration kCsiTokenLifetime = 1h;
/// Renewals of pods that started together do not come together.
constexpr Duration kCsiTokenJitter = 10s;

std::string CsiDriverKey(const google::protobuf::Message& object) {
  return static_cast<const CsiDriverObject&>(object).metadata().name();
}

TokenRequest CsiTokenRequest(const TokenOwner& pod, const TokenWish& wish) {
  TokenRequest request;
  auto& spec = *request.mutable_spec();
  if (!wish.audience.empty()) spec.add_audiences(wish.audience);
  if (wish.seconds > 0) spec.set_expiration_seconds(wish.seconds);
  auto& bound = *spec.mutable_bound_object_ref();
  bound.set_kind("Pod");
  bound.set_api_version("v1");
  bound.set_name(pod.name);
  bound.set_uid(pod.uid);
  return request;
}

}  // namespace

CsiReads::CsiReads(const ApiContext& context, std::string node_name)
    : context_(context),
      node_name_(std::move(node_name)),
      calls_(context_),
      drivers_(context_, {.path = "/apis/storage.k8s.io/v1/csidrivers",
                          .item = &CsiDriverObject::default_instance(),
                          .list = &k8s::io::api::storage::v1::CSIDriverList::default_instance(),
                          .key = CsiDriverKey}) {}

void CsiReads::Start(std::function<void()> on_drivers) { drivers_.Start(on_drivers, on_drivers); }

void CsiReads::Release(const std::string& uid) {
  std::erase_if(tokens_, [&uid](const auto& token) { return token.first.first == uid; });
}

StatusOr<ObjectPtr<CsiDriverObject>> CsiReads::FindDriver(const std::string& name) const {
  const auto all = drivers_.objects();
  if (all == nullptr) return Unavailable("CSIDriver objects have not been read yet");
  const auto found = all->find(name);
  if (found == all->end()) return ObjectPtr<CsiDriverObject>();
  return std::static_pointer_cast<const CsiDriverObject>(found->second);
}

template <class T>
void CsiReads::Read(const std::string& path, Got<T> done) {
  auto into = std::make_shared<T>();
  calls_.Get(path, into, [into, done = std::move(done)](const Status& status) {
    if (!status.ok()) return done(status);
    done(ObjectPtr<T>(into));
  });
}

void CsiReads::ReadNode(Got<NodeObject> done) {
  Read("/api/v1/nodes/" + apiclient::Escaped(node_name_), std::move(done));
}

void CsiReads::ReadAttachment(const std::string& name, Got<VolumeAttachment> done) {
  Read("/apis/storage.k8s.io/v1/volumeattachments/" + apiclient::Escaped(name), std::move(done));
}

void CsiReads::ReadSecret(const ObjectName& name, Got<Secret> done) {
  Read(fmt::format("/api/v1/namespaces/{}/secrets/{}", apiclient::Escaped(name.name_space),
                   apiclient::Escaped(name.name)),
       std::move(done));
}

/// The lifetime counts from now on the node's clock, because the server's clock may differ.
void CsiReads::GetToken(const TokenOwner& pod, const TokenWish& wish,
                        std::function<void(StatusOr<BoundToken>)> done) {
  const TokenKey key{pod.uid, wish};
  const auto known = tokens_.find(key);
  if (known != tokens_.end() && context_.clock.Now() < known->second.refresh_at)
    return done(known->second.value);
  FAIL_POINT_VOID("pod-worker.csi-token-request.before");
  const TokenRequest request = CsiTokenRequest(pod, wish);
  auto into = std::make_shared<TokenRequest>();
  const std::string path =
      fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token",
                  apiclient::Escaped(pod.name_space), apiclient::Escaped(pod.service_account));
  calls_.Post(
      path, {"authentication.k8s.io/v1", "TokenRequest", request}, into,
      [this, key, into, done = std::move(done)](const Status& status) {
        FAIL_POINT_VOID("pod-worker.csi-token-request.after");
        const auto now = context_.clock.Now();
        const auto& given = into->status();
        if (status.ok() && !given.token().empty()) {
          const int64_t seconds = into->spec().expiration_seconds();
          const Duration lifetime =
              seconds > 0 ? Duration{std::chrono::seconds{seconds}} : kCsiTokenLifetime;
          const Duration jitter{static_cast<int64_t>(
              context_.random.Below(static_cast<uint64_t>(kCsiTokenJitter.count())))};
          const WallTime expires{std::chrono::seconds{given.expiration_timestamp().seconds()}};
          tokens_[key] = {
              .value = {given.token(), expires},
              .refresh_at = now + std::min<Duration>(lifetime * 8 / 10, kOldestCsiToken) - jitter,
              .expires_at = now + lifetime};
          return done(tokens_[key].value);
        }
        const auto old = tokens_.find(key);
        if (old != tokens_.end() && now < old->second.expires_at) return done(old->second.value);
        done(status.ok() ? DataLoss("the answer has no token") : status);
      });
}

}  // namespace splitlet::pod_worker
