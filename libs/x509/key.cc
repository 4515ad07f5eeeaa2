#include "libs/x509/key.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "libs/x509/openssl.h"

namespace splitlet::x509 {
namespace {

constexpr size_t kRsaBits = 2048;
constexpr size_t kDigestBytes = 32;

}  // namespace

StatusOr<std::string> MakeKey(KeyKind kind) {
  const PrivateKey key(kind == KeyKind::kEcP256 ? EVP_EC_gen("P-256") : EVP_RSA_gen(kRsaBits));
  if (key == nullptr) return OpensslError("make a key");
  const Bio buffer = NewBuffer();
  if (PEM_write_bio_PrivateKey_traditional(buffer.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                           nullptr) != 1)
    return OpensslError("write a key");
  return TextOf(buffer);
}

StatusOr<std::string> PublicKeyOf(std::string_view pem) {
  const auto key = ReadPrivateKey(pem);
  if (!key.ok()) return key.status();
  return PublicKeyBytes(key->get());
}

std::string Sha512_256(std::string_view bytes) {
  std::string digest(kDigestBytes, '\0');
  unsigned int length = 0;
  const int done =
      EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.data()),
                 &length, EVP_sha512_256(), nullptr);
  CHECK(done == 1 && length == kDigestBytes);
  return digest;
}

}  // namespace splitlet::x509
