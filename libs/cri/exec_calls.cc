#include "libs/cri/exec_calls.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>
#include <utility>

#include "libs/cri/exec_answer.h"
#include "libs/cri/trace_scope.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/rpc.h"
#include "runtime/v1/api.grpc.pb.h"

namespace splitlet::cri {

namespace {

namespace v1 = runtime::v1;

constexpr const char* kExecOperation = "exec_sync";

v1::ExecSyncRequest ExecRequest(const ContainerId& id, const ExecCommand& command) {
  v1::ExecSyncRequest request;
  request.set_container_id(id.str());
  for (const auto& word : command.words) request.add_cmd(word);
  request.set_timeout(std::chrono::ceil<std::chrono::seconds>(command.timeout).count());
  return request;
}

}  // namespace

void AnswerTurns::Enter(Start start) {
  {
    const std::lock_guard lock(mutex_);
    if (free_ == 0) {
      waiting_.push_back(std::move(start));
      return;
    }
    --free_;
  }
  start();
}

void AnswerTurns::Leave() {
  Start next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next();
}

struct ExecCalls::Stub {
  explicit Stub(const std::shared_ptr<grpc::Channel>& channel) : generic(channel) {}
  // declared here because calls point to it
  const std::string method = "/runtime.v1.RuntimeService/ExecSync";
  grpc::TemplatedGenericStub<v1::ExecSyncRequest, grpc::ByteBuffer> generic;
};

/// Reads messages from gRPC one by one, so that nothing is read before it is requested. Deletes
/// itself after the answer.
class ExecCalls::Call final
    : public grpc::ClientBidiReactor<v1::ExecSyncRequest, grpc::ByteBuffer> {
 public:
  struct Order {
    v1::ExecSyncRequest request;
    OutputLimit keep;
    const Deadline& deadline;
    Done done;
  };
  Call(ExecCalls& calls, Order order)
      : calls_(calls),
        request_(std::move(order.request)),
        keep_(order.keep),
        done_(std::move(order.done)),
        begin_(calls.deps_.clock.Now()),
        client_(calls.deps_.clock, order.deadline, TraceScope::Current()) {}

  /// Two holds keep this object alive: that of the start, and that of the answer, which another
  /// call requests.
  void Start() {
    calls_.stub_->generic.PrepareBidiStreamingCall(&client_.context(), calls_.stub_->method, {},
                                                   this);
    AddMultipleHolds(2);
    cancel_id_ = calls_.deps_.given_up.Add([this] { client_.context().TryCancel(); });
    steps_.Next();
    StartWriteLast(&request_, {});
    StartCall();
    RemoveHold();
  }

  /// A runtime sends the metadata with the answer, when the command has ended.
  void OnReadInitialMetadataDone(bool ok) override {
    steps_.Next();
    if (!ok) return RemoveHold();
    calls_.turns_.Enter([this] {
      has_turn_ = true;
      steps_.Next();
      StartRead(&answer_);
      RemoveHold();
    });
  }

  void OnReadDone(bool ok) override {
    steps_.Next();
    if (!ok) return;
    {
      grpc::ProtoBufferReader reader(&answer_);
      result_ = ReadExecAnswer(reader, keep_);
    }
    answer_.Clear();
    steps_.Next();
  }

  /// Passes the turn on last, when the answer's memory is free and counted as free.
  void OnDone(const grpc::Status& answer) override {
    steps_.Next();
    ExecCalls& calls = calls_;
    calls.deps_.given_up.Remove(cancel_id_);
    const Status status = rpc::FromGrpc(answer);
    calls.deps_.metrics.Note(kExecOperation, calls.deps_.clock.Now() - begin_, !status.ok());
    done_(status.ok() ? std::move(result_) : StatusOr<ExecResult>(status));
    const bool had_turn = has_turn_;
    delete this;
    if (had_turn) calls.turns_.Leave();
    const std::lock_guard lock(calls.mutex_);
    if (--calls.under_way_ == 0) calls.none_left_.notify_all();
  }

 private:
  ExecCalls& calls_;
  const v1::ExecSyncRequest request_;
  const OutputLimit keep_;
  const Done done_;
  const Clock::Time begin_;
  rpc::ClientCall client_;
  grpc::ByteBuffer answer_;
  StatusOr<ExecResult> result_ = Internal("the runtime has not answered to ExecSync");
  int cancel_id_ = 0;  // id in `given_up`
  bool has_turn_ = false;
  rpc::CallSteps steps_;
};

ExecCalls::ExecCalls(Deps deps)
    : deps_(std::move(deps)), stub_(std::make_unique<Stub>(deps_.channel)) {}

ExecCalls::~ExecCalls() { WaitEnded(); }

void ExecCalls::Begin(const ContainerId& id, const ExecCommand& command, const Deadline& deadline,
                      Done done) {
  {
    const std::lock_guard lock(mutex_);
    ++under_way_;
  }
  auto call = std::make_unique<Call>(
      *this, Call::Order{ExecRequest(id, command), command.keep, deadline, std::move(done)});
  call.release()->Start();
}

void ExecCalls::WaitEnded() {
  std::unique_lock lock(mutex_);
  none_left_.wait(lock, [this] { return under_way_ == 0; });
}

}  // namespace splitlet::cri
