// Jobs must end with every item right whatever stops them and whoever writes meanwhile.
#include "model/jobs.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/load.h"
#include "model/seal.h"

namespace holdfast::model {
namespace {

using testing::HasSubstr;

constexpr std::string_view kJobsYaml = R"yaml(
model: shelf
version: 1
tables:
  main:
    name: Shelf
    key: {pk: S, sk: S}
    type_attribute: kind
    ttl: expires
    indexes:
      byStatus: {key: {gpk: S, gsk: S}}
      byOwner: {key: {opk: S, osk: S}}
entities:
  Book:
    key: {pk: "BOOK#{id}", sk: BOOK}
    indexes:
      byStatus: {gpk: "BOOK#{status}", gsk: "{createdAt}#{id}"}
    version: version
    attributes:
      id: S!
      title: S!
      status: S! = shelved {shelved|lent}
      version: N! = 1
      createdAt: ts! = now()
      expires: {type: epoch, always: createdAt + 1d}
  Key:
    key: {pk: "KEY#{name}", sk: KEY}
    attributes:
      name: S!
      secret: encrypted!
      bound: {type: encrypted, context: [name]}
patterns:
  book: {title: One book, get: Book}
)yaml";

ModelPtr Load(std::string_view from = {}, std::string_view to = {}) {
  std::string yaml(kJobsYaml);
  for (size_t at = yaml.find(from); !from.empty() && at != std::string::npos;
       at = yaml.find(from, at + to.size()))
    yaml.replace(at, from.size(), to);
  if (!from.empty()) yaml.replace(yaml.find("version: 1"), 10, "version: 2");
  auto loaded = LoadModel(yaml, "shelf.yaml", {});
  EXPECT_TRUE(loaded) << loaded.error().message();
  return loaded ? *loaded : nullptr;
}

class JobsTest : public testing::Test {
 protected:
  JobsTest() {
    // The items are of a fixed day and long expired: the sweeper would take them while a slow test runs.
    database_ = *Database::Open({.ttl_sweep_millis = 3'600'000});
    store_ = EmbeddedStore(database_.get());
    Apply(Load());
    std::filesystem::remove(file_);
  }
  ~JobsTest() override { std::filesystem::remove(file_); }

  void Apply(const ModelPtr& model, ApplicationOptions options = {}) {
    auto app = Application::Open(store_.get(), model, std::move(options));
    ASSERT_TRUE(app) << app.error().message();
    auto applied = (*app)->Apply();
    ASSERT_TRUE(applied) << applied.error().message();
    app_ = *std::move(app);
  }

  static Item RawBook(const std::string& id, const AttributeMap& more = {}) {
    AttributeMap book{
        {"pk", "BOOK#" + id}, {"sk", "BOOK"}, {"kind", "Book"}, {"id", id}, {"title", "T" + id}};
    for (const auto& [name, value] : more) book[name] = value;
    return Item(book);
  }
  void Put(const Item& item, const std::string& table = "Shelf") {
    auto put = store_->Run(PutItemRequest{.table_name = table, .item = item});
    ASSERT_TRUE(put) << put.error().message();
  }
  std::optional<Item> Get(const std::string& pk, const std::string& sk = "BOOK",
                          const std::string& table = "Shelf") {
    return store_->Run(GetItemRequest{.table_name = table, .key = {{"pk", pk}, {"sk", sk}}})->item;
  }
  size_t Count(const std::string& table) {
    return store_->Run(ScanRequest{.table_name = table})->items->size();
  }

  // Runs a job, stopping it after every `pages` pages and going on, until it ends.
  JobCounts Run(const std::function<Result<std::unique_ptr<Job>>()>& make, int pages = 1 << 20,
                int* runs = nullptr) {
    for (int run = 1;; ++run) {
      auto job = make();
      EXPECT_TRUE(job) << job.error().message();
      int left = pages;
      JobOptions options;
      options.progress_file = file_;
      options.page_items = 10;
      options.stop = [&] { return --left == 0; };
      auto report = RunJob(store_.get(), **job, options);
      EXPECT_TRUE(report) << report.error().message();
      if (!report) return {};
      notes_ = report->notes;
      EXPECT_EQ(report->finished, !std::filesystem::exists(file_));
      if (runs != nullptr) *runs = run;
      if (report->finished) return report->counts;
    }
  }

