#pragma once

/// What a credential provider plugin with `tokenAttributes` is told of the service account of a
/// pod, and for whom else its answer is good.
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
  /// For whom answers are kept: for one token, or for all tokens of one account.
  enum class CacheType { kToken, kServiceAccount };
  std::string audience;
  CacheType cache_type = CacheType::kToken;
  bool require_account = false;  // it is not run for pods without one
  std::vector<std::string> required_annotations, optional_annotations;  // their keys
};

struct PluginAccount {
  AccountRef who;
  std::string token;
  std::map<std::string, std::string> annotations;  // that it wants to know
};

/// Of those that the account has. Unset: a required one is missing.
std::optional<std::map<std::string, std::string>> AnnotationsFor(
    const TokenAttributes& attributes, const std::map<std::string, std::string>& all);

/// The same for whoever may share an answer, and nothing of the token can be read in it.
std::string AnswerKey(TokenAttributes::CacheType type, const PluginAccount& account);

}  // namespace splitlet::pod_worker
