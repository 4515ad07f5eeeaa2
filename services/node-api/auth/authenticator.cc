#include "services/node-api/auth/authenticator.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "libs/base/trim.h"
#include "libs/kube/time_text.h"

namespace splitlet::node_api {
namespace {

constexpr std::string_view kProtocolPrefix = "base64url.bearer.authorization.k8s.io.";
constexpr size_t kMaxToken = 32 << 10;

std::vector<std::string_view> ListOf(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto item = Trimmed(text.substr(0, comma)); !item.empty()) items.push_back(item);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return items;
}

bool IsBearer(std::string_view scheme) {
  return std::ranges::equal(scheme, std::string_view("bearer"), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// Of an alphabet for URLs, without padding.
std::optional<std::string> DecodeUrlBase64(std::string_view text) {
  std::string standard(text);
  std::ranges::replace(standard, '-', '+');
  std::ranges::replace(standard, '_', '/');
  while (standard.size() % 4 != 0) standard += '=';
  auto decoded = kube::DecodeBase64(standard);
  if (!decoded.ok()) return std::nullopt;
  return *std::move(decoded);
}

StatusOr<std::optional<std::string>> ProtocolToken(std::string_view protocols) {
  std::vector<std::string_view> tokens;
  const auto items = ListOf(protocols);
  std::ranges::copy_if(items, std::back_inserter(tokens),
                       [](auto item) { return item.starts_with(kProtocolPrefix); });
  if (tokens.empty()) return std::optional<std::string>();
  if (tokens.size() > 1) return Unauthenticated("more than one protocol stands for a token");
  auto token = DecodeUrlBase64(tokens.front().substr(kProtocolPrefix.size()));
  if (!token) return Unauthenticated("the protocol that stands for a token cannot be decoded");
  if (token->empty()) return std::optional<std::string>();
  if (items.size() < 2) return Unauthenticated("no protocol stands beside the token");
  return token;
}

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

StatusOr<std::optional<std::string>> TokenOf(const https::Request& request) {
  const std::string_view header = Trimmed(request.Header("Authorization"));
  const auto blank = header.find(' ');
  if (blank != std::string_view::npos && IsBearer(header.substr(0, blank))) {
    const std::string_view token = Trimmed(header.substr(blank));
    if (!token.empty()) return std::optional(std::string(token.substr(0, token.find(' '))));
  }
  return ProtocolToken(request.Header("Sec-WebSocket-Protocol"));
}

std::string WithoutTokens(std::string_view protocols) {
  std::string kept;
  for (const std::string_view item : ListOf(protocols)) {
    if (item.starts_with(kProtocolPrefix)) continue;
    if (!kept.empty()) kept += ", ";
    kept += item;
  }
  return kept;
}

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
    if (!options_.anonymous) return done(Unauthenticated("no credential is shown"));
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
