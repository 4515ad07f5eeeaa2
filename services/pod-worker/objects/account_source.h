#pragma once

/// The service account of a pod, for credential provider plugins.
/// Threads: the loop's; answers come there too.
/// Errors:  in the answers. NOT_FOUND: there is no such account, or the pod has ended. Else the API
///          server's error.
/// Source:  docs/behaviour/images.md, "Tokens for plugins".

#include <functional>
#include <map>
#include <string>

#include "libs/base/status.h"

namespace splitlet::pod_worker {

/// The pod that a token is bound to, and its service account.
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
  /// Reads the object now.
  virtual void GetAccount(const TokenOwner& pod, OnAccount done) = 0;
  /// `account`: its UID. An account that was deleted and created again has another UID.
  virtual void GetToken(const TokenOwner& pod, const std::string& account,
                        const std::string& audience, OnToken done) = 0;
};

}  // namespace splitlet::pod_worker
