// TLS on top of a non-blocking socket.
#pragma once

#include <memory>
#include <string>

#include "holdfast/result.h"

using SSL_CTX = struct ssl_ctx_st;
using SSL = struct ssl_st;

namespace holdfast::wire {

class TlsContext {
 public:
  // TLS 1.2 and 1.3, with the certificate chain and the key in PEM files.
  static Result<std::unique_ptr<TlsContext>> Load(const std::string& certificate, const std::string& key);
  ~TlsContext();

  SSL* NewConnection(int fd) const;

 private:
  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  SSL_CTX* context_;
};

}  // namespace holdfast::wire
