#include "wire/sockets.h"

#include "json/plain.h"
#include "json/writer.h"
#include "model/model.h"

namespace holdfast::wire {
namespace {

constexpr std::string_view kConnect = "ws.connect";
constexpr std::string_view kDisconnect = "ws.disconnect";

}  // namespace

// A feed session that ends with its token and is, in some models, stored as an item while it lasts.
class Sockets::Connection final : public ChannelHandler {
 public:
  Connection(Sockets* sockets, Application* application, int64_t expires_at,
             std::shared_ptr<ChannelHandler> session)
      : sockets_(sockets), application_(application), expires_at_(expires_at), session_(std::move(session)) {}
  // Without a handshake there is nobody to close it.
  ~Connection() override {
    if (!closed_ && !stored_as_.empty()) sockets_->Disconnect(application_, stored_as_);
  }
  // It was stored under this id, and that had these things to tell.
  void Stored(std::string id, std::vector<Emitted> first) {
    stored_as_ = std::move(id);
    first_ = std::move(first);
  }

  void OnOpen(std::shared_ptr<Channel> channel) override {
    sockets_->expiry_->CloseAt(expires_at_, channel);
    session_->OnOpen(std::move(channel));
    sockets_->Emit(application_->model(), first_);
  }
  void OnMessage(Channel* channel, std::string_view text) override { session_->OnMessage(channel, text); }
  void OnRoom(Channel* channel) override { session_->OnRoom(channel); }
  void OnClosed(Channel* channel) override {
    session_->OnClosed(channel);
    closed_ = true;
    if (!stored_as_.empty()) sockets_->Disconnect(application_, stored_as_);
  }

 private:
  Sockets* const sockets_;
  Application* const application_;
  const int64_t expires_at_;
  const std::shared_ptr<ChannelHandler> session_;
  std::string stored_as_;
  std::vector<Emitted> first_;
  bool closed_ = false;
};

Sockets::Sockets(const std::vector<ModelPtr>& models, Store* store, WorkerPool* pool, Expiry* expiry,
                 const base::Log* log)
    : pool_(pool), expiry_(expiry), log_(log) {
  for (const ModelPtr& model : models) hubs_.emplace(model->name, std::make_unique<Hub>(model, store, log));
}

Hub* Sockets::HubOf(const model::Model& model) const {
  auto hub = hubs_.find(model.name);
  return hub == hubs_.end() ? nullptr : hub->second.get();
}

Result<std::shared_ptr<ChannelHandler>> Sockets::Open(Application* application, const Caller& caller,
                                                      int64_t expires_at,
                                                      std::function<bool(std::string_view)> may_read,
                                                      std::function<bool()> may_hear) {
  std::string id = random_.Uuid();
  auto connection = std::make_shared<Connection>(
      this, application, expires_at,
      MakeFeedSession(HubOf(application->model()), caller, std::move(may_read), id, std::move(may_hear)));
  bool stored = application->model().FindCommand(kConnect) != nullptr && !caller.tenant.empty();
  if (stored) {
    HF_TRY(CommandAnswer connected, application->Run(caller, kConnect, Item{{"connectionId", id}}));
    connection->Stored(std::move(id), std::move(connected.emitted));
  }
  return std::shared_ptr<ChannelHandler>(std::move(connection));
}

void Sockets::Disconnect(Application* application, const std::string& connection_id) {
  auto run = [this, application, connection_id] {
    auto done = application->Run(Caller::Administrator(), kDisconnect, Item{{"connectionId", connection_id}});
    if (!done) {
      // It expires by itself, and the next sweep finds it gone.
      HF_LOG(*log_, kWarning, "a connection stays stored", {"connection", connection_id},
             {"error", done.error().ToString()});
    }
  };
  if (!pooled_) return run();
  // Where the pool is full, the sweep and the item's expiry see to it.
  pool_->Submit(run);
}

void Sockets::Emit(const model::Model& model, const std::vector<Emitted>& emitted) {
  Hub* hub = HubOf(model);
  if (hub == nullptr) return;
  for (const Emitted& one : emitted) hub->Emit(one.name, one.to, one.body);
}

bool Sockets::Send(std::string_view connection_id, const Emitted& message) {
  std::string text = "{\"type\":\"event\",\"name\":";
  json::AppendString(message.name, &text);
  text.append(",\"body\":");
  json::AppendPlainItem(value::MapView(message.body), &text);
  text.push_back('}');
  return Post(connection_id, text);
}

bool Sockets::Post(std::string_view connection_id, std::string_view json) {
  for (const auto& [name, hub] : hubs_) {
    if (hub->Post(connection_id, json)) return true;
  }
  return false;
}

}  // namespace holdfast::wire
