// The body of a request: read into the structs of several operations, and items written back unchanged.
#include "holdfast/ops/batch_write_item.h"
#include "holdfast/ops/create_table.h"
#include "holdfast/ops/put_item.h"
#include "holdfast/ops/query.h"
#include "holdfast/ops/search_vectors.h"
#include "holdfast/ops/transact_write_items.h"
#include "holdfast/ops/update_item.h"
#include "holdfast/ops/update_table.h"
#include "json/strict_reader.h"
#include "json/struct_reader.h"
#include "json/struct_writer.h"
#include "tests/fuzz/fuzz.h"

using namespace holdfast;

template <class T>
static Result<T> Read(const json::Element& element) {
  Violations violations;
  return json::ReadStruct<T>(element, &violations);
}

static std::string Written(const Item& item) {
  std::string text;
  json::Write(item, &text);
  return text;
}

FUZZ(bytes) {
  static simdjson::dom::parser parser;
  json::Element element;
  if (parser.parse(bytes.data(), bytes.size()).get(element) != simdjson::SUCCESS) return;
  static_cast<void>(Read<BatchWriteItemRequest>(element).has_value());
  static_cast<void>(Read<CreateTableRequest>(element).has_value());
  static_cast<void>(Read<QueryRequest>(element).has_value());
  static_cast<void>(Read<TransactWriteItemsRequest>(element).has_value());
  static_cast<void>(Read<UpdateItemRequest>(element).has_value());
  static_cast<void>(Read<UpdateTableRequest>(element).has_value());
  static_cast<void>(json::CheckStrict<SearchVectorsRequest>(element, bytes).has_value());
  static_cast<void>(Read<SearchVectorsRequest>(element).has_value());
  Result<PutItemRequest> put = Read<PutItemRequest>(element);
  if (!put || put->item.defect() != nullptr) return;
  HF_ASSERT(value::IsWellFormedItem(put->item.flat()));
  std::string text = "{\"Item\":" + Written(put->item) + "}";
  simdjson::dom::parser second;
  HF_ASSERT(second.parse(text).get(element) == simdjson::SUCCESS);
  HF_ASSERT(Read<PutItemRequest>(element).value().item == put->item);
}
