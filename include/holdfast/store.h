// Store: the one door to data for everything above the operations. The same calls, on the database in this
// process or on any DynamoDB endpoint.
//
//   holdfast::RemoteOptions remote;
//   remote.endpoint = "http://127.0.0.1:8000";
//   auto store = holdfast::OpenRemoteStore(remote);            // or holdfast::EmbeddedStore(database.get())
//   if (!store) return Fail(store.error());
//   auto got = (*store)->Run(get_request);                     // waits
//   (*store)->Execute(put_request, [](holdfast::Result<holdfast::PutItemResponse> put) { … });  // does not
//
// What is built on a Store must ask no more of it than DynamoDB promises: conditional writes, transactions of
// up to 100 actions, indexes that are eventually consistent. What the embedded database does better is luck.
//
// Thread safety: every method may be called from any thread. A completion is called exactly once, on a thread
// of the store's choosing, possibly before Execute returns. Other answers wait while it runs: it must not
// block, nor call the store; it hands on what it was given. The destructor waits for the completions of all
// calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/database.h"
#include "holdfast/export.h"
#include "holdfast/result.h"

namespace holdfast {

#define HF_STORE_OPERATIONS(X) \
  X(PutItem)                   \
  X(GetItem)                   \
  X(UpdateItem)                \
  X(DeleteItem)                \
  X(Query)                     \
  X(Scan)                      \
  X(SearchVectors)             \
  X(BatchGetItem)              \
  X(BatchWriteItem)            \
  X(TransactGetItems)          \
  X(TransactWriteItems)        \
  X(CreateTable)               \
  X(DescribeTable)             \
  X(ListTables)                \
  X(UpdateTable)               \
  X(DeleteTable)               \
  X(UpdateTimeToLive)          \
  X(DescribeTimeToLive)        \
  X(TagResource)               \
  X(UntagResource) X(ListTagsOfResource) X(UpdateContinuousBackups) X(DescribeContinuousBackups)

template <class Request>
struct ResponseTo;
#define HF_OPERATION(name)           \
  template <>                        \
  struct ResponseTo<name##Request> { \
    using type = name##Response;     \
  };
HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION
template <class Request>
using ResponseToT = typename ResponseTo<Request>::type;

template <class Response>
using Completion = std::function<void(Result<Response>)>;

// What a store can do beyond reading and conditional writes. Asked once, when it is opened.
struct StoreAbilities {
  bool transactions = true;
  bool time_to_live = true;
  bool vector_search = true;
  bool multi_attribute_keys = true;  // of global secondary indexes
  bool tags = true;
  bool tells_changes_at_once = true;  // a Watch has a change before its write is answered
};

// What happened to one item.
struct TableChange {
  enum class Kind : unsigned char { kInsert, kModify, kRemove };

  Kind kind = Kind::kInsert;
  bool by_ttl = false;           // removed because its time had come
  std::optional<Item> old_item;  // as it was before; of kModify and kRemove
  std::optional<Item> new_item;  // as it is since; of kInsert and kModify
  std::string position;          // to go on after this change
};

// Follows the changes of one table, each told once, after it is durable. The changes of one item come in the
// order in which they were committed.
//
//   HF_TRY(auto watch, store->Watch("orders", std::nullopt));   // from now on
//   while (!stop) {
//     if (!watch->Wait(std::chrono::steady_clock::now() + 1s)) continue;
//     HF_TRY(std::vector<holdfast::TableChange> changes, watch->Read(100));
//     for (const holdfast::TableChange& change : changes) Use(change);
//   }
//
// Changes are kept for as long as some watch of the table has yet to read them: one that is kept open and not
// read costs disk space.
//
// Thread safety: a watch belongs to one thread at a time. Its store must outlive it.
class HOLDFAST_EXPORT TableWatch {
 public:
  virtual ~TableWatch() = default;
  // Returns true as soon as there may be something to read, false at the deadline.
  virtual bool Wait(std::chrono::steady_clock::time_point deadline) = 0;
  // Up to `limit` changes, oldest first, and none when there are none yet. Does not wait. Fails with
  // kResourceNotFound once the table has been deleted; one made anew under its name is another table.
  virtual Result<std::vector<TableChange>> Read(size_t limit) = 0;
  // To go on after all that was read. Opaque: its form may change with the version.
  virtual std::string position() const = 0;
};

