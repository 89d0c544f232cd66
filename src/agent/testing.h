// A runtime on a database in memory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/runtime.h"
#include "holdfast/database.h"

namespace holdfast::agent {

class Shown final : public DeviceSink {
 public:
  void OnReady(int64_t last_n, int64_t acked) override {
    Note("ready " + std::to_string(last_n) + " " + std::to_string(acked));
  }
  void OnMessage(const Message& message) override { Note(std::to_string(message.n) + " " + message.content); }
  void OnSkip(int64_t n) override { Note("skip " + std::to_string(n)); }
  void OnState(std::string_view state) override { Note("state " + std::string(state)); }
  void OnEnd(std::string_view reason) override { Note("end " + std::string(reason)); }

  // Waits until so much was told.
  std::vector<std::string> Wait(size_t count) {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return told_.size() >= count; });
    return told_;
  }

 private:
  void Note(std::string text) {
    std::lock_guard lock(mu_);
    told_.push_back(std::move(text));
    changed_.notify_all();
  }
  std::mutex mu_;
  std::condition_variable changed_;
  std::vector<std::string> told_;
};

class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() {
    auto opened = Database::Open(Options());
    EXPECT_TRUE(opened) << opened.error().ToString();
    database_ = *std::move(opened);
    store_ = EmbeddedStore(database_.get());
    Restart();
  }
  void Restart(RuntimeOptions options = {}) {
    runtime_.reset();
    auto runtime = Runtime::Open(store_.get(), std::move(options), nullptr);
    ASSERT_TRUE(runtime) << runtime.error().ToString();
    runtime_ = *std::move(runtime);
  }

  Result<Appended> Say(const std::string& session, const std::string& text, const std::string& id = {}) {
    AppendRequest request{.session = session, .id = id, .payload = Item{{"text", text}}};
    return Runtime::Await<Appended>([&](Done<Appended> done) { runtime_->Append(request, std::move(done)); });
  }
  std::vector<Work> Claim(const std::string& agent, int64_t wait_millis = 5'000) {
    return Claim(ClaimRequest{.worker = "w", .agents = {agent}, .wait_millis = wait_millis});
  }
  std::vector<Work> Claim(const ClaimRequest& request) {
    auto work = Runtime::Await<std::vector<Work>>(
        [&](Done<std::vector<Work>> done) { runtime_->Claim(request, std::move(done)); });
    EXPECT_TRUE(work) << work.error().ToString();
    return work ? *std::move(work) : std::vector<Work>();
  }
  Result<Committed> Commit(const Work& work, std::vector<EffectRequest> effects, const std::string& token,
                           bool release = true) {
    CommitRequest request{.session = work.session,
                          .epoch = work.epoch,
                          .upto = work.events.back().seq,
                          .token = token,
                          .state = Item{{"turns", work.events.back().seq}},
                          .effects = std::move(effects),
                          .release = release};
    return Runtime::Await<Committed>(
        [&](Done<Committed> done) { runtime_->Commit(request, std::move(done)); });
  }
  static EffectRequest Send(const std::string& content) {
    return {.type = "send_message", .payload = Item{{"content", content}}};
  }
  static EffectRequest Timer(const std::string& id, int64_t delay) {
    return {.type = "schedule_timer", .payload = Item{{"timer_id", id}, {"delay_ms", delay}}};
  }
  std::vector<EffectView> Effects(const std::string& session) {
    auto views = Runtime::Await<std::vector<EffectView>>(
        [&](Done<std::vector<EffectView>> done) { runtime_->ListEffects(session, {}, "", std::move(done)); });
    EXPECT_TRUE(views);
    return *std::move(views);
  }

  // A gauge or a counter of the runtime's metrics.
  int64_t Metric(const std::string& name) const {
    std::string text = runtime_->Metrics(), line = "\nholdfast_agent_" + name + " ";
    size_t at = text.find(line);
    return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + line.size());
  }

  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace holdfast::agent
