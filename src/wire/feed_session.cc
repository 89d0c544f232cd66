// The talk with one connection: what a client may say, and what is answered.
#include <algorithm>
#include <map>

#include "json/plain.h"
#include "model/command.h"
#include "wire/feed_hub.h"

namespace holdfast::wire {
namespace {

// A member of a message that is a text; empty when it is not there.
std::string TextIn(const Item& message, std::string_view name) {
  auto value = message.Get(name);
  return value && value->type() == AttributeValue::Type::kString ? value->AsText() : "";
}

constexpr size_t kIdBytesMax = 128;

}  // namespace

class FeedSession final : public ChannelHandler {
 public:
  FeedSession(Hub::Impl* hub, Caller caller, std::function<bool(std::string_view)> may_read, std::string id,
              std::function<bool()> may_hear)
      : hub_(hub),
        caller_(std::move(caller)),
        may_read_(std::move(may_read)),
        may_hear_(std::move(may_hear)),
        connection_id_(std::move(id)) {}

  static Hub::Impl* In(Hub* hub) { return hub->impl_.get(); }

  void OnOpen(std::shared_ptr<Channel> channel) override {
    channel_ = std::move(channel);
    Say({{"type", "hello"}, {"connectionId", connection_id_}});
    hub_->Register(connection_id_, channel_);
  }

  void OnMessage(Channel*, std::string_view text) override {
    auto message = json::ReadPlainItem(text);
    if (!message)
      return Refuse({}, "ValidationError", "a message is one JSON object: " + message.error().message());
    std::string type = TextIn(*message, "type"), id = TextIn(*message, "id");
    if (type == "ping") {
      Say({{"type", "pong"}});
    } else if (type == "subscribe") {
      Subscribe(*message, id);
    } else if (type == "unsubscribe") {
      Unsubscribe(id);
    } else {
      Refuse(id, "ValidationError", "type: should be one of subscribe, unsubscribe, ping");
    }
  }

  void OnRoom(Channel*) override { hub_->Wake(); }

  void OnClosed(Channel*) override {
    hub_->Unregister(connection_id_);
    for (const auto& [id, subscription] : subscriptions_) hub_->Unsubscribe(subscription);
    subscriptions_.clear();
    channel_.reset();
  }

 private:
  void Say(const Item& message) {
    std::string text;
    json::AppendPlainItem(value::MapView(message), &text);
    channel_->Send(text);
  }
  void Refuse(std::string_view id, std::string_view error, std::string_view message) {
    channel_->Send(ErrorMessage(id, error, message));
  }

  void Subscribe(const Item& message, const std::string& id) {
    if (id.empty() || id.size() > kIdBytesMax)
      return Refuse({}, "ValidationError", "id: should be a text of 1 to 128 bytes");
    // Those that the hub has ended make room for others of their name.
    std::erase_if(subscriptions_, [](const auto& one) { return one.second->over.load(); });
    if (subscriptions_.contains(id)) return Refuse(id, "AlreadyExists", "this id has a subscription");
    if (subscriptions_.size() >= hub_->options().subscriptions_max)
      return Refuse(id, "Throttled", "too many subscriptions on one connection");
    auto subscription = std::make_shared<Subscription>();
    subscription->id = id;
    subscription->channel = channel_;
    subscription->tenant = caller_.tenant;
    subscription->event = TextIn(message, "event");
    bool event = message.Has("event");
    if (event ? !CheckEvent(message, *subscription) : !FillEntity(message, subscription.get())) return;
    subscriptions_.emplace(id, subscription);
    hub_->Subscribe(subscription);
  }

  // Tenants hear only of their own.
  bool CheckEvent(const Item& message, const Subscription& subscription) {
    const model::Model& model = hub_->model();
    auto refuse = [&](std::string_view error, const std::string& why) {
      Refuse(subscription.id, error, why);
      return false;
    };
    if (message.Has("entity")) return refuse("ValidationError", "entity and event stand beside each other");
    bool known = std::any_of(model.commands.begin(), model.commands.end(), [&](const auto& command) {
      return std::any_of(command->emits.begin(), command->emits.end(), [&](const model::Emission& emission) {
        return emission.name == subscription.event;
      });
    });
    if (!known) return refuse("NotFound", "the model " + model.name + " has no event " + subscription.event);
    if (model::MayHear(model, caller_) && (!may_hear_ || may_hear_())) return true;
    return refuse("Forbidden", "the role " + caller_.role + " hears no events");
  }

  bool FillEntity(const Item& message, Subscription* subscription) {
    auto refuse = [&](std::string_view error, const std::string& why) {
      Refuse(subscription->id, error, why);
      return false;
    };
    std::string name = TextIn(message, "entity");
    if (name.empty()) return refuse("ValidationError", "either entity or event is required");
    subscription->entity = hub_->model().FindEntity(name);
    if (subscription->entity == nullptr)
      return refuse("NotFound", "the model " + hub_->model().name + " has no entity " + name);
    if (!may_read_(subscription->entity->name))
      return refuse("Forbidden", "this caller may not read " + subscription->entity->name);
    if (auto partition = message.Get("partition")) {
      if (partition->type() != AttributeValue::Type::kMap)
        return refuse("ValidationError", "partition: should be an object of attributes");
      for (const auto& [attribute, value] : partition->AsMap()) {
        if (subscription->entity->Find(attribute) == nullptr)
          return refuse("ValidationError", "partition." + attribute + ": is no attribute of " + name);
      }
      subscription->partition = Item(partition->AsMap());
    }
    if (message.Has("cursor")) {
      std::string cursor = TextIn(message, "cursor");
      if (cursor.empty()) return refuse("ValidationError", "cursor: should be one that the server gave");
      subscription->cursor = std::move(cursor);
    }
    return true;
  }

  void Unsubscribe(const std::string& id) {
    auto at = subscriptions_.find(id);
    if (at == subscriptions_.end()) return Refuse(id, "NotFound", "there is no such subscription");
    hub_->Unsubscribe(at->second);
    subscriptions_.erase(at);
    Say({{"type", "unsubscribed"}, {"id", id}});
  }

  // --- constant ---
  Hub::Impl* const hub_;
  const Caller caller_;
  const std::function<bool(std::string_view)> may_read_;
  const std::function<bool()> may_hear_;
  const std::string connection_id_;
  // --- of the I/O thread ---
  std::shared_ptr<Channel> channel_;
  std::map<std::string, std::shared_ptr<Subscription>> subscriptions_;
};

std::shared_ptr<ChannelHandler> MakeFeedSession(Hub* hub, Caller caller,
                                                std::function<bool(std::string_view entity)> may_read,
                                                std::string connection_id, std::function<bool()> may_hear) {
  return std::make_shared<FeedSession>(FeedSession::In(hub), std::move(caller), std::move(may_read),
                                       std::move(connection_id), std::move(may_hear));
}

}  // namespace holdfast::wire
