// The one door of the server: DynamoDB's requests and the probes to the DynamoDB protocol, those of models to
// REST, what tests ask of a server under --dev to its tools. Thread-safe.
#pragma once

#include "wire/dev_tools.h"
#include "wire/dynamodb_protocol.h"
#include "wire/exchange.h"
#include "wire/rest.h"

namespace holdfast::wire {

class Front final : public HttpHandler {
 public:
  // All must outlive it. `dev` may be null.
  Front(DynamoDbProtocol* dynamodb, Rest* rest, DevTools* dev = nullptr)
      : dynamodb_(dynamodb), rest_(rest), dev_(dev) {}

  Handled Handle(Exchange* exchange) override {
    const HttpRequest& request = exchange->request();
    if (rest_->Owns(request)) return rest_->Handle(exchange);
    if (dev_ != nullptr && dev_->Owns(request)) return dev_->Handle(exchange);
    return dynamodb_->Handle(exchange);
  }
  // REST waits for its own writes.
  void Durable(Exchange* exchange, const Status& durable) override { dynamodb_->Durable(exchange, durable); }
  void Connected(int delta) override { dynamodb_->Connected(delta); }
  void Answered(Exchange* exchange, size_t received_bytes, size_t sent_bytes) override {
    dynamodb_->Answered(exchange, received_bytes, sent_bytes);
  }

 private:
  DynamoDbProtocol* const dynamodb_;
  Rest* const rest_;
  DevTools* const dev_;
};

}  // namespace holdfast::wire
