// What a client and a reader are told of a model. That validators and compilers take the document is
// tests/generated's business.
#include "model/generate/openapi.h"

#include <gmock/gmock.h>

#include "model/generate/reference_page.h"
#include "model/generate/sample_model_test.h"

namespace holdfast::model::generate {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string SampleDocument() {
  auto model = LoadSample();
  return OpenApiOf({model.get()}, "1.2.3");
}

TEST(OpenApi, EntitiesAsTheyAreReadWrittenAndChanged) {
  std::string text = SampleDocument();
  EXPECT_THAT(text, HasSubstr(R"("ShelfBook": {)"));
  EXPECT_THAT(text, HasSubstr(R"("ShelfBookNew": {)"));
  EXPECT_THAT(text, HasSubstr(R"("required": ["title"])")) << "what has a default need not be given";
  EXPECT_THAT(text,
              HasSubstr(R"("pages": {"anyOf": [{"type": "number", "minimum": 1.0}, {"type": "null"}]})"));
  EXPECT_THAT(text, HasSubstr(R"("details": {"$ref": "#/components/schemas/ShelfDetails"})"));
}

TEST(OpenApi, ClientsGetMethodsWithNames) {
  std::string text = SampleDocument();
  for (const char* name :
       {"shelfListBook", "shelfCreateBook", "shelfReplaceBook", "shelfPatchBook", "shelfDeleteBook",
        "shelfCreateBookLoan", "shelfPatternBooksByStatus", "shelfTransact", "listModels"}) {
    EXPECT_THAT(text, HasSubstr(Cat("\"operationId\": \"", name, "\"")));
  }
  EXPECT_THAT(text, Not(HasSubstr("shelfPatchBookLoan"))) << "append only";
}

TEST(OpenApi, RoutesNameTheirErrors) {
  std::string text = SampleDocument();
  EXPECT_THAT(
      text,
      HasSubstr(R"("409": {"$ref": "#/components/responses/VersionConflictOrIllegalTransitionOrConflict"})"));
  EXPECT_THAT(text, HasSubstr(R"("enum": ["Unauthenticated"])"));
}

// The sample has no commands.
TEST(OpenApi, TransactionsTellThatTheyAreReplayed) {
  EXPECT_THAT(SampleDocument(), HasSubstr("\"Idempotency-Replayed\""));
}

constexpr std::string_view kLending = R"yaml(
commands:
  book.lend:
    id: SH-C-01
    title: Lend a book
    roles: [clerk]
    input:
      bookId: uuid!
      reader: S!
      days: {type: N = 14, min: 1}
      expected: N?
    read:
      book: {get: Book, key: {id: $input.bookId}}
    refuse:
      - {name: OutOfReach, status: 409, when: "book.status = 'lost'", message: "{book.title} is lost"}
    write:
      - put: BOOK_LOAN
        set: {bookId: $input.bookId, reader: $input.reader}
      - patch: book
        set: {status: lent}
        expect: $input.expected
  book.find:
    title: Find a book
    input: {bookId: uuid!}
    read:
      book: {get: Book, key: {id: $input.bookId}}
    write:
      - patch: book
        set: {status: shelved}
    result: {title: $book.title, until: $now + 14d, pages: $book.pages}
  sweep:
    title: Sweep
    internal: true
    handler: true
roles:
  clerk: {commands: ["book.*"], read: ["*"]}
  guest: {commands: [], read: [Book]}
)yaml";

TEST(OpenApi, CommandsHaveInputsResultsAndNamedRefusals) {
  auto model = Load(Cat(kSample, kLending));
  std::string text = OpenApiOf({model.get()}, "1.2.3");
  EXPECT_THAT(text, HasSubstr("\"/v1/shelf/commands/book.lend\""));
  EXPECT_THAT(text, HasSubstr(R"("operationId": "shelfBookLend")"));
  EXPECT_THAT(text, HasSubstr("SH-C-01. For admin, clerk."));
  EXPECT_THAT(text, HasSubstr(R"("required": ["bookId", "reader"])"))
      << "what has a default need not be given";
  EXPECT_THAT(text, HasSubstr(R"("result": {"$ref": "#/components/schemas/ShelfBookLoan"})"))
      << "written first";
  EXPECT_THAT(text, HasSubstr("OutOfReach: {book.title} is lost"));
  EXPECT_THAT(text, HasSubstr("OutOfReachOrConflictOrIllegalTransitionOrAlreadyExistsOrVersionConflict"));
  EXPECT_THAT(text, HasSubstr(R"("until": {"type": "string", "format": "date-time"})"));
  EXPECT_THAT(text, HasSubstr(R"("pages": {"type": "number", "minimum": 1.0})"));
  EXPECT_THAT(text, Not(HasSubstr("sweep"))) << "internal";
}

TEST(ReferencePage, HasAnAnchorForWhatItLinksTo) {
  auto model = LoadSample("title: S!", "title: {type: S!, description: \"<b>&\"}");
  std::string page = ReferencePage({model.get()}, "1.2.3");
  for (const char* part :
       {"href=\"#shelfCreateBook\"", "id=\"shelfCreateBook\"", "href=\"#schema-ShelfDetails\"",
        "id=\"schema-ShelfDetails\"", "<link rel=\"stylesheet\" href=\"/docs.css\">"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("style=\"")));
}

}  // namespace
}  // namespace holdfast::model::generate
