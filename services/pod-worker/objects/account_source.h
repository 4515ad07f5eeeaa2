#pragma once

/// The service account of a pod, as it is shown to credential provider plugins.
/// Threads: the loop's, as the answers.
/// Errors:  of the answers: NOT_FOUND: there is no such account, or the pod is over; else why
///          nobody knows.
/// Source:  docs/behaviour/images.md, "Tokens for plugins".

#include <functional>
#include <map>
#include <string>

#include "libs/base/status.h"

namespace splitlet::pod_worker {

/// Whose tokens: the service account's, bound to the pod.
struct TokenOwner {
  std::string uid, name, name_space, service_account;
};

/// The part of the object that is used.
struct PodAccount {
  std::string uid;
  std::map<std::string, std::string> annotations;
};

class AccountSource {
 public:
  using OnAccount = std::function<void(const StatusOr<PodAccount>& account)>;
  using OnToken = std::function<void(const StatusOr<std::string>& token)>;
  virtual ~AccountSource() = default;
  /// As the object is now.
  virtual void GetAccount(const TokenOwner& pod, OnAccount done) = 0;
  /// `account`: its UID. One that was made anew has another, and its tokens are others.
  virtual void GetToken(const TokenOwner& pod, const std::string& account,
                        const std::string& audience, OnToken done) = 0;
};

}  // namespace splitlet::pod_worker
