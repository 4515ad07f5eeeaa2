#include "libs/https/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <string_view>

#include "libs/https/client_certificate.h"
#include "libs/https/tls_wire.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using boost::system::error_code;

/// Go's older names of cipher suites.
constexpr auto kOldNames = std::to_array<std::pair<std::string_view, const char*>>({
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
});
/// Default TLS 1.2 suites: forward secrecy and authenticated encryption. OpenSSL's default also has
/// RSA key exchange and CBC.
constexpr const char* kDefaultSuites =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr long kMaxClientChain = 64 << 10;  // limit of a client's certificate chain, in bytes
/// TLS 1.3 suites; a configuration cannot choose among them.
constexpr auto kNewSuites = std::to_array<std::string_view>(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"});

StatusOr<int> VersionOf(const std::string& name) {
  if (name.empty() || name == "VersionTLS10" || name == "VersionTLS11" || name == "VersionTLS12")
    return TLS1_2_VERSION;
  if (name == "VersionTLS13") return TLS1_3_VERSION;
  return InvalidArgument("unknown tls version \"{}\"", name);
}

/// The TLS 1.2 suites by OpenSSL's names.
StatusOr<std::string> SuiteList(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    if (std::ranges::find(kNewSuites, name) != kNewSuites.end()) continue;
    const auto* old = std::ranges::find(kOldNames, name, &decltype(kOldNames)::value_type::first);
    const char* known = OPENSSL_cipher_name(old == kOldNames.end() ? name.c_str() : old->second);
    if (known == nullptr || std::string_view(known) == "(NONE)")
      return InvalidArgument("Cipher suite {} not supported or doesn't exist", name);
    list += (list.empty() ? "" : ":") + std::string(known);
  }
  return list.empty() ? kDefaultSuites : list;
}

/// Position of http/1.1 in a list of length-prefixed names, because HTTP/2 is not offered.
std::optional<size_t> FindProtocol(std::string_view offered) {
  static constexpr std::string_view kOurs = "http/1.1";
  for (size_t at = 0; at < offered.size(); at += 1U + static_cast<unsigned char>(offered[at]))
    if (offered.substr(at + 1, static_cast<unsigned char>(offered[at])) == kOurs) return at;
  return std::nullopt;
}

void ChooseProtocol(SSL_CTX* context) {
  SSL_CTX_set_alpn_select_cb(
      context,
      [](SSL*, const unsigned char** out, unsigned char* length, const unsigned char* in,
         unsigned in_length, void*) {
        const auto at = FindProtocol({reinterpret_cast<const char*>(in), in_length});
        if (!at) return SSL_TLSEXT_ERR_NOACK;
        *out = in + *at + 1;
        *length = in[*at];
        return SSL_TLSEXT_ERR_OK;
      },
      nullptr);
}

/// Accepts any certificate in the handshake; each request verifies it against the current
/// authority.
int AcceptAny(X509_STORE_CTX*, void*) { return 1; }

Status AskForCertificates(SSL_CTX* context, const std::string& ca_pem) {
  ASSIGN_OR_RETURN(const auto certificates, ReadCertificates(ca_pem), "client CA");
  STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
  for (const auto& certificate : certificates)
    sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(certificate.get())));
  SSL_CTX_set_client_CA_list(context, names);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, &AcceptAny, nullptr);
  return OkStatus();
}

Status SetUp(SSL_CTX* context, const TlsSettings& settings) {
  ASSIGN_OR_RETURN(const int version, VersionOf(settings.min_version), "tlsMinVersion");
  ASSIGN_OR_RETURN(const std::string suites, SuiteList(settings.cipher_suites), "tlsCipherSuites");
  SSL_CTX_set_min_proto_version(context, version);
  if (SSL_CTX_set_cipher_list(context, suites.c_str()) != 1)
    return InvalidArgument("tlsCipherSuites: {}", TakeOpenSslError());
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_max_cert_list(context, kMaxClientChain);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  ChooseProtocol(context);
  return OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const TlsContext>> MakeTlsContext(const TlsSettings& settings,
                                                           const std::string& certificate_pem,
                                                           const std::string& key_pem,
                                                           const std::string& client_ca_pem) {
  auto made = std::make_shared<SslContext>();
  ssl::context& context = made->context();
  RETURN_IF_ERROR(SetUp(context.native_handle(), settings), "TLS");
  error_code error;
  context.use_certificate_chain(asio::buffer(certificate_pem), error);
  if (error) return InvalidArgument("certificate: {}", error.message());
  context.use_private_key(asio::buffer(key_pem), ssl::context::pem, error);
  if (error) return InvalidArgument("private key: {}", error.message());
  if (SSL_CTX_check_private_key(context.native_handle()) != 1)
    return InvalidArgument("the key does not match the certificate: {}", TakeOpenSslError());
  if (!client_ca_pem.empty())
    RETURN_IF_ERROR(AskForCertificates(context.native_handle(), client_ca_pem), "TLS");
  ERR_clear_error();
  return made;
}

}  // namespace splitlet::https
