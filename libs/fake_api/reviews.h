#pragma once

/// Authentication and authorization of the fake API server: TokenReview, SubjectAccessReview,
/// TokenRequest, and the signing of certificates.
/// Threads: one at a time.
/// Errors:  NOT_FOUND, ABORTED: the object that a token is bound to is missing or was
///          replaced; FAILED_PRECONDITION: validation refuses the request.
/// Source:  Kubernetes API, "Authenticating", "Authorization", "Certificates and Certificate
///          Signing Requests".

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/fake_api/authority.h"
#include "libs/fake_api/objects.h"
#include "libs/fake_api/rules.h"
#include "libs/fake_api/store.h"

namespace k8s::io::api::authentication::v1 {
class TokenRequest;
}
namespace k8s::io::api::certificates::v1 {
class CertificateSigningRequest;
}

namespace splitlet::fake_api {

struct FakeUser {
  std::string name, uid;
  std::vector<std::string> groups;
};

/// "*" matches everything.
struct AccessRule {
  std::string who;  // a user's name, or "group:NAME"
  std::string verb = "*", group = "*";
  std::string resource = "*";  // resource with subresource: "nodes/log"
  std::string name = "*";
  std::string path;  // a URL that is no resource: "/healthz"; then the other fields are ignored
};

struct Access {
  std::string verb, group, resource, name, path;
};

class Reviews {
 public:
  void AddToken(const std::string& token, FakeUser user) { tokens_[token] = std::move(user); }
  void RemoveToken(const std::string& token) { tokens_.erase(token); }
  void Allow(AccessRule rule) { rules_.push_back(std::move(rule)); }
  void ForbidAll() { rules_.clear(); }
  void AllowAll(bool all) { all_ = all; }

  std::optional<FakeUser> UserOf(const std::string& token, WallTime now) const;
  bool IsAllowed(const FakeUser& user, const Access& access) const;

  /// Fills in the status of a review of any kind.
  void Answer(google::protobuf::Message& review, const FakeUser& asker, WallTime now) const;

  struct TokenContext {
    const Store& store;
    const Place& account;  // serviceaccounts/NAME/token
    WallTime now;
    Random& random;
  };
  Status AnswerTokenRequest(k8s::io::api::authentication::v1::TokenRequest& request,
                            const TokenContext& context);

 private:
  struct Issued {
    FakeUser user;
    std::vector<std::string> audiences;
    WallTime until;
  };
  std::map<std::string, FakeUser> tokens_;
  std::map<std::string, Issued> issued_;
  std::vector<AccessRule> rules_;
  bool all_ = false;
};

/// True if one of the two kubelet signers signs the request, which is then approved automatically.
bool IsKubeletRequest(const k8s::io::api::certificates::v1::CertificateSigningRequest& request);
bool HasCondition(const k8s::io::api::certificates::v1::CertificateSigningRequest& request,
                  std::string_view type);
void AddCondition(k8s::io::api::certificates::v1::CertificateSigningRequest& request,
                  const std::string& type, const std::string& reason, WallTime now);
/// Gives an approved request its certificate, or the condition Failed.
void SignRequest(k8s::io::api::certificates::v1::CertificateSigningRequest& request,
                 const FakeAuthority& authority, WallTime now);

}  // namespace splitlet::fake_api
