#include "model/embed.h"

#include <cfloat>
#include <cmath>
#include <map>

#include <simdjson.h>

#include "base/limits.h"
#include "json/writer.h"
#include "model/refusal.h"

namespace holdfast::model {
namespace {

class NoEmbedder final : public Embedder {
  Result<std::vector<float>> Make(std::string_view, int) override {
    return Refuse(
        "NotConfigured",
        "no embedder is configured to make a vector of a text; give the vector, or name an embedder: the "
        "URL of a webhook, or `demo` to try things out");
  }
};

// FNV-1a, and a last mixing because neighbouring texts differ in its low bits alone.
// Stored vectors depend on it.
uint64_t Hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

// English words that say nothing about a subject, each between blanks. Stored vectors depend on them.
constexpr std::string_view kFrequentWords =
    " a an and are as at be by can do for from has have i in is it may me my no not of on or our that the "
    "this to was we what when where which who will with you your ";

// How often each feature occurs: words, between blanks, and their groups of three bytes. ASCII letters
// count in lower case; everything beyond ASCII is a letter.
std::map<std::string, int> Features(std::string_view text) {
  std::map<std::string, int> features;
  std::string word = " ";
  auto end_word = [&] {
    if (word.size() == 1) return;
    word.push_back(' ');
    if (kFrequentWords.find(word) == std::string_view::npos) {
      ++features[word];
      for (size_t i = 0; i + 3 <= word.size(); ++i) ++features[word.substr(i, 3)];
    }
    word = " ";
  };
  for (char c : text) {
    bool upper = c >= 'A' && c <= 'Z';
    bool letter =
        upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
    if (letter) {
      word.push_back(upper ? static_cast<char>(c - 'A' + 'a') : c);
    } else {
      end_word();
    }
  }
  end_word();
  return features;
}

}  // namespace

Result<std::vector<float>> Embedder::Embed(std::string_view text, int dimensions) {
  if (dimensions < 1 || dimensions > limits::kVectorDimensionsMax) {
    return RefuseField("dimensions", "should be 1 to " + std::to_string(limits::kVectorDimensionsMax),
                       std::to_string(dimensions));
  }
  if (text.size() > limits::kItemSizeBytesMax)
    return RefuseField("text", "should not be longer than an item");
  return Make(text, dimensions);
}

// Whole numbers up to the last step, which is one correctly rounded division: nothing depends on the machine.
Result<std::vector<float>> DemoEmbedder::Make(std::string_view text, int dimensions) {
  std::vector<int64_t> sums(static_cast<size_t>(dimensions));
  for (const auto& [feature, count] : Features(text)) {
    uint64_t hash = Hash(feature);
    auto weight = static_cast<int64_t>(16 * std::sqrt(count));
    sums[hash % sums.size()] += hash >> 63 == 0 ? weight : -weight;
  }
  int64_t squares = 0;
  for (int64_t sum : sums) squares += sum * sum;
  if (squares == 0) squares = sums[Hash(text) % sums.size()] = 1;  // no words, or they cancel out
  std::vector<float> vector;
  for (int64_t sum : sums)
    vector.push_back(static_cast<float>(static_cast<double>(sum) / std::sqrt(squares)));
  return vector;
}

Result<std::vector<float>> WebhookEmbedder::Make(std::string_view text, int dimensions) {
  std::string request = "{\"text\":";
  json::AppendString(text, &request);
  request += ",\"dimensions\":" + std::to_string(dimensions) + "}";
  HF_TRY(std::string answer, webhook_.Post(request));
  auto wrong = [](const std::string& why) {
    return Refuse("Unavailable", "the embedder's answer is wrong: " + why);
  };
  simdjson::dom::parser parser;
  simdjson::dom::array numbers;
  if (parser.parse(answer)["embedding"].get(numbers) != simdjson::SUCCESS)
    return wrong("it has no list \"embedding\"");
  std::vector<float> vector;
  bool has_length = false;
  for (simdjson::dom::element element : numbers) {
    double number = 0;
    if (element.get(number) != simdjson::SUCCESS || std::abs(number) > FLT_MAX)
      return wrong("not all are numbers of a float's range");
    vector.push_back(static_cast<float>(number));
    has_length |= vector.back() != 0;
  }
  if (vector.size() != static_cast<size_t>(dimensions)) {
    return wrong(std::to_string(vector.size()) + " dimensions, not " + std::to_string(dimensions));
  }
  if (!has_length) return wrong("all numbers are zero");
  return vector;
}

Result<std::unique_ptr<Embedder>> MakeEmbedder(const std::string& via, std::string secret) {
  if (via.empty()) return std::make_unique<NoEmbedder>();
  if (via == "demo") return std::make_unique<DemoEmbedder>();
  HF_TRY(Webhook webhook,
         Webhook::Make({.url = via, .allowed = {{HostOfUrl(via)}}, .secret = std::move(secret)}));
  return std::make_unique<WebhookEmbedder>(std::move(webhook));
}

}  // namespace holdfast::model
