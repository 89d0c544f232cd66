#include "store/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/thread.h"

namespace holdfast::store {
namespace {

// One request from its first byte to its answer, on a handle that is used again afterwards.
class Transfer {
 public:
  Transfer(HttpRequest request, HttpClient::Done done, size_t answer_bytes_max)
      : request_(std::move(request)), done_(std::move(done)), answer_bytes_max_(answer_bytes_max) {
    for (const std::string& header : request_.headers) headers_ = curl_slist_append(headers_, header.c_str());
  }
  ~Transfer() { curl_slist_free_all(headers_); }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void SetUp(CURL* handle, const HttpClientOptions& options) {
    curl_easy_reset(handle);  // keeps the connection
    auto set = [&](CURLoption option, auto value) {
      CURLcode code = curl_easy_setopt(handle, option, value);
      HF_ASSERT(code == CURLE_OK);
    };
    set(CURLOPT_PRIVATE, this);
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    if (request_.body != nullptr) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDS, request_.body->data());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body->size()));
    }
    set(CURLOPT_HTTPHEADER, headers_);
    set(CURLOPT_WRITEFUNCTION, &Transfer::Receive);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_ERRORBUFFER, problem_);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout_millis));
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(options.request_timeout_millis));
  }

  void Finish(CURL* handle, CURLcode code) {
    if (is_too_long_) {
      return done_(Error(ErrorCode::kLimitExceeded, request_.url + " sent an answer of more than " +
                                                        std::to_string(answer_bytes_max_ >> 20) + " MB"));
    }
    if (code != CURLE_OK) {
      std::string why = problem_[0] != 0 ? problem_ : curl_easy_strerror(code);
      return done_(Error(ErrorCode::kIo, "no answer from " + request_.url + ": " + why));
    }
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    curl_header* server = nullptr;
    bool is_named = curl_easy_header(handle, "Server", 0, CURLH_HEADER, -1, &server) == CURLHE_OK;
    done_(HttpAnswer{static_cast<int>(status), std::move(body_), is_named ? server->value : ""});
  }

 private:
  static size_t Receive(char* bytes, size_t, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->is_too_long_ = transfer->body_.size() + count > transfer->answer_bytes_max_;
    if (transfer->is_too_long_) return 0;  // which ends the transfer
    transfer->body_.append(bytes, count);
    return count;
  }

  const HttpRequest request_;
  const HttpClient::Done done_;
  const size_t answer_bytes_max_;
  curl_slist* headers_ = nullptr;
  std::string body_;
  bool is_too_long_ = false;
  char problem_[CURL_ERROR_SIZE] = {};
};

}  // namespace

class HttpClient::Loop {
 public:
  explicit Loop(const HttpClientOptions& options) : options_(options) {
    static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
    HF_ASSERT(initialized == CURLE_OK);
    multi_ = curl_multi_init();
    HF_ASSERT(multi_ != nullptr);
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(options.connections));
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    {
      base::MutexLock lock(&mu_);
      stop_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (CURL* handle : idle_) curl_easy_cleanup(handle);
    curl_multi_cleanup(multi_);
  }

  void Add(Prepare prepare, Done done, int64_t pause_millis) {
    int64_t due_micros = pause_millis == 0 ? 0 : base::SteadyMicros() + pause_millis * 1000;
    {
      base::MutexLock lock(&mu_);
      arrived_.push_back({due_micros, std::move(prepare), std::move(done)});
    }
    curl_multi_wakeup(multi_);
  }

 private:
  struct Waiting {
    int64_t due_micros;
    Prepare prepare;
    Done done;
  };

  void Run() {
    base::NameThread("store-http");
    while (true) {
      bool stopping = TakeArrived();
      TakeDue(stopping);
      while (!ready_.empty() && active_ < options_.connections) Begin();
      int running = 0;
      curl_multi_perform(multi_, &running);
      bool finished = FinishSome();
      if (stopping && active_ == 0 && ready_.empty() && paused_.empty() && !HasArrived()) return;
      // What a completion started should not wait; nor should those whose turn it is now.
      if (!finished) curl_multi_poll(multi_, nullptr, 0, PollMillis(), nullptr);
    }
  }

