#include "services/pod-worker/api_objects/tokens.h"

#include <algorithm>
#include <utility>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "libs/apiclient/client.h"
#include "libs/base/fail_point.h"

namespace splitlet::pod_worker {

namespace {

using TokenRequest = k8s::io::api::authentication::v1::TokenRequest;

constexpr Duration kOldest = 24h;
constexpr Duration kJitter = 10s;
constexpr Duration kFirstRetry = 1s;
constexpr Duration kLastRetry = 30s;
/// The server's admission learns of a pod a little later than its watchers do.
constexpr Duration kSoonRetry = 200ms;
constexpr int kSoonTries = 5;

TokenRequest RequestFor(const TokenOwner& owner, const TokenWish& wish) {
  TokenRequest request;
  if (!wish.account.empty()) request.mutable_metadata()->set_uid(wish.account);
  auto& spec = *request.mutable_spec();
  // Without an audience the server uses its own.
  if (!wish.audience.empty()) spec.add_audiences(wish.audience);
  spec.set_expiration_seconds(wish.seconds);
  auto& bound = *spec.mutable_bound_object_ref();
  bound.set_kind("Pod");
  bound.set_api_version("v1");
  bound.set_name(owner.name);
  bound.set_uid(owner.uid);
  return request;
}

}  // namespace

void PodTokens::Hold(const TokenOwner& owner, const std::set<TokenWish>& wishes) {
  if (wishes.empty()) return Release(owner.uid);
  Pod& pod = pods_[owner.uid];
  pod.owner = owner;
  std::erase_if(pod.tokens, [&wishes](const auto& token) { return !wishes.contains(token.first); });
  for (const auto& wish : wishes) pod.tokens.try_emplace(wish);
}

bool PodTokens::Refresh(const std::string& uid) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return true;
  const Clock::Time now = deps_.context.clock.Now();
  bool all = true;
  for (auto& [wish, token] : pod->second.tokens) {
    const bool old = token.value.empty() || now >= token.refresh_at;
    const bool waits = token.retry_at && now < token.retry_at;
    if (old && !token.asking && !waits) Ask(pod->second.owner, wish, token);
    all = all && (!token.value.empty() || !token.trouble.ok());
  }
  return all;
}

/// Killed before the answer is in a file: the next start requests another token.
void PodTokens::Ask(const TokenOwner& owner, const TokenWish& wish, Token& token) {
  FAIL_POINT_VOID("pod-worker.token-request.before");
  token.asking = true;
  token.number = ++last_number_;
  const std::string path =
      fmt::format("/api/v1/namespaces/{}/serviceaccounts/{}/token",
                  apiclient::Escaped(owner.name_space), apiclient::Escaped(owner.service_account));
  const TokenRequest request = RequestFor(owner, wish);
  auto into = std::make_shared<TokenRequest>();
  deps_.calls.Post(
      path, {"authentication.k8s.io/v1", "TokenRequest", request}, into,
      [this, uid = owner.uid, wish, number = token.number, into](const Status& status) {
        FAIL_POINT_VOID("pod-worker.token-request.after");
        Token* const asked = Find(uid, wish, number);
        if (asked == nullptr) return;
        if (AsksSoonAgain(uid, wish, *asked, status)) return;
        asked->asking = false;
        const bool given = status.ok() && !into->status().token().empty();
        const int64_t seconds = into->spec().expiration_seconds();
        if (given) {
          OnToken(*asked, into->status().token(),
                  std::chrono::seconds{seconds > 0 ? seconds : wish.seconds});
        } else {
          OnTrouble(*asked, status.ok() ? DataLoss("the answer has no token") : status);
        }
        deps_.on_answer(uid, given);
      });
}

bool PodTokens::AsksSoonAgain(const std::string& uid, const TokenWish& wish, Token& token,
                              const Status& status) {
  const bool early = token.value.empty() && token.failures == 0 && token.refusals < kSoonTries;
  if (!early || status.code() != StatusCode::kPermissionDenied) return false;
  ++token.refusals;
  deps_.context.loop.RunAfter(kSoonRetry, [this, alive = std::weak_ptr<const bool>(alive_), uid,
                                           wish, number = token.number] {
    if (alive.expired()) return;
    Token* const waiting = Find(uid, wish, number);
    if (waiting != nullptr) Ask(pods_.at(uid).owner, wish, *waiting);
  });
  return true;
}

PodTokens::Token* PodTokens::Find(const std::string& uid, const TokenWish& wish, uint64_t number) {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return nullptr;
  const auto token = pod->second.tokens.find(wish);
  return token == pod->second.tokens.end() || token->second.number != number ? nullptr
                                                                             : &token->second;
}

/// The lifetime counts from now on the node's clock, because the server's clock may differ.
void PodTokens::OnToken(Token& token, const std::string& value, std::chrono::seconds lifetime) {
  const Clock::Time now = deps_.context.clock.Now();
  const Duration jitter{
      static_cast<int64_t>(deps_.context.random.Below(static_cast<uint64_t>(kJitter.count())))};
  token.value = value;
  token.expires_at = now + lifetime;
  token.refresh_at = now + std::min<Duration>(lifetime * 8 / 10, kOldest) - jitter;
  token.trouble = OkStatus();
  token.failures = 0;
  token.retry_at = {};
}

void PodTokens::OnTrouble(Token& token, const Status& status) {
  token.trouble = status;
  const Duration wait = std::min(kFirstRetry * (1 << std::min(token.failures++, 5)), kLastRetry);
  token.retry_at = deps_.context.clock.Now() + wait;
}

StatusOr<std::string> PodTokens::ValueOf(const Pod& pod, const TokenWish& wish,
                                         const Token& token) const {
  const bool asked = !token.trouble.ok();
  const std::string why = asked ? Message(token.trouble) : "the API server has not answered yet";
  const StatusCode code = asked ? token.trouble.code() : StatusCode::kUnavailable;
  if (token.value.empty()) return MakeStatus(code, "failed to fetch token: {}", why);
  if (deps_.context.clock.Now() < token.expires_at) return token.value;
  const auto& owner = pod.owner;
  return Unavailable("token \"{}\"/\"{}\"/{}/[{}] expired and refresh failed: {}",
                     owner.service_account, owner.name_space, wish.seconds, wish.audience, why);
}

PodTokens::Values PodTokens::Of(const std::string& uid) const {
  Values values;
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return values;
  for (const auto& [wish, token] : pod->second.tokens)
    values.emplace(wish, ValueOf(pod->second, wish, token));
  return values;
}

bool PodTokens::IsAwaited(const std::string& uid, const TokenWish& wish) const {
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return false;
  const auto found = pod->second.tokens.find(wish);
  if (found == pod->second.tokens.end()) return false;
  const Token& token = found->second;
  return token.asking && (token.value.empty() || deps_.context.clock.Now() >= token.expires_at);
}

}  // namespace splitlet::pod_worker
