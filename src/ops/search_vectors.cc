#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "ops/operations.h"
#include "ops/projection.h"
#include "ops/single_write.h"
#include "ops/table_access.h"
#include "value/number.h"

namespace holdfast::ops {
namespace {

using engine::IndexSchema;
using engine::KeyAttribute;
using value::ValueView;

// attribute = value, as the condition says it. Refers to the request.
struct Equality {
  std::string attribute;
  ValueView value;
};

struct ParsedSearch {
  std::vector<Equality> equalities;
  std::optional<expression::Projection> projection;
};

constexpr std::string_view kCondition = "SearchConditionExpression";

// The conjunction of `attribute = :value` that a condition must be.
Status CollectEqualities(const expression::Tree& tree, expression::NodeId id, std::vector<Equality>* found) {
  using expression::Op;
  const expression::Node& node = tree.at(id);
  if (node.op == Op::kAnd) {
    for (expression::NodeId operand : node.operands) HF_CHECK_OK(CollectEqualities(tree, operand, found));
    return Ok{};
  }
  bool fits = node.op == Op::kEqual && tree.at(node.operands[0]).op == Op::kPath &&
              tree.at(node.operands[0]).path.size() == 1 && tree.at(node.operands[1]).op == Op::kValue;
  if (!fits) {
    return expression::InvalidExpression(kCondition, "Invalid comparator used in SearchConditionExpression");
  }
  std::string_view attribute = tree.at(node.operands[0]).path[0].name;
  for (const Equality& other : *found) {
    if (other.attribute != attribute) continue;
    return expression::InvalidExpression(
        kCondition, "An attribute can have one condition only; attribute name: " + std::string(attribute));
  }
  found->push_back({std::string(attribute), ValueView(tree.at(node.operands[1]).value)});
  return Ok{};
}

Result<ParsedSearch> Validate(const SearchVectorsRequest& request) {
  if (request.top_k > limits::kVectorTopKMax) {
    return ValidationError("Provided TopK value '" + std::to_string(request.top_k) +
                           "' is out of valid range. The value must be between 1 and 100 inclusive");
  }
  const std::vector<float>& vector = request.search_vector.values();
  bool finite = std::all_of(vector.begin(), vector.end(), [](float value) { return std::isfinite(value); });
  if (!request.search_vector.sound() || !finite) {
    return ValidationError(
        "Search vector contains invalid values. All values in the search vector must be a 32-bit "
        "floating-point "
        "number attribute");
  }
  bool has_condition = request.search_condition_expression.has_value();
  expression::Scope scope = ScopeOf(request);
  HF_CHECK_OK(scope.CheckUsable(has_condition || request.projection_expression, has_condition,
                                "SearchConditionExpression is null"));
  HF_CHECK_OK(scope.CheckMaps());
  ParsedSearch parsed;
  HF_TRY(auto condition, ParseOptional(kCondition, request.search_condition_expression, &scope));
  HF_TRY(parsed.projection, ParseProjection(request.projection_expression, &scope));
  HF_CHECK_OK(scope.CheckAllUsed());
  if (condition) {
    HF_CHECK_OK(CollectEqualities(condition->tree(), condition->tree().root, &parsed.equalities));
  }
  return parsed;
}

Result<const IndexSchema*> OpenIndex(const TableRef& ref, const std::string& name) {
  const IndexSchema* index = ref.schema->FindIndex(name);
  if (index == nullptr || !index->is_vector() || index->allocating) {
    return ValidationError("The table does not have the specified index: " + name);
  }
  if (index->status == IndexStatus::kCreating) {
    return ValidationError("Cannot search backfilling vector index: " + name);
  }
  return index;
}

Status CheckOperand(const KeyAttribute& attribute, ValueView value) {
  if (value.type() == attribute.type) return Ok{};
  return ValidationError("Type of '" + attribute.name + "' attribute in SearchConditionExpression (" +
                         std::string(value::TypeName(value.type())) +
                         ") does not match type in search schema (" +
                         std::string(value::TypeName(attribute.type)) + ")");
}

// What the condition says of one attribute, as the engine takes it.
Status AddEquality(const IndexSchema& index, const Equality& equality, engine::VectorQuery* query) {
  if (!index.partition.empty() && index.partition[0].name == equality.attribute) {
    HF_CHECK_OK(CheckOperand(index.partition[0], equality.value));
    HF_CHECK_OK(CheckKeyOperand(index.partition[0], equality.value));
    query->partition = equality.value.bytes();
    return Ok{};
  }
  const std::vector<KeyAttribute>& filters = index.vector->filters;
  auto filter = std::find_if(filters.begin(), filters.end(),
                             [&](const KeyAttribute& known) { return known.name == equality.attribute; });
  if (filter == filters.end()) {
    return ValidationError(
        "SearchConditionExpression must not contain any attributes that is not in SearchSchema. Invalid "
        "attribute: " +
        equality.attribute);
  }
  HF_CHECK_OK(CheckOperand(*filter, equality.value));
  query->filters.push_back(
      {static_cast<size_t>(filter - filters.begin()), std::string(equality.value.bytes())});
  return Ok{};
}

Result<engine::VectorQuery> QueryFrom(const SearchVectorsRequest& request, const ParsedSearch& parsed,
                                      const IndexSchema& index) {
  engine::VectorQuery query;
  query.vector = request.search_vector.values();
  query.top_k = static_cast<size_t>(request.top_k);
  if (static_cast<int64_t>(query.vector.size()) != index.vector->dimensions) {
    return ValidationError("Input search vector dimension " + std::to_string(query.vector.size()) +
                           " does not match vector index dimension " +
                           std::to_string(index.vector->dimensions));
  }
  for (const Equality& equality : parsed.equalities) HF_CHECK_OK(AddEquality(index, equality, &query));
  if (!index.partition.empty() && query.partition.empty()) {
    return ValidationError("SearchConditionExpression must be provided when SearchSchema has a HASH key");
  }
  return query;
}

// An index gives its vectors back only where it was told to project them.
bool ProjectsVector(const IndexSchema& index) {
  return index.projection == ProjectionType::kAll ||
         std::find(index.included.begin(), index.included.end(), index.vector->attribute) !=
             index.included.end();
}

// The item with its vector as an ordinary list of numbers, which a projection can take apart.
Item WithVector(const Item& item, const std::string& attribute, const std::vector<float>& vector) {
  value::FlatWriter writer;
  writer.BeginMap();
  value::MapView attributes(item);
  for (uint32_t i = 0; i < attributes.size(); ++i) {
    writer.Name(attributes.At(i).name);
    writer.Copy(attributes.At(i).value);
  }
  writer.Name(attribute);
  writer.BeginList();
  for (float element : vector) writer.Number(value::Number::FromFloat(element));
  writer.EndList();
  writer.EndMap();
  return Item::FromFlat(writer.TakeMap());
}

// Whether results must bring their vectors along.
bool AsksForVector(const IndexSchema& index, const expression::Projection* projection) {
  if (projection == nullptr || !ProjectsVector(index)) return false;
  const auto& paths = projection->tree().paths();
  return std::any_of(paths.begin(), paths.end(),
                     [&](const expression::Path& path) { return path[0].name == index.vector->attribute; });
}

SearchResult ResultFrom(engine::VectorHit hit, const IndexSchema& index,
                        const expression::Projection* projection, base::WorkMeter* work) {
  SearchResult result;
  result.score = static_cast<float>(hit.score);
  result.item.vector_attribute = index.vector->attribute;
  if (projection == nullptr) {
    static_cast<Item&>(result.item) = std::move(hit.item);
    return result;
  }
  if (!hit.vector.empty()) hit.item = WithVector(hit.item, index.vector->attribute, hit.vector);
  static_cast<Item&>(result.item) = projection->Apply(value::MapView(hit.item), work);
  return result;
}

}  // namespace

Result<SearchVectorsResponse> Perform(Context& context, const SearchVectorsRequest& request) {
  HF_TRY(ParsedSearch parsed, Validate(request));
  HF_TRY(TableRef ref, OpenForItems(context, request.table_name));
  HF_TRY(const IndexSchema* index, OpenIndex(ref, request.index_name));
  HF_TRY(engine::VectorQuery query, QueryFrom(request, parsed, *index));
  HF_CHECK_OK(CheckProjectionPaths(*ref.schema, PointerTo(parsed.projection)));
  query.with_vectors = AsksForVector(*index, PointerTo(parsed.projection));
  HF_TRY(std::vector<engine::VectorHit> hits, context.engine->SearchVectors(ref.table, *index, query));

  // What was read of the index for the answer: AWS's own figure varies from call to call.
  size_t read_bytes = 0, answer_bytes = 0;
  SearchVectorsResponse response;
  for (engine::VectorHit& hit : hits) {
    read_bytes += hit.item.SizeBytes() + index->vector->attribute.size() +
                  4 * static_cast<size_t>(index->vector->dimensions);
    response.search_results.push_back(
        ResultFrom(std::move(hit), *index, PointerTo(parsed.projection), &context.work));
    HF_CHECK_OK(context.work.Check());
    answer_bytes += response.search_results.back().item.SizeBytes();
  }
  if (answer_bytes > limits::kSearchResponseBytesMax) {
    return ValidationError(
        "The results are larger than 16 MB; ask for fewer with TopK or for less of each with "
        "ProjectionExpression");
  }
  if (request.return_consumed_capacity.value_or(ReturnConsumedCapacity::kNone) !=
      ReturnConsumedCapacity::kNone) {
    response.consumed_capacity.emplace().vector_search_request_bytes =
        static_cast<double>(std::max(read_bytes, limits::kVectorRequestBytesMin));
  }
  return response;
}

}  // namespace holdfast::ops
