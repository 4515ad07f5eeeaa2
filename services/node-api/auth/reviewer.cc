#include "services/node-api/auth/reviewer.h"

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "k8s.io/api/authorization/v1/authorization.pb.h"
#include "libs/apiclient/client.h"

namespace splitlet::node_api {
namespace {

namespace authn = k8s::io::api::authentication::v1;
namespace authz = k8s::io::api::authorization::v1;

User UserOf(const authn::UserInfo& info) {
  User user{.name = info.username(),
            .uid = info.uid(),
            .groups = {info.groups().begin(), info.groups().end()},
            .extra = {}};
  for (const auto& [key, value] : info.extra())
    user.extra[key] = {value.items().begin(), value.items().end()};
  return user;
}

void FillSpec(const AccessQuestion& question, authz::SubjectAccessReviewSpec& spec) {
  auto& resource = *spec.mutable_resource_attributes();
  resource.set_verb(question.verb);
  resource.set_version("v1");
  resource.set_resource("nodes");
  resource.set_subresource(question.subresource);
  resource.set_name(question.node);
  spec.set_user(question.user.name);
  if (!question.user.uid.empty()) spec.set_uid(question.user.uid);
  for (const auto& group : question.user.groups) spec.add_groups(group);
  for (const auto& [key, values] : question.user.extra)
    for (const auto& value : values) (*spec.mutable_extra())[key].add_items(value);
}

class ApiReviewer final : public Reviewer {
 public:
  explicit ApiReviewer(apiclient::Client& client) : client_(client) {}

  StatusOr<std::optional<User>> ReviewToken(const std::string& token,
                                            const Deadline& deadline) override {
    authn::TokenReview review, answer;
    review.mutable_spec()->set_token(token);
    RETURN_IF_ERROR(
        client_.Create("/apis/authentication.k8s.io/v1/tokenreviews",
                       {"authentication.k8s.io/v1", "TokenReview", review}, &answer, deadline),
        "TokenReview");
    if (answer.status().authenticated()) return std::optional(UserOf(answer.status().user()));
    if (!answer.status().error().empty()) return Unauthenticated("{}", answer.status().error());
    return std::optional<User>();
  }

  StatusOr<bool> MayAccess(const AccessQuestion& question, const Deadline& deadline) override {
    authz::SubjectAccessReview review, answer;
    FillSpec(question, *review.mutable_spec());
    RETURN_IF_ERROR(client_.Create("/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                   {"authorization.k8s.io/v1", "SubjectAccessReview", review},
                                   &answer, deadline),
                    "SubjectAccessReview");
    if (answer.status().allowed() && answer.status().denied())
      return Internal("the API server both allows and denies the request");
    return answer.status().allowed();
  }

 private:
  apiclient::Client& client_;
};

}  // namespace

std::unique_ptr<Reviewer> MakeReviewer(apiclient::Client& client) {
  return std::make_unique<ApiReviewer>(client);
}

}  // namespace splitlet::node_api