  const std::string file_ = testing::TempDir() + "jobs." + std::to_string(::getpid()) + ".json";
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Application> app_;
  std::vector<std::string> notes_;
};

// --- purge ---

TEST_F(JobsTest, PurgeRemovesAnAttributeFromItsEntityAlone) {
  for (int i = 0; i < 35; ++i) Put(RawBook(std::to_string(i), {{"phone", "555"}}));
  Put({{"pk", "KEY#a"}, {"sk", "KEY"}, {"kind", "Key"}, {"name", "a"}, {"phone", "555"}});
  Put({{"pk", "?"}, {"sk", "?"}, {"phone", "555"}});
  int runs = 0;
  JobCounts counts = Run([&] { return MakePurge(store_.get(), Load(), "Book", "phone"); }, 1, &runs);
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(counts.read, 37u);
  EXPECT_EQ(counts.changed, 35u);
  EXPECT_EQ(counts.unchanged, 1u);
  EXPECT_EQ(counts.unknown, 1u);
  EXPECT_FALSE(Get("BOOK#7")->Has("phone"));
  EXPECT_EQ(Get("BOOK#7")->Get("title"), AttributeValue("T7"));
  EXPECT_TRUE(Get("KEY#a", "KEY")->Has("phone"));
  EXPECT_EQ(Run([&] { return MakePurge(store_.get(), Load(), "Book", "phone"); }).changed, 0u);
}

TEST_F(JobsTest, PurgeRefusesWhatTheModelHas) {
  for (const char* attribute : {"title", "pk", "gpk", "kind", "expires", "opk"})
    EXPECT_FALSE(MakePurge(store_.get(), Load(), "Book", attribute)) << attribute;
  EXPECT_FALSE(MakePurge(store_.get(), Load(), "Chair", "phone"));
}

// --- backfill ---

TEST_F(JobsTest, BackfillWritesWhatTheModelWouldHave) {
  Item bare{{"pk", "BOOK#1"},
            {"sk", "BOOK"},
            {"title", "Bare"},
            {"createdAt", "2026-02-04T10:30:00Z"},
            {"opk", "stray"}};
  Put(bare);
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", "2"}, {"title", "Whole"}}));
  Item whole = *Get("BOOK#2");
  // Wrong index keys, and rightly spelled ones of somebody else.
  Put(RawBook("3", {{"status", "lent"},
                    {"version", 4},
                    {"createdAt", "2026-02-04T10:30:00.000Z"},
                    {"gpk", "BOOK#shelved"},
                    {"gsk", "nonsense"}}));
  Put(RawBook("4", {{"status", "lent"},
                    {"version", 4},
                    {"createdAt", "2026-02-04T10:30:00Z"},
                    {"expires", 1770287400},
                    {"gpk", "BOOK#lent"},
                    {"gsk", "2026-02-04T10:30:00.000Z#4"}}));
  Put({{"pk", "BOOK#5"}, {"sk", "BOOK"}, {"kind", "Book"}, {"id", "5"}});  // no title: nobody can know it
  Put({{"pk", "?"}, {"sk", "?"}});

  JobCounts counts = Run([&] { return MakeBackfill(store_.get(), Load(), ""); });
  EXPECT_EQ(counts.read, 6u);
  EXPECT_EQ(counts.changed, 2u);
  EXPECT_EQ(counts.unchanged, 2u);
  EXPECT_EQ(counts.unknown, 1u);
  EXPECT_EQ(counts.faulty, 1u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("pk=BOOK#5 sk=BOOK: title: is required"));

  EXPECT_EQ(*Get("BOOK#1"), (Item{{"pk", "BOOK#1"},
                                  {"sk", "BOOK"},
                                  {"kind", "Book"},
                                  {"id", "1"},
                                  {"title", "Bare"},
                                  {"status", "shelved"},
                                  {"version", 1},
                                  {"createdAt", "2026-02-04T10:30:00Z"},
                                  {"expires", 1770287400},
                                  {"gpk", "BOOK#shelved"},
                                  {"gsk", "2026-02-04T10:30:00Z#1"}}));
  EXPECT_EQ(*Get("BOOK#2"), whole);
  EXPECT_EQ(Get("BOOK#3")->Get("gpk"), AttributeValue("BOOK#lent"));
  EXPECT_EQ(Get("BOOK#3")->Get("gsk"), AttributeValue("2026-02-04T10:30:00.000Z#3"));
  EXPECT_EQ(Get("BOOK#4")->Get("gsk"), AttributeValue("2026-02-04T10:30:00.000Z#4"));

  EXPECT_EQ(Run([&] { return MakeBackfill(store_.get(), Load(), ""); }).changed, 0u);
}

TEST_F(JobsTest, BackfillFillsANewIndexAcrossStops) {
  for (int i = 0; i < 45; ++i)
    ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", std::to_string(i)}, {"title", "T"}}));
  ModelPtr newer = Load("gsk: \"{createdAt}#{id}\"}",
                        "gsk: \"{createdAt}#{id}\"}\n      byOwner: {opk: \"TITLE#{title}\", osk: \"{id}\"}");
  int runs = 0;
  JobCounts counts = Run([&] { return MakeBackfill(store_.get(), newer, "Book"); }, 2, &runs);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(counts.changed, 45u);
  EXPECT_EQ(counts.read, 45u);
  EXPECT_EQ(store_->Run(ScanRequest{.table_name = "Shelf", .index_name = "byOwner"})->items->size(), 45u);
}

// Whoever writes during a backfill must lose nothing, and no index key may be of a state that is past.
TEST_F(JobsTest, BackfillAmongWriters) {
  constexpr int kBooks = 20;
  for (int i = 0; i < kBooks; ++i)
    Put(RawBook(std::to_string(i),
                {{"version", 1}, {"status", "shelved"}, {"createdAt", "2026-02-04T10:30:00.000Z"}}));
  std::atomic<bool> done{false};
  std::vector<int> written(kBooks);
  std::thread writer([&] {
    for (int round = 0; round == 0 || !done; ++round) {
      for (int i = 0; i < kBooks; ++i) {
        // As plain SDK code would: the state and a count, without index keys.
        UpdateItemRequest update;
        update.table_name = "Shelf";
        update.key = Item{{"pk", "BOOK#" + std::to_string(i)}, {"sk", "BOOK"}};
        update.update_expression = "SET #s = :s ADD seen :one REMOVE gpk, gsk";
        update.expression_attribute_names = ExpressionNames{{"#s", "status"}};
        update.expression_attribute_values =
            ExpressionValues(Item{{":s", round % 2 == 0 ? "lent" : "shelved"}, {":one", 1}});
        EXPECT_TRUE(store_->Run(update));
        ++written[size_t(i)];
      }
    }
  });
  for (int i = 0; i < 5; ++i) Run([&] { return MakeBackfill(store_.get(), Load(), ""); });
  done = true;
  writer.join();
  EXPECT_EQ(Run([&] { return MakeBackfill(store_.get(), Load(), ""); }).conflicts, 0u);
  for (int i = 0; i < kBooks; ++i) {
    Item book = *Get("BOOK#" + std::to_string(i));
    EXPECT_EQ(book.Get("seen")->AsInt64(), written[size_t(i)]);
    EXPECT_EQ(book.Get("gpk")->AsText(), "BOOK#" + book.Get("status")->AsText());
  }
}

TEST_F(JobsTest, ProgressOfAnotherJobIsNotGoneOnFrom) {
  for (int i = 0; i < 25; ++i) Put(RawBook(std::to_string(i)));
  auto backfill = MakeBackfill(store_.get(), Load(), "");
  JobOptions options{.progress_file = file_, .page_items = 10, .stop = [] { return true; }};
  ASSERT_FALSE(RunJob(store_.get(), **backfill, options)->finished);
  auto purge = MakePurge(store_.get(), Load(), "Book", "phone");
  auto refused = RunJob(store_.get(), **purge, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("progress of another job"));
}

// --- migrate ---

constexpr std::string_view kOldKey = "{pk: \"BOOK#{id}\", sk: BOOK}";
constexpr std::string_view kNewKey = "{pk: \"SHELF\", sk: \"BOOK#{id}\"}";

TEST_F(JobsTest, MigrateMovesItemsToTheirNewKeys) {
  for (int i = 0; i < 45; ++i)
    ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book",
                             {{"id", std::to_string(i)}, {"title", "T" + std::to_string(i)}}));
  Put(RawBook(
      "x", {{"status", "lent"}, {"version", 3}, {"createdAt", "2026-02-04T10:30:00Z"}, {"extra.1", "kept"}}));
  ModelPtr newer = Load(kOldKey, kNewKey);
  auto make = [&] { return MakeMigrate(store_.get(), Load(), newer, MigratePhase::kMove, nullptr); };
  JobCounts counts = Run(make, 1);
  EXPECT_EQ(counts.changed, 46u);
  EXPECT_EQ(counts.conflicts + counts.faulty + counts.unknown, 0u) << testing::PrintToString(notes_);
  EXPECT_EQ(Count("Shelf"), 46u);
  EXPECT_FALSE(Get("BOOK#7"));
  EXPECT_EQ(Get("SHELF", "BOOK#7")->Get("title"), AttributeValue("T7"));
  EXPECT_EQ(Get("SHELF", "BOOK#x")->Get("extra.1"), AttributeValue("kept"));
  EXPECT_EQ(Get("SHELF", "BOOK#x")->Get("version"), AttributeValue(3));
  Apply(newer);
  EXPECT_TRUE(app_->Get(Caller::Administrator(), "Book", {{"id", "7"}}));
  EXPECT_EQ(Run(make).changed, 0u);
}

