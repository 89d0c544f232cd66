// A change of a model that is taken for harmless and is not loses data or hides it (DB-EV-05): each kind of
// change has its class.
#include "model/generate/diff.h"

#include <gmock/gmock.h>

#include "model/generate/sample_model_test.h"

namespace holdfast::model::generate {
namespace {

using testing::HasSubstr;

// What the replacement of one text by another asks for, the version being raised with it.
std::vector<Change> Changes(std::string_view from, std::string_view to) {
  auto before = LoadSample();
  EXPECT_NE(kSample.find(from), std::string_view::npos) << from;
  auto after = Load(Replace(Replace(kSample, from, to), "version: 1\ntitle", "version: 2\ntitle"));
  return CompareModels(*before, *after);
}

struct Case {
  std::string name;
  std::string from;
  std::string to;
  std::string path;
  Effort effort;
};

class DiffClass : public testing::TestWithParam<Case> {};

TEST_P(DiffClass, OfTheChange) {
  const Case& one = GetParam();
  for (const Change& change : Changes(one.from, one.to)) {
    if (change.path != one.path) continue;
    EXPECT_EQ(EffortName(change.effort), EffortName(one.effort)) << change.what;
    EXPECT_FALSE(change.reason.empty());
    return;
  }
  ADD_FAILURE() << "no change at " << one.path << " in\n" << DiffText(Changes(one.from, one.to));
}

const std::string kBook = "entities.Book.attributes.";

INSTANTIATE_TEST_SUITE_P(
    Diff, DiffClass,
    testing::Values(
        Case{"AttributeAdded", "title: S!\n      pages", "title: S!\n      author: S?\n      pages",
             kBook + "author", Effort::kFree},
        Case{"RequiredAttributeAdded", "title: S!\n      pages", "title: S!\n      author: S!\n      pages",
             kBook + "author", Effort::kBackfill},
        Case{"RequiredAttributeWithDefaultAdded", "title: S!\n      pages",
             "title: S!\n      author: S! = unknown\n      pages", kBook + "author", Effort::kFree},
        Case{"AttributeRemoved", "      pages: {type: N, min: 1}\n", "", kBook + "pages", Effort::kFree},
        Case{"AttributeRequired", "type: N, min: 1", "type: N!, min: 1", kBook + "pages", Effort::kBackfill},
        Case{"TypeChangedWithinText", "id: uuid! = uuid()", "id: S! = uuid()", kBook + "id", Effort::kFree},
        Case{"TypeChangedToNumber", "reader: S!", "reader: N!", "entities.BOOK_LOAN.attributes.reader",
             Effort::kMigration},
        Case{"TypeChangedToList", "reader: S!", "reader: L!", "entities.BOOK_LOAN.attributes.reader",
             Effort::kRefused},
        Case{"BoundNarrowed", "type: N, min: 1", "type: N, min: 2", kBook + "pages.min", Effort::kBackfill},
        Case{"BoundWidened", "type: N, min: 1", "type: N, min: 0", kBook + "pages.min", Effort::kFree},
        Case{"ChoiceAdded", "{shelved|lent|lost}", "{shelved|lent|lost|sold}", kBook + "status",
             Effort::kFree},
        Case{"OpenChoiceClosed", "{grim|gay|…}", "{grim|gay}", kBook + "mood", Effort::kBackfill},
        Case{"KeyTemplate", "DAY#{day}", "DATE#{day}", "entities.Inspection.key", Effort::kMigration},
        Case{"IndexTemplate", "gsk: \"{createdAt}#{id}\"", "gsk: \"{createdAt}\"",
             "entities.Book.indexes.byStatus", Effort::kBackfill},
        Case{"IndexAdded", "byStatus: {key: {gpk: S, gsk: S}}",
             "byStatus: {key: {gpk: S, gsk: S}}\n      more: {key: {title: S}}", "tables.main.indexes.more",
             Effort::kBackfill},
        Case{"TableRenamed", "Shelf-{stage}", "Shelves-{stage}", "tables.main.name", Effort::kMigration},
        Case{"ComputedRule", "lentAt + 365d", "lentAt + 30d", "entities.BOOK_LOAN.attributes.expires.always",
             Effort::kBackfill},
        Case{"NestedField", "isbn: {type: S!", "isbn: {type: N!", "schemas.details.fields.isbn",
             Effort::kMigration},
        Case{"MoveRemoved", "shelved: [lent, lost]", "shelved: [lent]", "machines.lending.moves.shelved",
             Effort::kFree},
        Case{"PatternRemoved", "  book: {title: One book, get: Book}\n", "", "patterns.book", Effort::kFree}),
    [](const auto& info) { return info.param.name; });

TEST(Diff, AnEqualModelHasNone) {
  EXPECT_TRUE(CompareModels(*LoadSample(), *LoadSample()).empty());
  EXPECT_EQ(DiffText({}), "no difference\n");
}

TEST(Diff, AChangeWithoutAHigherVersionIsRefusedFirst) {
  auto changes = CompareModels(*LoadSample(), *LoadSample("pages: {type: N, min: 1}", "pages: N?"));
  ASSERT_GE(changes.size(), 2U);
  EXPECT_EQ(changes[0].path, "version");
  EXPECT_EQ(changes[0].effort, Effort::kRefused);
}

TEST(Diff, ALowerVersionIsRefusedThoughNothingElseChanged) {
  auto changes = CompareModels(*LoadSample("version: 1\ntitle", "version: 3\ntitle"), *LoadSample());
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].effort, Effort::kRefused);
}

TEST(Diff, ARemovedAttributeNamesItsPurge) {
  EXPECT_THAT(DiffText(Changes("      pages: {type: N, min: 1}\n", "")), HasSubstr("purge pages"));
}

TEST(Diff, ARemovedMoveWarns) {
  EXPECT_THAT(DiffJson(Changes("shelved: [lent, lost]", "shelved: [lent]")), HasSubstr("warning: "));
}

}  // namespace
}  // namespace holdfast::model::generate
