// Embedders: texts as vectors of a given number of dimensions, of which related ones are close.
//
//   HF_TRY(std::unique_ptr<Embedder> embedder, MakeEmbedder("https://embed.example/v1"));
//   HF_TRY(std::vector<float> vector, embedder->Embed("refundable fares", 1024));
//
// Thread-safe. A call may block.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/result.h"
#include "model/webhook.h"

namespace holdfast::model {

class Embedder {
 public:
  virtual ~Embedder() = default;
  // As many finite numbers as dimensions, not all zero. Refused as ValidationError: dimensions beyond those
  // of a vector index, a text longer than an item.
  Result<std::vector<float>> Embed(std::string_view text, int dimensions);

 private:
  virtual Result<std::vector<float>> Make(std::string_view text, int dimensions) = 0;
};

// For demonstrations and tests only: it compares spelling, not meaning. Words and their groups of three
// letters are hashed to dimensions, so that texts which share words or stems are close. The same text gives
// the same vector on every machine and in every version, for they are stored.
class DemoEmbedder final : public Embedder {
  Result<std::vector<float>> Make(std::string_view text, int dimensions) override;
};

// Asks a service: POST {"text": …, "dimensions": n}, answered by {"embedding": [ … ]}.
class WebhookEmbedder final : public Embedder {
 public:
  explicit WebhookEmbedder(Webhook webhook) : webhook_(std::move(webhook)) {}

 private:
  Result<std::vector<float>> Make(std::string_view text, int dimensions) override;

  const Webhook webhook_;
};

// "demo", or the URL of a webhook, whose host is thereby allowed. With an empty `via` every text is refused
// as NotConfigured. `secret` signs what is sent.
Result<std::unique_ptr<Embedder>> MakeEmbedder(const std::string& via, std::string secret = {});

}  // namespace holdfast::model
