#pragma once

/// The API's object by which a node asks for a certificate, and what its answer means.
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

/// What is asked for.
struct CertificateWish {
  x509::Names names;
  std::string signer;  // "kubernetes.io/kubelet-serving"
  std::string usage;   // "client auth" or "server auth"
};

/// "node-csr-...": the same for the same key and wish, so that a node that starts again finds what
/// it asked for before.
std::string StableName(const CertificateWish& wish, const std::string& public_key);

/// Without a name the server chooses one.
StatusOr<SigningRequest> MakeSigningRequest(const CertificateWish& wish, const std::string& key,
                                            const std::string& name);

/// OK: `there` asks for the same with the same key.
Status CheckSame(const SigningRequest& there, const CertificateWish& wish,
                 const std::string& public_key);

struct Judgement {
  enum class Outcome { kWaiting, kIssued, kRefused } outcome = Outcome::kWaiting;
  std::string reason;       // of a refusal
  std::string certificate;  // PEM
};
Judgement Judge(const SigningRequest& answered);

}  // namespace splitlet::status
