#include "services/status/identity/signing_request.h"

#include <algorithm>

#include "libs/base/one_line.h"
#include "libs/base/text.h"
#include "libs/kube/time_text.h"
#include "libs/x509/key.h"
#include "libs/x509/request.h"

namespace splitlet::status {
namespace {

constexpr const char* kSignature = "digital signature";

/// RFC 4648, "base64url", without padding.
std::string UrlBase64(std::string_view bytes) {
  std::string text = kube::EncodeBase64(bytes);
  text.erase(std::find(text.begin(), text.end(), '='), text.end());
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

}  // namespace

std::string StableName(const CertificateWish& wish, const std::string& public_key) {
  // '|' is not in base64, so that different parts never give the same text.
  std::string parts;
  const auto add = [&parts](std::string_view part) { parts += UrlBase64(part) + "|"; };
  add(public_key);
  add(wish.names.common_name);
  for (const std::string& organization : wish.names.organizations) add(organization);
  add(kSignature);
  add(wish.usage);
  return "node-csr-" + UrlBase64(x509::Sha512_256(parts));
}

StatusOr<SigningRequest> MakeSigningRequest(const CertificateWish& wish, const std::string& key,
                                            const std::string& name) {
  ASSIGN_OR_RETURN(const std::string pem, x509::MakeRequest(key, wish.names), "make a request");
  SigningRequest object;
  if (name.empty()) {
    object.mutable_metadata()->set_generate_name("csr-");
  } else {
    object.mutable_metadata()->set_name(name);
  }
  object.mutable_spec()->set_request(pem);
  object.mutable_spec()->set_signer_name(wish.signer);
  object.mutable_spec()->add_usages(kSignature);
  object.mutable_spec()->add_usages(wish.usage);
  return object;
}

Status CheckSame(const SigningRequest& there, const CertificateWish& wish,
                 const std::string& public_key) {
  const auto request = x509::ReadRequest(there.spec().request());
  if (!request.ok()) return request.status();
  if (there.spec().signer_name() != wish.signer)
    return InvalidArgument("the existing request is for another signer");
  if (request->names != wish.names)
    return InvalidArgument("the existing request is for other names");
  if (request->public_key != public_key)
    return InvalidArgument("the existing request is for another key");
  return OkStatus();
}

Judgement Judge(const SigningRequest& answered) {
  using enum Judgement::Outcome;
  for (const auto& condition : answered.status().conditions()) {
    if (condition.type() != "Denied" && condition.type() != "Failed") continue;
    return {.outcome = kRefused,
            .reason = OneLine(fmt::format("{}: {}: {}", condition.type(), condition.reason(),
                                          ToText(condition.message())))};
  }
  if (answered.status().certificate().empty()) return {};
  return {.outcome = kIssued, .certificate = answered.status().certificate()};
}

}  // namespace splitlet::status
