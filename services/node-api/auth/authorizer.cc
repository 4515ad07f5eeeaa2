#include "services/node-api/auth/authorizer.h"

#include <fmt/ranges.h>

#include <utility>

#include "services/node-api/auth/attributes.h"

namespace splitlet::node_api {
namespace {

/// Adds the length before each part, so that no two requests have the same key.
void Append(std::string& key, std::string_view part) {
  key += fmt::format("{}:{}", part.size(), part);
}

std::string KeyOf(const User& user, const std::string& verb, const std::string& subresource) {
  std::string key;
  for (const std::string_view part : {std::string_view(user.name), std::string_view(user.uid),
                                      std::string_view(verb), std::string_view(subresource)})
    Append(key, part);
  key += fmt::format("{};", user.groups.size());
  for (const auto& group : user.groups) Append(key, group);
  for (const auto& [name, values] : user.extra) {
    Append(key, name);
    key += fmt::format("{};", values.size());
    for (const auto& value : values) Append(key, value);
  }
  return key;
}

}  // namespace

void Authorizer::Authorize(const User& user, std::string_view method, std::string_view path,
                           Done done) {
  if (options_.always) return done(OkStatus());
  Question question{.user = user,
                    .verb = std::string(VerbOf(method)),
                    .subresources = {},
                    .next = 0,
                    .done = std::move(done)};
  for (const std::string_view subresource : SubresourcesOf(path))
    question.subresources.emplace_back(subresource);
  AskNext(std::move(question));
}

void Authorizer::AskNext(Question question) {
  if (question.next == question.subresources.size())
    return question.done(
        PermissionDenied("Forbidden (user={}, verb={}, resource=nodes, subresource(s)=[{}])",
                         question.user.name, question.verb, fmt::join(question.subresources, " ")));
  const std::string& subresource = question.subresources[question.next];
  const std::string key = KeyOf(question.user, question.verb, subresource);
  const auto found = kept_.find(key);
  if (found != kept_.end() && deps_.clock.Now() < found->second.until) {
    order_.splice(order_.end(), order_, found->second.place);
    return OnAnswer(std::move(question), "", found->second.allowed);
  }
  AccessQuestion asked{.user = question.user,
                       .verb = question.verb,
                       .subresource = subresource,
                       .node = options_.node};
  deps_.calls.Ask<bool>(
      [asked = std::move(asked)](Reviewer& reviewer, const Deadline& deadline) {
        return reviewer.MayAccess(asked, deadline);
      },
      [this, key, question = std::move(question)](const StatusOr<bool>& answer) {
        OnAnswer(question, key, answer);
      });
}

/// An empty `key`: the answer comes from the cache.
void Authorizer::OnAnswer(Question question, const std::string& key, const StatusOr<bool>& answer) {
  if (!answer.ok()) {
    // Without an API server no user can have rights, now or later, so the request is forbidden.
    if (answer.status().code() == StatusCode::kFailedPrecondition)
      return question.done(
          PermissionDenied("Forbidden (user={}, verb={}, resource=nodes, subresource(s)=[{}]): {}",
                           question.user.name, question.verb, fmt::join(question.subresources, " "),
                           Message(answer.status())));
    if (answer.status().code() == StatusCode::kResourceExhausted)
      return question.done(answer.status());
    return question.done(
        Internal("Authorization error (user={}, verb={}, resource=nodes, subresource={})",
                 question.user.name, question.verb, question.subresources[question.next]));
  }
  if (!key.empty()) Keep(key, *answer);
  if (*answer) return question.done(OkStatus());
  ++question.next;
  AskNext(std::move(question));
}

void Authorizer::Keep(const std::string& key, bool allowed) {
  const Duration ttl = allowed ? options_.allowed_ttl : options_.denied_ttl;
  if (key.size() >= kMaxKeyBytes || ttl <= Duration{0}) return;
  if (const auto old = kept_.find(key); old != kept_.end()) {
    order_.erase(old->second.place);
    kept_.erase(old);
  }
  while (kept_.size() >= kMaxKept) {
    kept_.erase(order_.front());
    order_.pop_front();
  }
  const auto place = order_.insert(order_.end(), key);
  kept_[key] = {allowed, deps_.clock.Now() + ttl, place};
}

}  // namespace splitlet::node_api
