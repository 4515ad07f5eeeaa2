#include "libs/x509/request.h"

#include <openssl/pem.h>

#include "libs/x509/openssl.h"

namespace splitlet::x509 {
namespace {

using Extensions = std::unique_ptr<STACK_OF(X509_EXTENSION),
                                   decltype([](STACK_OF(X509_EXTENSION) * list) noexcept {
                                     sk_X509_EXTENSION_pop_free(list, X509_EXTENSION_free);
                                   })>;

Status AddAlternativeNames(X509_REQ* request, const Names& names) {
  ASSIGN_OR_RETURN(const GeneralNames alternatives, MakeAlternativeNames(names),
                   "subject alternative names");
  if (alternatives == nullptr) return OkStatus();
  STACK_OF(X509_EXTENSION)* list = nullptr;
  const int made = X509V3_add1_i2d(&list, NID_subject_alt_name, alternatives.get(), 0, 0);
  const Extensions extensions(list);
  if (made != 1 || X509_REQ_add_extensions(request, extensions.get()) != 1)
    return OpensslError("subject alternative names");
  return OkStatus();
}

}  // namespace

StatusOr<std::string> MakeRequest(std::string_view key_pem, const Names& names) {
  const auto key = ReadPrivateKey(key_pem);
  if (!key.ok()) return key.status();
  const X509Request request(X509_REQ_new());
  RETURN_IF_ERROR(FillSubject(X509_REQ_get_subject_name(request.get()), names), "request");
  RETURN_IF_ERROR(AddAlternativeNames(request.get(), names), "request");
  if (X509_REQ_set_pubkey(request.get(), key->get()) != 1 ||
      X509_REQ_sign(request.get(), key->get(), EVP_sha256()) <= 0)
    return OpensslError("sign the request");
  const Bio buffer = NewBuffer();
  if (PEM_write_bio_X509_REQ(buffer.get(), request.get()) != 1)
    return OpensslError("write the request");
  return TextOf(buffer);
}

StatusOr<Request> ReadRequest(std::string_view pem) {
  const Bio bio = ReadFrom(pem);
  const X509Request request(PEM_read_bio_X509_REQ(bio.get(), nullptr, nullptr, nullptr));
  if (request == nullptr) return OpensslError("no certificate request in PEM");
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (key == nullptr || X509_REQ_verify(request.get(), key) != 1)
    return OpensslError("the request is not signed by its own key");
  Request read;
  ASSIGN_OR_RETURN(read.public_key, PublicKeyBytes(key), "request");
  ReadSubject(X509_REQ_get_subject_name(request.get()), read.names);
  const Extensions extensions(X509_REQ_get_extensions(request.get()));
  const GeneralNames alternatives(static_cast<GENERAL_NAMES*>(
      X509V3_get_d2i(extensions.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (alternatives != nullptr) ReadAlternativeNames(alternatives.get(), read.names);
  return read;
}

}  // namespace splitlet::x509