  // Returns whether the client is to end.
  bool TakeArrived() {
    base::MutexLock lock(&mu_);
    for (Waiting& waiting : arrived_) {
      if (waiting.due_micros == 0) {
        ready_.push_back(std::move(waiting));
      } else {
        paused_.emplace(waiting.due_micros, std::move(waiting));
      }
    }
    arrived_.clear();
    return stop_;
  }
  bool HasArrived() {
    base::MutexLock lock(&mu_);
    return !arrived_.empty();
  }

  void TakeDue(bool stopping) {
    int64_t now = base::SteadyMicros();
    while (!paused_.empty() && (stopping || paused_.begin()->first <= now)) {
      Waiting waiting = std::move(paused_.extract(paused_.begin()).mapped());
      if (stopping) {
        base::RunContained(base::FallbackLog(), "answer of the store",
                           [&] { waiting.done(Error(ErrorCode::kIo, "the store was closed")); });
      } else {
        ready_.push_back(std::move(waiting));
      }
    }
  }

  void Begin() {
    Waiting waiting = std::move(ready_.front());
    ready_.pop_front();
    CURL* handle = nullptr;
    if (idle_.empty()) {
      handle = curl_easy_init();
      HF_ASSERT(handle != nullptr);
    } else {
      handle = idle_.back();
      idle_.pop_back();
    }
    auto* transfer = new Transfer(waiting.prepare(), std::move(waiting.done), options_.answer_bytes_max);
    transfer->SetUp(handle, options_);
    CURLMcode added = curl_multi_add_handle(multi_, handle);
    HF_ASSERT(added == CURLM_OK);
    ++active_;
  }

  bool FinishSome() {
    bool any = false;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      CURL* handle = message->easy_handle;
      CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(handle, CURLINFO_PRIVATE, &transfer);
      curl_multi_remove_handle(multi_, handle);
      --active_;
      base::RunContained(base::FallbackLog(), "answer of the store", [&] { transfer->Finish(handle, code); });
      delete transfer;
      idle_.push_back(handle);
      any = true;
    }
    return any;
  }

  int PollMillis() const {
    if (paused_.empty()) return 60'000;
    int64_t micros = paused_.begin()->first - base::SteadyMicros();
    return static_cast<int>(std::clamp<int64_t>(micros / 1000 + 1, 0, 60'000));
  }

  const HttpClientOptions options_;
  CURLM* multi_ = nullptr;

  base::Mutex mu_;
  std::vector<Waiting> arrived_ HF_GUARDED_BY(mu_);
  bool stop_ HF_GUARDED_BY(mu_) = false;

  // Of the thread alone.
  std::deque<Waiting> ready_;
  std::multimap<int64_t, Waiting> paused_;
  int active_ = 0;
  std::vector<CURL*> idle_;

  std::thread thread_;
};

HttpClient::HttpClient(const HttpClientOptions& options) : loop_(std::make_unique<Loop>(options)) {}
HttpClient::~HttpClient() = default;

void HttpClient::Send(Prepare prepare, Done done, int64_t pause_millis) {
  loop_->Add(std::move(prepare), std::move(done), pause_millis);
}

Result<std::string> FetchText(const std::string& url) {
  std::promise<Result<HttpAnswer>> answered;
  HttpClient client({.connections = 1, .request_timeout_millis = 5000, .answer_bytes_max = 1 << 20});
  client.Send([&] { return HttpRequest{.url = url}; },
              [&](Result<HttpAnswer> answer) { answered.set_value(std::move(answer)); });
  HF_TRY(HttpAnswer answer, answered.get_future().get());
  if (answer.status != 200)
    return Error(ErrorCode::kIo, url + " answered with status " + std::to_string(answer.status));
  return std::move(answer.body);
}

Result<Address> ParseAddress(const std::string& url) {
  auto bad = [&] {
    return ValidationError("the endpoint " + url + " is not of the form http://host:port or https://host");
  };
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), &curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return bad();
  auto part = [&](CURLUPart which, unsigned flags = 0) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), which, &text, flags) != CURLUE_OK) return std::string();
    std::string copy(text);
    curl_free(text);
    return copy;
  };
  std::string scheme = part(CURLUPART_SCHEME);
  if ((scheme != "http" && scheme != "https") || !part(CURLUPART_QUERY).empty()) return bad();
  std::string port = part(CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  return Address{.url = url,
                 .host = part(CURLUPART_HOST) + (port.empty() ? "" : ":" + port),
                 .path = part(CURLUPART_PATH)};
}

}  // namespace holdfast::store