TEST_F(JobsTest, MigrateInTwoPhases) {
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", "1"}, {"title", "Same"}}));
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", "2"}, {"title", "Older"}}));
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", "3"}, {"title", "Newer"}}));
  ModelPtr newer = Load(kOldKey, kNewKey);
  auto make = [&](MigratePhase phase) {
    return [&, phase] { return MakeMigrate(store_.get(), Load(), newer, phase, nullptr); };
  };
  EXPECT_EQ(Run(make(MigratePhase::kCopy)).changed, 3u);
  EXPECT_EQ(Count("Shelf"), 6u);
  EXPECT_EQ(Run(make(MigratePhase::kCopy)).changed, 0u);

  // An old program changes one, a new program another, and one is made that has not been copied.
  ASSERT_TRUE(app_->Patch(Caller::Administrator(), "Book", {{"id", "2"}}, {{"title", "Changed"}}));
  auto newer_app = Application::Open(store_.get(), newer, {});
  ASSERT_TRUE(
      (*newer_app)->Patch(Caller::Administrator(), "Book", {{"id", "3"}}, {{"title", "Changed too"}}));
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", "4"}, {"title", "Late"}}));

  // What would be lost stays.
  JobCounts first = Run(make(MigratePhase::kDeleteOld));
  EXPECT_EQ(first.changed, 2u);
  EXPECT_EQ(first.conflicts, 2u);
  EXPECT_TRUE(Get("BOOK#2") && Get("BOOK#4"));
  EXPECT_FALSE(Get("BOOK#1") || Get("BOOK#3"));

  EXPECT_EQ(Run(make(MigratePhase::kCopy)).changed, 2u);
  EXPECT_EQ(Run(make(MigratePhase::kDeleteOld)).changed, 2u);
  EXPECT_EQ(Count("Shelf"), 4u);
  EXPECT_EQ(Get("SHELF", "BOOK#2")->Get("title"), AttributeValue("Changed"));
  EXPECT_EQ(Get("SHELF", "BOOK#3")->Get("title"), AttributeValue("Changed too"));
}

