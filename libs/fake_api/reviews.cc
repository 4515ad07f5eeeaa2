#include "libs/fake_api/reviews.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "k8s.io/api/authentication/v1/authentication.pb.h"
#include "k8s.io/api/authorization/v1/authorization.pb.h"
#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/kube/time_text.h"

namespace splitlet::fake_api {
namespace {

namespace authentication = k8s::io::api::authentication::v1;
namespace authorization = k8s::io::api::authorization::v1;
namespace certificates = k8s::io::api::certificates::v1;

constexpr std::string_view kClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
constexpr std::string_view kServingSigner = "kubernetes.io/kubelet-serving";
constexpr std::string_view kDefaultAudience = "https://kubernetes.default.svc.cluster.local";

template <class List>
bool Contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool Fits(const std::string& pattern, const std::string& text) {
  return pattern == "*" || pattern == text;
}

bool Fits(const AccessRule& rule, const FakeUser& user) {
  if (rule.who.starts_with("group:")) return Contains(user.groups, rule.who.substr(6));
  return Fits(rule.who, user.name);
}

Access AccessOf(const authorization::ResourceAttributes& attributes) {
  std::string resource = attributes.resource();
  if (!attributes.subresource().empty()) resource += "/" + attributes.subresource();
  return {attributes.verb(), attributes.group(), resource, attributes.name(), {}};
}

template <class Spec>
Access AccessOf(const Spec& spec) {
  if (spec.has_resource_attributes()) return AccessOf(spec.resource_attributes());
  const auto& other = spec.non_resource_attributes();
  return {.verb = other.verb(), .path = other.path()};
}

template <class Review>
FakeUser UserOfReview(const Review& review) {
  const auto& spec = review.spec();
  return {spec.user(), spec.uid(), {spec.groups().begin(), spec.groups().end()}};
}

void SetUser(const FakeUser& user, authentication::UserInfo& info) {
  info.set_username(user.name);
  if (!user.uid.empty()) info.set_uid(user.uid);
  info.mutable_groups()->Assign(user.groups.begin(), user.groups.end());
}

void SetAllowed(bool allowed, authorization::SubjectAccessReviewStatus& status) {
  status.set_allowed(allowed);
  if (allowed) status.set_reason("allowed by a rule of the test");
}

/// Base64url without padding, as in a JWT.
std::string Base64Url(std::string_view bytes) {
  std::string text = kube::EncodeBase64(bytes);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(std::find(text.begin(), text.end(), '='), text.end());
  return text;
}

int64_t Seconds(WallTime time) { return ToNanos(time) / 1'000'000'000; }

bool OnlyUsages(const certificates::CertificateSigningRequest& request, std::string_view wanted) {
  const auto& usages = request.spec().usages();
  const auto known = [&](const std::string& usage) {
    return usage == "key encipherment" || usage == "digital signature" || usage == wanted;
  };
  return std::all_of(usages.begin(), usages.end(), known) && Contains(usages, wanted);
}

/// Why the signer refuses to sign; "" if it signs.
std::string WrongWith(const certificates::CertificateSigningRequest& request) {
  const std::string& signer = request.spec().signer_name();
  const auto read = FakeAuthority::Read(request.spec().request());
  if (!read.ok()) return splitlet::Message(read.status());
  const auto& subject = read->subject;
  const bool client = signer == kClientSigner;
  if (!client && signer != kServingSigner) return "";
  if (subject.organizations != std::vector<std::string>{"system:nodes"})
    return "subject organization is not system:nodes";
  if (!subject.common_name.starts_with("system:node:"))
    return "subject common name does not begin with system:node: ";
  if (read->other_names) return "email and URI subjectAltNames are not allowed";
  const bool has_names = !subject.dns_names.empty() || !subject.addresses.empty();
  if (client && has_names) return "DNS and IP subjectAltNames are not allowed";
  if (!client && !has_names) return "DNS or IP subjectAltName is required";
  return OnlyUsages(request, client ? "client auth" : "server auth") ? "" : "usages did not match";
}

}  // namespace

std::optional<FakeUser> Reviews::UserOf(const std::string& token, WallTime now) const {
  if (const auto it = tokens_.find(token); it != tokens_.end()) return it->second;
  const auto it = issued_.find(token);
  if (it == issued_.end() || now >= it->second.until) return std::nullopt;
  return it->second.user;
}

bool Reviews::IsAllowed(const FakeUser& user, const Access& access) const {
  if (all_ || Contains(user.groups, "system:masters")) return true;
  return std::any_of(rules_.begin(), rules_.end(), [&](const AccessRule& rule) {
    if (!Fits(rule, user) || !Fits(rule.verb, access.verb)) return false;
    if (!rule.path.empty() || !access.path.empty()) return Fits(rule.path, access.path);
    return Fits(rule.group, access.group) && Fits(rule.resource, access.resource) &&
           Fits(rule.name, access.name);
  });
}

void Reviews::Answer(google::protobuf::Message& review, const FakeUser& asker, WallTime now) const {
  if (auto* token = dynamic_cast<authentication::TokenReview*>(&review)) {
    const auto user = UserOf(token->spec().token(), now);
    auto& status = *token->mutable_status();
    status.Clear();
    status.set_authenticated(user.has_value());
    if (user) {
      SetUser(*user, *status.mutable_user());
      *status.mutable_audiences() = token->spec().audiences();
    } else {
      status.set_error("invalid bearer token");
    }
    token->mutable_spec()->clear_token();
  } else if (auto* self = dynamic_cast<authentication::SelfSubjectReview*>(&review)) {
    SetUser(asker, *self->mutable_status()->mutable_user_info());
  } else if (auto* access = dynamic_cast<authorization::SubjectAccessReview*>(&review)) {
    SetAllowed(IsAllowed(UserOfReview(*access), AccessOf(access->spec())),
               *access->mutable_status());
  } else if (auto* local = dynamic_cast<authorization::LocalSubjectAccessReview*>(&review)) {
    SetAllowed(IsAllowed(UserOfReview(*local), AccessOf(local->spec())), *local->mutable_status());
  } else if (auto* own = dynamic_cast<authorization::SelfSubjectAccessReview*>(&review)) {
    SetAllowed(IsAllowed(asker, AccessOf(own->spec())), *own->mutable_status());
  }
}

Status Reviews::AnswerTokenRequest(authentication::TokenRequest& request,
                                   const TokenContext& context) {
  const Place& place = context.account;
  const Object account = context.store.Find(*place.kind, place.key());
  if (account == nullptr) return NotFound("serviceaccounts \"{}\" not found", place.name);
  if (const auto& want = request.metadata().uid(); !want.empty() && want != MetaOf(*account).uid())
    return Aborted("service account \"{}\" has UID {}, not {}", place.name, MetaOf(*account).uid(),
                   want);
  auto& spec = *request.mutable_spec();
  if (!spec.has_expiration_seconds()) spec.set_expiration_seconds(3600);
  if (spec.expiration_seconds() < 600)
    return FailedPrecondition(
        "TokenRequest.authentication.k8s.io \"{}\" is invalid: "
        "spec.expirationSeconds: Invalid value: {}: may not specify a "
        "duration less than 10 minutes",
        place.name, spec.expiration_seconds());
  if (spec.audiences().empty()) spec.add_audiences(std::string(kDefaultAudience));
  std::string bound;
  if (spec.has_bound_object_ref()) {
    const auto& ref = spec.bound_object_ref();
    const Kind& kind = FindKind(ref.kind() == "Secret" ? "secrets"
                                : ref.kind() == "Node" ? "nodes"
                                                       : "pods");
    const std::string key = kind.namespaced ? place.name_space + "/" + ref.name() : ref.name();
    const Object object = context.store.Find(kind, key);
    if (object == nullptr) return NotFound("{} \"{}\" not found", kind.resource, ref.name());
    if (!ref.uid().empty() && ref.uid() != MetaOf(*object).uid())
      return Aborted(
          "Operation cannot be fulfilled on {} \"{}\": the UID in the bound object "
          "reference ({}) does not match the UID in record. The object might have been "
          "deleted and then recreated",
          kind.resource, ref.name(), ref.uid());
    bound = fmt::format(R"(,"{}":{{"name":"{}","uid":"{}"}})", kind.singular, ref.name(),
                        MetaOf(*object).uid());
  }
  const std::string& uid = MetaOf(*account).uid();
  const int64_t now = Seconds(context.now), until = now + spec.expiration_seconds();
  std::string audiences;
  for (const auto& audience : spec.audiences())
    audiences += fmt::format("{}\"{}\"", audiences.empty() ? "" : ",", audience);
  const std::string claims = fmt::format(
      R"({{"aud":[{}],"exp":{},"iat":{},"iss":"{}","jti":"{}","kubernetes.io":{{"namespace":"{}"{},)"
      R"("serviceaccount":{{"name":"{}","uid":"{}"}}}},"nbf":{},"sub":"system:serviceaccount:{}:{}"}})",
      audiences, until, now, kDefaultAudience, MakeUid(context.random), place.name_space, bound,
      place.name, uid, now, place.name_space, place.name);
  const std::string token = Base64Url(R"({"alg":"RS256","kid":"fake"})") + "." + Base64Url(claims) +
                            "." + Base64Url(MakeUid(context.random));
  auto& status = *request.mutable_status();
  status.set_token(token);
  status.mutable_expiration_timestamp()->set_seconds(until);
  issued_[token] = {{fmt::format("system:serviceaccount:{}:{}", place.name_space, place.name),
                     uid,
                     {"system:serviceaccounts", "system:serviceaccounts:" + place.name_space,
                      "system:authenticated"}},
                    {spec.audiences().begin(), spec.audiences().end()},
                    context.now + std::chrono::seconds{spec.expiration_seconds()}};
  MetaOf(request).set_name(place.name);
  MetaOf(request).set_namespace_(place.name_space);
  return OkStatus();
}

bool IsKubeletRequest(const certificates::CertificateSigningRequest& request) {
  const std::string& signer = request.spec().signer_name();
  return (signer == kClientSigner || signer == kServingSigner) && WrongWith(request).empty();
}

bool HasCondition(const certificates::CertificateSigningRequest& request, std::string_view type) {
  const auto& conditions = request.status().conditions();
  return std::any_of(conditions.begin(), conditions.end(),
                     [&](const auto& condition) { return condition.type() == type; });
}

void AddCondition(certificates::CertificateSigningRequest& request, const std::string& type,
                  const std::string& reason, WallTime now) {
  auto& condition = *request.mutable_status()->add_conditions();
  condition.set_type(type);
  condition.set_status("True");
  condition.set_reason(reason);
  condition.mutable_last_update_time()->set_seconds(Seconds(now));
  condition.mutable_last_transition_time()->set_seconds(Seconds(now));
}

void SignRequest(certificates::CertificateSigningRequest& request, const FakeAuthority& authority,
                 WallTime now) {
  if (const std::string wrong = WrongWith(request); !wrong.empty()) {
    AddCondition(request, "Failed", "SignerValidationFailure", now);
    request.mutable_status()->mutable_conditions()->rbegin()->set_message(wrong);
    return;
  }
  const auto& usages = request.spec().usages();
  const int64_t lasts =
      request.spec().has_expiration_seconds() ? request.spec().expiration_seconds() : 365 * 86400;
  // A short-lived certificate starts now, because backdating would use up too much of its validity.
  const WallTime from = now - std::chrono::minutes{5};
  const auto signed_by =
      authority.Sign(request.spec().request(),
                     {.from = from,
                      .until = (lasts < 8 * 3600 ? now : from) + std::chrono::seconds{lasts},
                      .client = Contains(usages, "client auth"),
                      .server = Contains(usages, "server auth")});
  CHECK(signed_by.ok(), "{}", signed_by.status());
  request.mutable_status()->set_certificate(*signed_by);
}

}  // namespace splitlet::fake_api
