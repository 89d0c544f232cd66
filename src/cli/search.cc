#include "cli/search.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "cli/output.h"
#include "engine/index/vector_value.h"
#include "holdfast/database.h"
#include "json/item_reader.h"
#include "json/struct_writer.h"

namespace holdfast::cli {
namespace {

// What the user wrote is wrong, as opposed to what the store says.
Error BadArgument(const std::string& why) {
  return ValidationError(why);
}

Result<simdjson::dom::element> Parse(simdjson::dom::parser* parser, const std::string& text,
                                     const std::string& what) {
  simdjson::dom::element element;
  if (parser->parse(text).get(element) != simdjson::SUCCESS)
    return BadArgument(what + " is no JSON: " + text);
  return element;
}

Result<Item> ParseItem(const std::string& text, const std::string& what) {
  simdjson::dom::parser parser;
  HF_TRY(simdjson::dom::element element, Parse(&parser, text, what));
  Result<Item> item = json::ReadItem(element, json::Place::kField);
  if (!item) return BadArgument(what + " must be DynamoDB JSON, as in {\"id\":{\"S\":\"7\"}}: " + text);
  if (const Error* defect = item->defect()) return BadArgument(what + ": " + defect->message());
  return item;
}

Result<SearchVector> ParseVector(const std::string& text) {
  simdjson::dom::parser parser;
  HF_TRY(simdjson::dom::element element, Parse(&parser, text, "the vector"));
  simdjson::dom::array array;
  if (element.get(array) != simdjson::SUCCESS)
    return BadArgument("the vector must be a list, as in [0.1,0.2]");
  std::vector<float> values;
  for (simdjson::dom::element member : array) {
    double value = 0;
    if (member.get(value) != simdjson::SUCCESS) return BadArgument("the vector must hold numbers only");
    values.push_back(static_cast<float>(value));
  }
  return SearchVector(std::move(values));
}

// ":t={"S":"x"}", as often as it was given.
Result<std::optional<ExpressionValues>> ParseValues(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::optional<ExpressionValues>();
  std::string json;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos) return BadArgument("--value must be like ':t={\"S\":\"x\"}': " + text);
    json += json.empty() ? "{" : ",";
    json::AppendString(text.substr(0, equals), &json);
    json.append(":").append(text.substr(equals + 1));
  }
  HF_TRY(Item item, ParseItem(json + "}", "--value"));
  return std::optional<ExpressionValues>(std::move(item));
}

Result<SearchVector> VectorLike(Database* db, const SearchConfig& config) {
  HF_TRY(Item key, ParseItem(config.like, "--like"));
  HF_TRY(DescribeTableResponse described, db->DescribeTable({.table_name = config.table}));
  GetItemRequest get;
  get.table_name = config.table;
  get.key = std::move(key);
  HF_TRY(GetItemResponse got, db->GetItem(get));
  if (!got.item) return BadArgument("the table has no item with the key " + config.like);
  for (const VectorIndexDescription& index :
       described.table.vector_indexes.value_or(std::vector<VectorIndexDescription>())) {
    if (index.index_name != config.index) continue;
    const std::string& attribute = index.vector_attribute.attribute_name;
    auto value = value::MapView(*got.item).Find(attribute);
    if (!value || engine::CheckVector(*value, index.dimensions).kind != engine::VectorFault::Kind::kNone) {
      return BadArgument("the item has no vector of the index in its attribute " + attribute);
    }
    return SearchVector(engine::ReadVector(*value));
  }
  return BadArgument("the table " + config.table + " has no vector index " + config.index);
}

Result<SearchVector> VectorFrom(Database* db, const SearchConfig& config) {
  if (!config.like.empty()) return VectorLike(db, config);
  if (config.vector_file.empty()) return ParseVector(config.vector);
  std::ifstream file(config.vector_file);
  if (!file) return BadArgument("cannot read " + config.vector_file);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseVector(text.str());
}

// --- output ---

// `score` gives the text of a result's number, called `column`.
template <class Results, class Score>
void PrintTable(const Results& results, const std::string& column, const Score& score) {
  std::vector<Item> items;
  std::vector<std::string> scores{column};
  for (const auto& result : results) {
    items.push_back(result.item);
    scores.push_back(score(result));
  }
  PrintRows(RowsOf(items, {}, scores));
  std::printf("%zu found\n", results.size());
}

template <class Response>
void PrintResponse(const Response& response) {
  std::string text;
  json::WriteStruct(response, &text);
  std::printf("%s\n", text.c_str());
}

template <class Number>
std::string TextOf(Number number) {
  std::string text;
  json::Write(number, &text);
  return text;
}

template <class Request>
void SetCondition(const SearchConfig& config, const std::optional<ExpressionValues>& values,
                  Request* request) {
  request->table_name = config.table;
  request->index_name = config.index;
  request->top_k = config.top_k;
  if (!config.where.empty()) request->search_condition_expression = config.where;
  request->expression_attribute_values = values;
}

Status RunSearch(const SearchConfig& config) {
  int sources = !config.vector.empty() + !config.vector_file.empty() + !config.like.empty();
  if (sources != 1) return BadArgument("give exactly one of --vector, --vector-file and --like");
  HF_TRY(std::optional<ExpressionValues> values, ParseValues(config.values));
  Options options;
  options.directory = config.directory;
  options.key_file = config.key_file;
  options.create_if_missing = false;
  HF_TRY(std::unique_ptr<Database> db, Database::Open(options));
  HF_TRY(SearchVector vector, VectorFrom(db.get(), config));
  if (config.threshold) {
    SimilaritySearchRequest request;
    SetCondition(config, values, &request);
    request.vector = std::move(vector);
    request.threshold = *config.threshold;
    HF_TRY(SimilaritySearchResponse response, db->SimilaritySearch(request));
    if (config.json) return PrintResponse(response), OkStatus();
    PrintTable(response.results, "similarity",
               [](const SimilarItem& item) { return TextOf(item.similarity); });
    return Ok{};
  }
  SearchVectorsRequest request;
  SetCondition(config, values, &request);
  request.search_vector = std::move(vector);
  HF_TRY(SearchVectorsResponse response, db->SearchVectors(request));
  if (config.json) return PrintResponse(response), OkStatus();
  PrintTable(response.search_results, "score", [](const SearchResult& item) { return TextOf(item.score); });
  return Ok{};
}

}  // namespace

int Search(const SearchConfig& config) {
  Status done = RunSearch(config);
  if (done) return 0;
  std::fprintf(stderr, "holdfast: %s\n", done.error().message().c_str());
  return done.error().code() == ErrorCode::kValidation ? 2 : 1;
}

}  // namespace holdfast::cli
