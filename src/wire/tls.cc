#include "wire/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/check.h"

namespace holdfast::wire {
namespace {

Error TlsError(const std::string& what) {
  char text[256] = "unknown reason";
  if (unsigned long code = ERR_get_error(); code != 0) ERR_error_string_n(code, text, sizeof text);
  return Error(ErrorCode::kIo, what + ": " + text);
}

}  // namespace

Result<std::unique_ptr<TlsContext>> TlsContext::Load(const std::string& certificate, const std::string& key) {
  std::unique_ptr<TlsContext> context(new TlsContext(SSL_CTX_new(TLS_server_method())));
  if (context->context_ == nullptr) return TlsError("cannot start TLS");
  SSL_CTX_set_min_proto_version(context->context_, TLS1_2_VERSION);
  SSL_CTX_set_mode(context->context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                          SSL_MODE_RELEASE_BUFFERS);
  if (SSL_CTX_use_certificate_chain_file(context->context_, certificate.c_str()) != 1) {
    return TlsError("cannot use the TLS certificate " + certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context->context_, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return TlsError("cannot use the TLS key " + key);
  }
  if (SSL_CTX_check_private_key(context->context_) != 1) {
    return TlsError("the TLS key does not belong to the certificate");
  }
  return context;
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context_);
}

SSL* TlsContext::NewConnection(int fd) const {
  SSL* connection = SSL_new(context_);
  HF_ASSERT(connection != nullptr);
  SSL_set_fd(connection, fd);
  SSL_set_accept_state(connection);
  return connection;
}

}  // namespace holdfast::wire
