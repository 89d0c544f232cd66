// A WebSocket to a server, from the client's side: plain TCP, texts in, texts out.
//
//   Link link(loop, &handler, address);
//   link.Open("/v1/work/ws", token);     // on the loop's thread
//   …handler.OnOpen(), then OnText for each message
//   link.Send(R"({"t":"hb"})");          // from any thread
//
// Thread safety: Send from any thread, all else on the loop's. What is sent on the loop's thread leaves at
// the end of its round, together; from another thread it leaves at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/random.h"
#include "holdfast/agent.h"
#include "holdfast/result.h"
#include "net/frame.h"
#include "sdk/loop.h"

namespace holdfast::sdk {

// The parts of http://host:port/prefix.
struct Address {
  std::string host, port;
  std::string authority;  // for the Host header
  std::string prefix;     // before all paths; no slash at its end
};
// Of an http:// or ws:// URL. kNotSupported: TLS.
Result<Address> ParseServerUrl(std::string_view url);

// The token for the next connection.
inline std::string TokenOf(const AgentServer& server) {
  return server.next_token ? server.next_token() : server.token;
}
// Before another connection, after `tries` that failed: random, so that those who were cut off together do
// not come back together.
inline int64_t PauseMillis(int tries, base::Random* random) {
  return static_cast<int64_t>(random->Below(tries < 6 ? 100U << tries : 5000U));
}

class LinkHandler {
 public:
  virtual ~LinkHandler() = default;
  virtual void OnOpen() = 0;
  // The view is gone when this returns.
  virtual void OnText(std::string_view text) = 0;
  // All texts of one read have been told.
  virtual void OnBatch() = 0;
  // The connection ended, or there never was one. `refused`: the server will not have us, now or later.
  virtual void OnClosed(const Error& why, bool refused) = 0;
};

class Link final : private Loop::Handler {
 public:
  // None is owned.
  Link(Loop* loop, LinkHandler* handler, Address address)
      : loop_(loop), handler_(handler), address_(std::move(address)) {}
  // Requires: closed.
  ~Link() override = default;

  // Requires: not open. The answer is OnOpen or OnClosed, not before this returns.
  void Open(const std::string& target, const std::string& token);
  // Ends it without a word to the handler. Once closed, does nothing.
  void Close();
  // Returns false when it is not open: then nothing is sent.
  bool Send(std::string_view text) { return SendFrame(net::Opcode::kText, text); }

 private:
  enum class State : uint8_t { kClosed, kConnecting, kHandshake, kOpen };

  void OnReady(uint32_t events) override;
  void OnRoundEnd() override;
  Status Connect(const std::string& target, const std::string& token);
  void Read();
  void TakeHead(std::string_view bytes);
  void TakeFrames(std::string_view bytes);
  bool SendFrame(net::Opcode opcode, std::string_view payload);
  void Flush() HF_REQUIRES(mu_);
  void Fail(std::string why);
  void End(const Error& why, bool refused);

  Loop* const loop_;
  LinkHandler* const handler_;
  const Address address_;
  base::Random random_;

  // Of the loop's thread.
  State state_ = State::kClosed;
  std::string head_;  // of the answer to the handshake
  std::string accept_;
  std::optional<net::FrameParser> parser_;
  Loop::TimerId deadline_{};

  base::Mutex mu_;
  int fd_ HF_GUARDED_BY(mu_) = -1;
  Loop::WatchId watch_ HF_GUARDED_BY(mu_) = 0;
  bool open_ HF_GUARDED_BY(mu_) = false;
  bool waits_ HF_GUARDED_BY(mu_) = false;    // for room in the socket
  bool flushes_ HF_GUARDED_BY(mu_) = false;  // at the end of the round
  std::string out_ HF_GUARDED_BY(mu_);
};

}  // namespace holdfast::sdk
