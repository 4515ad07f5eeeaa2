#include "libs/bus/nats_trust.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#include <cerrno>

namespace splitlet::bus {
namespace {

constexpr const char* kServerName = "splitlet-bus";  // in its certificate (deploy/local/nats.sh)

/// This thread makes a context for the bus.
thread_local bool making_context = false;

class WithoutSystemStore {
 public:
  WithoutSystemStore() { making_context = true; }
  ~WithoutSystemStore() { making_context = false; }
  WithoutSystemStore(const WithoutSystemStore&) = delete;
  WithoutSystemStore& operator=(const WithoutSystemStore&) = delete;
};

/// The part of "nats://user:password@host:4222" that is asked for.
std::string HostOf(std::string url) {
  if (const auto scheme = url.find("://"); scheme != std::string::npos) url.erase(0, scheme + 3);
  if (const auto at = url.find('@'); at != std::string::npos) url.erase(0, at + 1);
  if (url.starts_with('[')) return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.find(':'));
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Status CheckReadable(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno);
  close(fd);
  return OkStatus();
}

}  // namespace

Status SetTrust(natsOptions& options, const std::string& url, const std::string& ca_file) {
  if (ca_file.empty()) {
    if (IsLoopback(HostOf(url))) return OkStatus();
    return InvalidArgument("there is none, and {} is not on loopback", HostOf(url));
  }
  const Status readable = CheckReadable(ca_file);
  if (!readable.ok()) return InvalidArgument("{}: {}", ca_file, Message(readable));
  const WithoutSystemStore one_ca;
  if (natsOptions_LoadCATrustedCertificates(&options, ca_file.c_str()) != NATS_OK)
    return InvalidArgument("{}: not a certificate in PEM", ca_file);
  if (natsOptions_SetSecure(&options, true) != NATS_OK ||
      natsOptions_SetExpectedHostname(&options, kServerName) != NATS_OK)
    return ResourceExhausted("no memory for TLS");
  return OkStatus();
}

/// Replaces OpenSSL's function of this name in the whole program. libnats 3.4 calls it for each
/// context and has no option against it. A context of the bus would then trust the system's CAs
/// too, and hold a megabyte of them.
extern "C" __attribute__((visibility("default"))) int SSL_CTX_set_default_verify_paths(
    SSL_CTX* context) {
  if (making_context) return 1;
  return X509_STORE_set_default_paths(SSL_CTX_get_cert_store(context));
}

}  // namespace splitlet::bus