class HOLDFAST_EXPORT Store {
 public:
  virtual ~Store() = default;

#define HF_OPERATION(name) \
  virtual void Execute(const name##Request& request, Completion<name##Response> done) = 0;
  HF_STORE_OPERATIONS(HF_OPERATION)
#undef HF_OPERATION

  // Follows `table` from after the position `from`, or from now on. Fails with kResourceNotFound when there
  // is no such table, with kTrimmedDataAccess when the changes after `from` are no longer kept (they are kept
  // only while a watch needs them, and not from one start of the database to the next), and with kValidation
  // when `from` is no position.
  //
  // A store elsewhere is followed by way of DynamoDB Streams: the table must have a stream with
  // NEW_AND_OLD_IMAGES, else kNotSupported. There changes are kept for a day, whoever watches; changes of
  // different items may come in another order than they were committed; and whoever goes on from a position
  // may be told again of changes in the last seconds before the first watch was opened.
  virtual Result<std::unique_ptr<TableWatch>> Watch(const std::string& table,
                                                    const std::optional<std::string>& from) = 0;

  // Between these two, more calls of this thread are about to follow: what makes their writes durable may
  // wait until EndTogether and be done once for all, by this thread itself if it says that it has nothing
  // else to do. Do not wait for an answer in between. See Together.
  virtual void BeginTogether() {}
  virtual void EndTogether(bool nothing_else) {
    static_cast<void>(nothing_else);
  }

  virtual StoreAbilities abilities() const = 0;
  // For messages: "the store in ./data", "http://127.0.0.1:8000 (us-east-1)".
  virtual std::string name() const = 0;

  // Executes and waits.
  template <class Request>
  Result<ResponseToT<Request>> Run(const Request& request) {
    std::optional<Result<ResponseToT<Request>>> answer;
    std::mutex mu;
    std::condition_variable answered;
    Execute(request, [&](Result<ResponseToT<Request>> result) {
      std::lock_guard lock(mu);
      answer.emplace(std::move(result));
      answered.notify_one();
    });
    std::unique_lock lock(mu);
    answered.wait(lock, [&] { return answer.has_value(); });
    return *std::move(answer);
  }
};

// The calls that one thread makes while this lives belong together: on the embedded database they share a
// sync.
class Together {
 public:
  explicit Together(Store* store) : store_(store) { store_->BeginTogether(); }
  ~Together() { store_->EndTogether(nothing_else_); }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  // The thread would only wait for answers now.
  void NothingElse() { nothing_else_ = true; }

 private:
  Store* const store_;
  bool nothing_else_ = false;
};

// The database of this process. It must outlive the store.
HOLDFAST_EXPORT std::unique_ptr<Store> EmbeddedStore(Database* database);

// Where a remote store is and how it is spoken to. What is left empty comes from where AWS's own tools look:
// AWS_ENDPOINT_URL_DYNAMODB, AWS_ENDPOINT_URL, AWS_REGION, AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE,
// ~/.aws/credentials, ~/.aws/config. Keys are read once: when they expire, open another store.
struct RemoteOptions {
  std::string endpoint;  // http://host:port; empty and not in the environment: AWS's own for the region
  std::string region;
  std::string profile;
  std::string access_key;
  std::string secret_key;
  std::string session_token;

  int connections = 32;  // open at once; more requests wait their turn
  int connect_timeout_millis = 2000;
  int request_timeout_millis = 10'000;
  // Throttling, 5xx, conflicts of transactions and lost connections are tried again, each time after a random
  // part of a doubling pause. When the answer was lost, the request may have been carried out already. A
  // transaction is protected by its token, which it is given when it has none; any other write is carried out
  // again, so that a conditional put may report its own success as a failed condition, and `SET n = n + :one`
  // may count twice.
  int attempts = 8;
  int first_pause_millis = 25;
  int longest_pause_millis = 5000;
};

// Fails, saying what to do, when there are no credentials, the endpoint cannot be reached or is no DynamoDB.
HOLDFAST_EXPORT Result<std::unique_ptr<Store>> OpenRemoteStore(const RemoteOptions& options);

}  // namespace holdfast