TEST_F(JobsTest, MigrateCopiesIntoARenamedTable) {
  for (int i = 0; i < 15; ++i)
    ASSERT_TRUE(app_->Create(Caller::Administrator(), "Book", {{"id", std::to_string(i)}, {"title", "T"}}));
  ModelPtr newer = Load("name: Shelf\n", "name: Shelves\n");
  auto keys = MasterKeys::Create(file_ + ".keys");
  ASSERT_TRUE(keys) << keys.error().message();
  auto shared = std::make_shared<const MasterKeys>(*keys);
  std::filesystem::remove(file_ + ".keys");
  Apply(Load(), {.master_keys = shared});
  ASSERT_TRUE(app_->Create(Caller::Administrator(), "Key",
                           {{"name", "door"}, {"secret", "1234"}, {"bound", "5678"}}));
  EXPECT_FALSE(MakeMigrate(store_.get(), Load(), newer, MigratePhase::kMove, nullptr)) << "needs the keys";

  Apply(newer, {.master_keys = shared});
  JobCounts counts =
      Run([&] { return MakeMigrate(store_.get(), Load(), newer, MigratePhase::kMove, shared); }, 1);
  EXPECT_EQ(counts.changed, 16u);
  EXPECT_EQ(Count("Shelf"), 0u);
  EXPECT_EQ(Count("Shelves"), 16u);
  // What was sealed for the old table opens in the new one.
  Item moved = *Get("KEY#door", "KEY", "Shelves");
  EXPECT_EQ(*Unseal(*shared, moved.Get("secret")->AsText(), "Shelves\npk=KEY#door\nsk=KEY\n"), "1234");
  EXPECT_EQ(*Unseal(*shared, moved.Get("bound")->AsText(), "name=door\n"), "5678");
}

