#include "services/pod-worker/api_objects/pull_accounts.h"

#include <iterator>
#include <memory>
#include <utility>

#include "k8s.io/api/core/v1/config.pb.h"
#include "libs/apiclient/client.h"

namespace splitlet::pod_worker {

namespace {

Status NotHeld(const TokenOwner& pod) {
  return NotFound("pod {}/{} has no service account here", pod.name_space, pod.name);
}

}  // namespace

void PullAccounts::Release(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  const auto waiting = std::move(pod->second.waiting);
  pods_.erase(pod);
  tokens_.Release(uid);
  for (const auto& one : waiting) one.done(NotFound("the pod has ended"));
}

void PullAccounts::GetAccount(const TokenOwner& pod, OnAccount done) {
  if (!pods_.contains(pod.uid)) return done(NotHeld(pod));
  using Account = k8s::io::api::core::v1::ServiceAccount;
  auto into = std::make_shared<Account>();
  calls_.Get(
      fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}", apiclient::Escaped(pod.name_space),
                  apiclient::Escaped(pod.service_account)),
      into, [into, done = std::move(done)](const Status& status) {
        if (!status.ok()) return done(status);
        const auto& meta = into->metadata();
        done(PodAccount{meta.uid(), {meta.annotations().begin(), meta.annotations().end()}});
      });
}

void PullAccounts::GetToken(const TokenOwner& pod, const std::string& account,
                            const std::string& audience, OnToken done) {
  const auto held = pods_.find(pod.uid);
  if (held == pods_.end()) return done(NotHeld(pod));
  const TokenWish wish{audience, kTokenSeconds, account};
  std::erase_if(held->second.wishes, [&](const auto& one) { return one.account != account; });
  held->second.wishes.insert(wish);
  tokens_.Hold(pod, held->second.wishes);
  tokens_.Refresh(pod.uid);
  if (!tokens_.IsAwaited(pod.uid, wish)) return done(ValueOf(pod.uid, wish));
  held->second.waiting.push_back({wish, std::move(done)});
}

/// A callback may request again, or release the pod.
void PullAccounts::OnAnswer(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return;
  std::list<Waiting> answered;
  auto& waiting = pod->second.waiting;
  for (auto one = waiting.begin(); one != waiting.end();) {
    const auto next = std::next(one);
    if (!tokens_.IsAwaited(uid, one->wish)) answered.splice(answered.end(), waiting, one);
    one = next;
  }
  for (const auto& one : answered) one.done(ValueOf(uid, one.wish));
}

StatusOr<std::string> PullAccounts::ValueOf(const std::string& uid, const TokenWish& wish) const {
  const auto values = tokens_.Of(uid);
  const auto found = values.find(wish);
  if (found == values.end()) return NotFound("the service account was replaced");
  return found->second;
}

}  // namespace splitlet::pod_worker
