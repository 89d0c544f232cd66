// A worker's WebSocket: it is told of work as that comes, and answers on the same connection.
#include "model/refusal.h"
#include "wire/agent_json.h"
#include "wire/agent_requests.h"
#include "wire/agent_socket.h"

namespace holdfast::wire {
namespace {

class WorkerSocket final : public AgentSocket,
                           public agent::WorkerSink,
                           public std::enable_shared_from_this<WorkerSocket> {
 public:
  WorkerSocket(Agents* agents, agent::Runtime* runtime, const auth::Identity& identity)
      : AgentSocket(agents, runtime, identity) {}

  void OnClosed(Channel*) override {
    if (worker_ && !agents_->left()) runtime_->Detach(*worker_);
  }

  // On the runtime's thread.
  void OnWork(const agent::Work& work) override { AddWork(work, Say("work").object()); }
  void OnCancel(const agent::Cancel& cancel) override {
    Say("cancel")
        ->Text("session", cancel.session)
        .Number("epoch", cancel.epoch)
        .Text("reason", cancel.reason);
  }

 protected:
  Status Hear(std::string_view type, Members* message, Echo* echo) override {
    if (type == "hello") return Hello(message);
    if (!worker_) return model::RefuseField("t", "should be hello, before anything else");
    if (type == "commit") return Commit(message, echo);
    if (type == "hb") return Beat(message, *echo);
    if (type == "release") return Release(message, echo);
    if (type == "credit") return Credit(message);
    return model::RefuseField("t", "should be one of commit, hb, release, credit");
  }

 private:
  Status Hello(Members* message) {
    HF_TRY(agent::WorkerHello hello, ReadHello(message));
    HF_CHECK_OK(AuthorizeWorker(identity_, hello.agents));
    if (worker_) return model::RefuseField("t", "should be hello once only");
    Say("ready");
    worker_ = runtime_->Attach(std::move(hello), shared_from_this());
    return Ok{};
  }

  Status Commit(Members* message, Echo* echo) {
    HF_TRY(agent::CommitRequest request, ReadCommit(message, /*release=*/false));
    HF_CHECK_OK(Authorize(request, echo));
    HF_CHECK_OK(Begin());
    runtime_->Commit(std::move(request), When<agent::Committed>(
                                             *echo,
                                             [](AgentFrame* frame, const agent::Committed& committed) {
                                               AddCommitted(committed, frame->object());
                                             },
                                             "committed"));
    return Ok{};
  }

  Status Beat(Members* message, const Echo& echo) {
    HF_TRY(std::vector<agent::Lease> leases, ReadLeases(message));
    for (const agent::Lease& lease : leases)
      HF_CHECK_OK(agents_->Authorize(identity_, lease.session, Access::kWork));
    HF_CHECK_OK(Begin());
    // What is to be cancelled was told when that came about.
    runtime_->Heartbeat(std::move(leases), When<agent::HeartbeatAnswer>(
                                               echo,
                                               [](AgentFrame* frame, const agent::HeartbeatAnswer& answer) {
                                                 AddLeases(answer, frame->object());
                                               },
                                               "hb"));
    return Ok{};
  }

  Status Release(Members* message, Echo* echo) {
    HF_TRY(agent::ReleaseRequest request, ReadRelease(message));
    HF_CHECK_OK(Authorize(request, echo));
    HF_CHECK_OK(Begin());
    runtime_->Release(std::move(request), When<Ok>(
                                              *echo, [](AgentFrame*, const Ok&) {}, "released"));
    return Ok{};
  }

  Status Credit(Members* message) {
    int64_t credit = 0;
    message->Whole("n", &credit, {1, 1024}, Need::kRequired);
    HF_CHECK_OK(message->End());
    runtime_->AddCredit(*worker_, static_cast<int>(credit));
    return Ok{};
  }

  template <class Request>
  Status Authorize(const Request& request, Echo* echo) const {
    echo->session = request.session;
    echo->epoch = request.epoch;
    return agents_->Authorize(identity_, request.session, Access::kWork);
  }

  // A completion that says the answer in a frame of this type.
  template <class T, class Add>
  agent::Done<T> When(const Echo& echo, Add add, std::string_view type) {
    return [self = shared_from_this(), echo, add, type](const Result<T>& answer) {
      self->Finished();
      if (!answer) return self->Fail(echo, answer.error());
      AgentFrame frame = self->Say(type);
      frame.Repeat(echo);
      add(&frame, *answer);
    };
  }
  void Fail(const Echo& echo, const Error& error) const {
    if (model::RefusalName(error) != "Fenced") return Refuse(echo, error);
    AgentFrame frame = Say("fenced");
    frame.Repeat(echo)->Number("epoch", echo.epoch).Text("message", error.message());
  }

  std::optional<agent::ConnectionId> worker_;  // once it said hello
};

}  // namespace

std::shared_ptr<ChannelHandler> MakeWorkerSocket(Agents* agents, agent::Runtime* runtime,
                                                 const auth::Identity& identity) {
  return std::make_shared<WorkerSocket>(agents, runtime, identity);
}

}  // namespace holdfast::wire