TEST_F(JobsTest, MigrateRefusesWhatItCannotDo) {
  auto why = [&](const ModelPtr& newer) {
    auto made = MakeMigrate(store_.get(), Load(), newer, MigratePhase::kMove, nullptr);
    EXPECT_FALSE(made);
    return made ? "" : made.error().message();
  };
  EXPECT_THAT(why(Load("title: S!", "title: M!")), HasSubstr("entities.Book.attributes.title"));
  EXPECT_THAT(why(Load("title: S!", "title: S?")), HasSubstr("nothing to migrate"));
  EXPECT_THAT(why(Load()), HasSubstr("nothing to migrate"));
}

// --- rewrap ---

TEST_F(JobsTest, RewrapLeavesNothingUnderTheOldKey) {
  std::string path = file_ + ".keys";
  ASSERT_TRUE(MasterKeys::Create(path));
  auto keys = [&] { return std::make_shared<const MasterKeys>(*MasterKeys::Load(path)); };
  Apply(Load(), {.master_keys = keys()});
  for (int i = 0; i < 25; ++i) {
    std::string name = "k" + std::to_string(i);
    ASSERT_TRUE(app_->Create(Caller::Administrator(), "Key",
                             {{"name", name}, {"secret", "s" + name}, {"bound", "b" + name}}));
  }
  ASSERT_TRUE(MasterKeys::Rotate(path));
  int runs = 0;
  JobCounts counts = Run([&] { return MakeRewrap(store_.get(), Load(), keys()); }, 1, &runs);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(counts.changed, 25u);
  EXPECT_EQ(Run([&] { return MakeRewrap(store_.get(), Load(), keys()); }).changed, 0u);

  ASSERT_TRUE(MasterKeys::Disable(path, 1));
  auto now = keys();
  for (int i = 0; i < 25; ++i) {
    std::string name = "k" + std::to_string(i);
    Item key = *Get("KEY#" + name, "KEY");
    EXPECT_EQ(Unseal(*now, key.Get("secret")->AsText(), "Shelf\npk=KEY#" + name + "\nsk=KEY\n").value(),
              "s" + name);
    EXPECT_EQ(Unseal(*now, key.Get("bound")->AsText(), "name=" + name + "\n").value(), "b" + name);
  }
  std::filesystem::remove(path);
}

// An attribute that cannot be opened must be reported, and must not keep the others from being wrapped.
TEST_F(JobsTest, RewrapReportsWhatItCannotOpen) {
  std::string path = file_ + ".keys";
  ASSERT_TRUE(MasterKeys::Create(path));
  auto keys = [&] { return std::make_shared<const MasterKeys>(*MasterKeys::Load(path)); };
  Apply(Load(), {.master_keys = keys()});
  for (const char* name : {"a", "b", "c"})
    ASSERT_TRUE(app_->Create(Caller::Administrator(), "Key", {{"name", name}, {"secret", "s"}}));
  Item swapped = *Get("KEY#a", "KEY");
  swapped.Set("secret", *Get("KEY#b", "KEY")->Get("secret"));
  Put(swapped);
  ASSERT_TRUE(MasterKeys::Rotate(path));
  JobCounts counts = Run([&] { return MakeRewrap(store_.get(), Load(), keys()); });
  EXPECT_EQ(counts.changed, 2u);
  EXPECT_EQ(counts.faulty, 1u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_THAT(notes_[0], HasSubstr("pk=KEY#a"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace holdfast::model
