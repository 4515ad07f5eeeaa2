#pragma once

/// The service account of a pod, as a credential provider plugin with `tokenAttributes` gets it,
/// and which pods may share the plugin's answer.
/// Threads: values and pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/images.md, "Tokens for plugins"; kubelet KEP-4412.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/pod-worker/images/keyring.h"

namespace splitlet::pod_worker {

struct TokenAttributes {
  /// An answer is kept for one token, or for all tokens of one account.
  enum class CacheType { kToken, kServiceAccount };
  std::string audience;
  CacheType cache_type = CacheType::kToken;
  bool require_account = false;  // the plugin is not run for pods without an account
  std::vector<std::string> required_annotations, optional_annotations;  // their keys
};

struct PluginAccount {
  AccountRef who;
  std::string token;
  std::map<std::string, std::string> annotations;  // that the plugin asks for
};

/// `all`: of the account. Unset: a required annotation is missing.
std::optional<std::map<std::string, std::string>> AnnotationsFor(
    const TokenAttributes& attributes, const std::map<std::string, std::string>& all);

/// Equal for pods that may share an answer. Does not reveal the token.
std::string AnswerKey(TokenAttributes::CacheType type, const PluginAccount& account);

}  // namespace splitlet::pod_worker
