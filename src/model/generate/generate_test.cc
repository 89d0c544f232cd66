// The texts that are generated, where a reader would notice a change at once. That compilers and databases
// take them is tests/generated's business.
#include "model/generate/generate.h"

#include <gmock/gmock.h>

#include "model/generate/sample_model_test.h"

namespace holdfast::model::generate {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(Text, NamesOfTypes) {
  EXPECT_EQ(PascalName("TASK_DEPENDENCY"), "TaskDependency");
  EXPECT_EQ(PascalName("delivery_state"), "DeliveryState");
  EXPECT_EQ(PascalName("GlobalEventRef"), "GlobalEventRef");
  EXPECT_EQ(PascalName("2fa"), "_2fa");
  EXPECT_EQ(SnakeName("GlobalEventRef"), "global_event_ref");
}

TEST(Text, YamlQuotesWhatItWouldMisread) {
  Node node = Node::Map()
                  .Set("a", "plain")
                  .Set("b", "no")
                  .Set("c", "2010-09-09")
                  .Set("d", "x: y")
                  .Set("e", Node::List());
  EXPECT_EQ(node.ToYaml(), "a: plain\nb: \"no\"\nc: \"2010-09-09\"\nd: \"x: y\"\ne: []\n");
}

TEST(Text, LongTreesAreBroken) {
  Node list = Node::List();
  for (int i = 0; i < 40; ++i) list.Add(i);
  std::string text = Node::Map().Set("long", std::move(list)).Set("half", 0.5).Spell(Node::Style::kPython);
  EXPECT_THAT(text, StartsWith("{\n    \"long\": [\n        0,\n"));
  EXPECT_THAT(text, HasSubstr("Decimal(\"0.5\")"));
}

TEST(TypeScript, InterfacesWithUnions) {
  std::string text = TypeScriptTypes(*LoadSample());
  EXPECT_THAT(text, HasSubstr(R"(export interface Details {
  bound: boolean;
  isbn: string;
}
)"));
  EXPECT_THAT(text, HasSubstr(R"(/** A book */
export interface Book {
  createdAt: string;
  details?: Details;
  id: string;
  mood?: "grim" | "gay" | (string & {});
  notes?: BookNote[];
  pages?: number;
  status: "shelved" | "lent" | "lost";
  title: string;
  updatedAt: string;
  version: number;
}
)"));
  EXPECT_THAT(text, HasSubstr("export interface BookLoan {"));
  EXPECT_THAT(text, HasSubstr("  found?: Set<number>;"));
}

TEST(TypeScript, ARepositoryHasTheMethodsItsEntityAllows) {
  std::string text = TypeScriptRepositories(*LoadSample());
  EXPECT_THAT(text, HasSubstr("findById(id: Book[\"id\"]): Promise<Book | null>"));
  EXPECT_THAT(text, HasSubstr("findByStatus(status: Book[\"status\"]): Promise<Book[]>"));
  EXPECT_THAT(text, HasSubstr("create(attributes: NewBook): Promise<Book>"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "update(id: Book[\"id\"], changes: BookChanges, expected?: Book[\"version\"]): Promise<Book>"));
  EXPECT_THAT(text, HasSubstr("create(attributes: NewBookLoan)")) << "append only: it is created";
  EXPECT_THAT(text, Not(HasSubstr("BookLoanChanges"))) << "and never updated";
  EXPECT_THAT(text, HasSubstr("class InspectionRepository"));
  EXPECT_THAT(text, Not(HasSubstr("NewInspection"))) << "commands write it";
}

TEST(Python, DictsWithLiterals) {
  std::string text = PythonTypes(*LoadSample());
  EXPECT_THAT(text, HasSubstr(R"(class Book(TypedDict):
    """A book"""
    createdAt: str
    details: NotRequired[Details]
    id: str
    mood: NotRequired[Union[Literal["grim", "gay"], str]]
    notes: NotRequired[List[BookNote]]
    pages: NotRequired[Number]
    status: Literal["shelved", "lent", "lost"]
)"));
}

TEST(Python, ARepositoryHasTheMethodsItsEntityAllows) {
  std::string text = PythonRepositories(*LoadSample());
  EXPECT_THAT(text, HasSubstr("def find_by_status(self, status) -> List[Book]:"));
  EXPECT_THAT(text, HasSubstr("def update(self, id, changes: Dict[str, Any], expected=None) -> Book:"));
  EXPECT_THAT(text, Not(HasSubstr("def update(self, bookId")));
}

TEST(Python, ANameThatIsNoNameStandsInQuotes) {
  std::string text = PythonTypes(*LoadSample("reader: S!", "reader: S!\n      from: S?"));
  EXPECT_THAT(text, HasSubstr("BookLoan = TypedDict(\n    \"BookLoan\", {\n"));
  EXPECT_THAT(text, HasSubstr("\"from\": NotRequired[str],"));
}

TEST(Cpp, StructsKeepTheRest) {
  std::string text = CppTypes(*LoadSample());
  EXPECT_THAT(text, HasSubstr("namespace shelf {"));
  EXPECT_THAT(text, HasSubstr("  std::optional<Details> details;\n"));
  EXPECT_THAT(text, HasSubstr("  std::optional<std::vector<BookNote>> notes;\n"));
  EXPECT_THAT(text, HasSubstr("  std::string status;  // shelved, lent, lost\n"));
  EXPECT_THAT(text, HasSubstr("record->bookId = detail::FromKey(record->rest, \"pk\", {\"BOOK#\"}, 0);"));
}

TEST(JsonSchema, SaysWhatTheModelSays) {
  std::string text = EntityJsonSchema(*LoadSample());
  EXPECT_THAT(text, HasSubstr(R"("enum": ["shelved", "lent", "lost"])"));
  EXPECT_THAT(text, HasSubstr(R"("examples": ["grim", "gay"])"));
  EXPECT_THAT(text, HasSubstr(R"("details": {"$ref": "#/$defs/Details"})"));
  EXPECT_THAT(text, HasSubstr(R"("pattern": "^(?:[0-9-]+)$")"));
  EXPECT_THAT(text, HasSubstr(R"("updatedAt": {"type": "string", "format": "date-time", "readOnly": true})"));
}

TEST(Template, HasTheTablesProperties) {
  std::string text = CloudFormationTemplate(*LoadSample());
  for (const char* part :
       {"TableName: Shelf-dev", "BillingMode: PAY_PER_REQUEST", "IndexName: byStatus", "ProjectionType: ALL",
        "PointInTimeRecoveryEnabled: true", "SSEEnabled: true", "- Key: Project\n          Value: Shelf",
        "TimeToLiveSpecification:\n        Enabled: true\n        AttributeName: expires",
        "TableName:\n    Value: !Ref MainTable", "TableArn:\n    Value: !GetAtt MainTable.Arn",
        "region eu-west-1"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Template, HasVectorIndexesAndTheirSettingsAsTags) {
  std::string text = CloudFormationTemplate(*Load(R"yaml(
model: v
version: 1
tables:
  a: {name: TableA, key: {id: S}, indexes: {byKind: {key: {kind: S}}}}
  b:
    name: TableB
    key: {id: S}
    vectors:
      near: {attribute: embedding, dimensions: 8, distance: cosine, filters: {kind: S}, settings: {m: 16}}
entities:
  A: {table: a, attributes: {id: S!, kind: S}}
  B: {table: b, attributes: {id: S!, kind: S, embedding: vector(8)!}}
)yaml"));
  EXPECT_THAT(text, HasSubstr("SearchSchemaElementType: INLINE_FILTER"));
  EXPECT_THAT(text, HasSubstr("VectorAttribute:\n            AttributeName: embedding"));
  EXPECT_THAT(text, HasSubstr("- Key: holdfast:vector:near\n          Value: \"m=16\""));
  EXPECT_THAT(text, HasSubstr("DependsOn: ATable")) << "tables with indexes are made one after the other";
  EXPECT_THAT(text, HasSubstr("BTableArn:"));
}

TEST(Page, HasKeysPatternsAndMachines) {
  std::string text = ModelPage(*LoadSample());
  EXPECT_THAT(text, StartsWith("# A shelf\n"));
  EXPECT_THAT(
      text,
      HasSubstr("| Book | Shelf-dev | `BOOK#{id}` | `BOOK` | `byStatus`: `gpk` = `BOOK#{status}`, `gsk` = "
                "`{createdAt}#{id}` |"));
  EXPECT_THAT(text,
              HasSubstr("| `books-by-status` | Books by status, oldest first | Query on `byStatus` | `gpk` = "
                        "`BOOK#{status}` | Book | `status` S |"));
  EXPECT_THAT(text, HasSubstr("`sk` between `LOAN#{from}` and `LOAN#{to}`, highest first"));
  EXPECT_THAT(text, HasSubstr("| `expires` | epoch | yes | always lentAt + 365d |"));
  EXPECT_THAT(text, HasSubstr("| shelved | initial | lent, lost |"));
  EXPECT_THAT(text, HasSubstr("| lost |  | (final) |"));
  EXPECT_THAT(text, HasSubstr("  shelved --> lent\n"));
}

}  // namespace
}  // namespace holdfast::model::generate
