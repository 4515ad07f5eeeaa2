#include "libs/https/tls_files.h"

namespace splitlet::https {
namespace {

constexpr uint64_t kMaxPair = 256 << 10, kMaxAuthority = 4 << 20;

}  // namespace

StatusOr<std::pair<std::string, std::string>> TlsFiles::ReadPair() {
  if (for_good_) return *for_good_;
  Status missing = NotFound("no serving certificate is set");
  for (const Pair& pair : places_.pairs) {
    auto certificate = files_.Read(pair.certificate, kMaxPair);
    if (certificate.status().code() == StatusCode::kNotFound) {
      missing = NotFound("{}: no such file", pair.certificate);
      continue;
    }
    if (!certificate.ok()) return Annotate(certificate.status(), pair.certificate);
    ASSIGN_OR_RETURN(std::string key, files_.Read(pair.key, kMaxPair), "{}", pair.key);
    return std::pair(*std::move(certificate), std::move(key));
  }
  return places_.made_here ? Awaited(missing) : missing;
}

Status TlsFiles::LookAtAuthority(Found& found) {
  if (places_.client_ca.empty()) return OkStatus();
  if (authority_ != nullptr && !places_.reload_client_ca) return OkStatus();
  ASSIGN_OR_RETURN(std::string pem, files_.Read(places_.client_ca, kMaxAuthority), "{}",
                   places_.client_ca);
  if (pem == authority_pem_) return OkStatus();
  ASSIGN_OR_RETURN(authority_, MakeClientAuthority(pem), "{}", places_.client_ca);
  authority_pem_ = std::move(pem);
  certificate_.clear();  // the handshake shows the list of authorities
  found.changed = true;
  return OkStatus();
}

Status TlsFiles::LookAtPair(Found& found) {
  ASSIGN_OR_RETURN(auto pair, ReadPair(), "serving certificate");
  if (pair.first == certificate_ && pair.second == key_) return OkStatus();
  ASSIGN_OR_RETURN(context_, MakeTlsContext(settings_, pair.first, pair.second, authority_pem_),
                   "serving certificate");
  if (!places_.reload_pair) for_good_ = pair;
  certificate_ = std::move(pair.first);
  key_ = std::move(pair.second);
  found.changed = true;
  return OkStatus();
}

TlsFiles::Found TlsFiles::Look() {
  Found found;
  const Status authority = LookAtAuthority(found);
  const Status pair = LookAtPair(found);
  found.problem = authority.ok() ? pair : authority;
  found.context = context_;
  found.authority = authority_;
  return found;
}

Status TlsFiles::Apply(Server& server) {
  const Found found = Look();
  if (found.changed) {
    server.SetClientAuthority(found.authority);
    if (found.context != nullptr) server.SetTls(found.context);
  }
  return found.problem;
}

}  // namespace splitlet::https
