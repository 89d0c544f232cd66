#include "wire/sockets.h"

#include "json/plain.h"
#include "json/writer.h"
#include "model/model.h"

namespace holdfast::wire {
namespace {

constexpr std::string_view kConnect = "ws.connect";
constexpr std::string_view kDisconnect = "ws.disconnect";

}  // namespace

// A feed session that is stored as an item while it lasts.
class Sockets::Connection final : public ChannelHandler {
 public:
  Connection(Sockets* sockets, Application* application, std::string id, std::vector<Emitted> first,
             std::shared_ptr<ChannelHandler> session)
      : sockets_(sockets),
        application_(application),
        id_(std::move(id)),
        first_(std::move(first)),
        session_(std::move(session)) {}
  // Without a handshake there is nobody to close it.
  ~Connection() override {
    if (!closed_) sockets_->Disconnect(application_, id_);
  }

  void OnOpen(std::shared_ptr<Channel> channel) override {
    session_->OnOpen(std::move(channel));
    sockets_->Emit(application_->model(), first_);
  }
  void OnMessage(Channel* channel, std::string_view text) override { session_->OnMessage(channel, text); }
  void OnRoom(Channel* channel) override { session_->OnRoom(channel); }
  void OnClosed(Channel* channel) override {
    session_->OnClosed(channel);
    closed_ = true;
    sockets_->Disconnect(application_, id_);
  }

 private:
  Sockets* const sockets_;
  Application* const application_;
  const std::string id_;
  const std::vector<Emitted> first_;  // what connecting itself had to tell
  const std::shared_ptr<ChannelHandler> session_;
  bool closed_ = false;
};

Sockets::Sockets(const std::vector<ModelPtr>& models, Store* store, WorkerPool* pool, const base::Log* log)
    : pool_(pool), log_(log) {
  for (const ModelPtr& model : models) hubs_.emplace(model->name, std::make_unique<Hub>(model, store, log));
}

Hub* Sockets::HubOf(const model::Model& model) const {
  auto hub = hubs_.find(model.name);
  return hub == hubs_.end() ? nullptr : hub->second.get();
}

Result<std::shared_ptr<ChannelHandler>> Sockets::Open(Application* application, const Caller& caller,
                                                      std::function<bool(std::string_view)> may_read) {
  std::string id = random_.Uuid();
  auto session = MakeFeedSession(HubOf(application->model()), caller, std::move(may_read), id);
  bool stored = application->model().FindCommand(kConnect) != nullptr && !caller.tenant.empty();
  if (!stored) return session;
  HF_TRY(CommandAnswer connected, application->Run(caller, kConnect, Item{{"connectionId", id}}));
  return std::shared_ptr<ChannelHandler>(std::make_shared<Connection>(
      this, application, std::move(id), std::move(connected.emitted), std::move(session)));
}

void Sockets::Disconnect(Application* application, const std::string& connection_id) {
  auto run = [this, application, connection_id] {
    auto done = application->Run(Caller(), kDisconnect, Item{{"connectionId", connection_id}});
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
