#include "services/node-api/auth/authenticator.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "services/node-api/http/bearer_token.h"

namespace splitlet::node_api {
namespace {

constexpr size_t kMaxToken = 32 << 10;

User WithGroup(User user) {
  const bool has = std::ranges::any_of(user.groups, [](const auto& group) {
    return group == kAuthenticatedGroup || group == kUnauthenticatedGroup;
  });
  if (!has && user.name != kAnonymous) user.groups.emplace_back(kAuthenticatedGroup);
  return user;
}

User UserOf(const https::ClientCertificate& certificate) {
  return {.name = certificate.common_name,
          .uid = certificate.uid,
          .groups = certificate.organizations,
          .extra = {{"authentication.kubernetes.io/credential-id",
                     {"X509SHA256=" + certificate.sha256}}}};
}

}  // namespace

void Authenticator::Authenticate(const https::Request& request, Done done) {
  if (request.client) {
    User user = WithGroup(UserOf(*request.client));
    if (!options_.certificate_uid) user.uid.clear();
    return done(std::move(user));
  }
  const auto shown =
      options_.webhook ? TokenOf(request) : StatusOr<std::optional<std::string>>(std::nullopt);
  if (!shown.ok()) return done(shown.status());
  const std::optional<std::string>& token = *shown;
  if (!token) {
    if (!request.bad_client.empty()) return done(Unauthenticated("{}", request.bad_client));
    if (!options_.anonymous) return done(Unauthenticated("the request has no credential"));
    return done(
        User{.name = kAnonymous, .uid = "", .groups = {kUnauthenticatedGroup}, .extra = {}});
  }
  if (token->size() > kMaxToken) return done(Unauthenticated("the token is too long"));
  AskAbout(*token, [done = std::move(done)](const Answer& answer) {
    if (answer.ok() && *answer) return done(WithGroup(**answer));
    if (answer.ok()) return done(Unauthenticated("the API server does not know the token"));
    if (answer.status().code() == StatusCode::kResourceExhausted) return done(answer.status());
    done(Unauthenticated("{}", Message(answer.status())));
  });
}

std::string Authenticator::KeyOf(const std::string& token) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  HMAC(EVP_sha256(), options_.secret.data(), static_cast<int>(options_.secret.size()),
       reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data(), &length);
  return {reinterpret_cast<const char*>(digest.data()), length};
}

void Authenticator::AskAbout(const std::string& token, std::function<void(Answer)> done) {
  const std::string key = KeyOf(token);
  const auto found = kept_.find(key);
  if (found != kept_.end() && deps_.clock.Now() < found->second.until)
    return done(found->second.user);
  auto& waiting = asked_[key];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  deps_.calls.Ask<std::optional<User>>(
      [token](Reviewer& reviewer, const Deadline& deadline) {
        return reviewer.ReviewToken(token, deadline);
      },
      [this, key](const Answer& answer) { OnReviewed(key, answer); });
}

void Authenticator::OnReviewed(const std::string& key, const Answer& answer) {
  if (answer.ok()) Keep(key, *answer);
  const auto waiting = asked_.extract(key);
  for (const auto& done : waiting.mapped()) done(answer);
}

void Authenticator::Keep(const std::string& key, std::optional<User> user) {
  if (options_.token_ttl <= Duration{0}) return;
  if (const auto old = kept_.find(key); old != kept_.end()) {
    order_.erase(old->second.place);
    kept_.erase(old);
  }
  while (kept_.size() >= kMaxTokens) {
    kept_.erase(order_.front());
    order_.pop_front();
  }
  const auto place = order_.insert(order_.end(), key);
  kept_[key] = {std::move(user), deps_.clock.Now() + options_.token_ttl, place};
}

}  // namespace splitlet::node_api
