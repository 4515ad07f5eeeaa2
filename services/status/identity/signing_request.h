#pragma once

/// Makes the CertificateSigningRequest of a node, and reads the answer.
/// Threads: any; pure.
/// Errors: those of x509.
/// Source: Kubernetes API, CertificateSigningRequest; kubelet certificate bootstrap.

#include <string>

#include "k8s.io/api/certificates/v1/certificates.pb.h"
#include "libs/base/status.h"
#include "libs/x509/names.h"

namespace splitlet::status {

inline constexpr const char* kSigningRequests =
    "/apis/certificates.k8s.io/v1/certificatesigningrequests";

using SigningRequest = k8s::io::api::certificates::v1::CertificateSigningRequest;

/// The certificate that is requested.
struct CertificateWish {
  x509::Names names;
  std::string signer;  // "kubernetes.io/kubelet-serving"
  std::string usage;   // "client auth" or "server auth"
};

/// "node-csr-...": the same name for the same key and wish, so that a restart finds its own
/// request.
std::string StableName(const CertificateWish& wish, const std::string& public_key);

/// With an empty `name` the server chooses one.
StatusOr<SigningRequest> MakeSigningRequest(const CertificateWish& wish, const std::string& key,
                                            const std::string& name);

/// OK: the existing request `there` is for the same wish and key.
Status CheckSame(const SigningRequest& there, const CertificateWish& wish,
                 const std::string& public_key);

struct Judgement {
  enum class Outcome { kWaiting, kIssued, kRefused } outcome = Outcome::kWaiting;
  std::string reason;       // why it was refused
  std::string certificate;  // PEM
};
Judgement Judge(const SigningRequest& answered);

}  // namespace splitlet::status
