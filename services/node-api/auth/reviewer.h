#pragma once

/// What the API server is asked about those who call: who they are, and what they may do.
/// Threads: any; calls block up to their deadline.
/// Errors: UNAUTHENTICATED with the server's words for a token that it refuses; INTERNAL for an
/// answer that contradicts itself; those of apiclient::Client.
/// Source: docs/behaviour/node-api.md, "Authentication" and "Authorization".

#include <memory>
#include <optional>
#include <string>

#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "services/node-api/auth/identity.h"

namespace splitlet::apiclient {
class Client;
}

namespace splitlet::node_api {

struct AccessQuestion {
  User user;
  std::string verb, subresource, node;
};

class Reviewer {
 public:
  virtual ~Reviewer() = default;
  /// None: the server does not know the token, and says nothing more.
  virtual StatusOr<std::optional<User>> ReviewToken(const std::string& token,
                                                    const Deadline& deadline) = 0;
  virtual StatusOr<bool> MayAccess(const AccessQuestion& question, const Deadline& deadline) = 0;
};
/// `client` outlives it.
std::unique_ptr<Reviewer> MakeReviewer(apiclient::Client& client);

}  // namespace splitlet::node_api
