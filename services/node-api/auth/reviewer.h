#pragma once

/// Asks the API server about a client: who it is, and what it may do.
/// Threads: any; calls block up to their deadline.
/// Errors: UNAUTHENTICATED with the server's text for a refused token; INTERNAL for an answer that
/// contradicts itself; those of apiclient::Client.
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
  /// nullopt: the server does not know the token, and gives no reason.
  virtual StatusOr<std::optional<User>> ReviewToken(const std::string& token,
                                                    const Deadline& deadline) = 0;
  virtual StatusOr<bool> MayAccess(const AccessQuestion& question, const Deadline& deadline) = 0;
};
/// `client` outlives the reviewer.
std::unique_ptr<Reviewer> MakeReviewer(apiclient::Client& client);

}  // namespace splitlet::node_api
