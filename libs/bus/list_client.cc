#include "libs/bus/list_client.h"

#include <grpcpp/grpcpp.h>

#include "libs/base/fail_point.h"
#include "libs/bus/view_core.h"
#include "libs/bus/wire.h"
#include "libs/rpc/call_steps.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::bus {

class ListClient::Call final : public grpc::ClientReadReactor<v1::ListItem> {
 public:
  Call(ListClient& client, const std::shared_ptr<grpc::Channel>& channel, Done done)
      : client_(client),
        stub_(v1::Tables::NewStub(channel)),
        call_(client.clock_, After(client.clock_, kListLimit)),
        done_(std::move(done)) {}

  void Start(const std::string& table, const Since& since) {
    EncodeRequest(table, since, request_);
    stub_->async()->List(&call_.context(), &request_, this);
    steps_.Next();
    StartRead(&item_);
    StartCall();
  }
  void Cancel() { call_.context().TryCancel(); }

  void OnReadDone(bool ok) override {
    steps_.Next();
    if (!ok) return;
    bytes_ += item_.ByteSizeLong();
    decoded_ = bytes_ > kMaxListBytes
                   ? ResourceExhausted("a list of more than {} bytes", kMaxListBytes)
                   : DecodeItem(item_, !std::exchange(begun_, true), answer_);
    item_.Clear();
    if (!decoded_.ok()) Cancel();
    steps_.Next();
    StartRead(&item_);
  }
  void OnDone(const grpc::Status& status) override {
    steps_.Next();
    done_(Result(status));
    client_.Finished(this);
  }

 private:
  StatusOr<ListAnswer> Result(const grpc::Status& status) {
    RETURN_IF_ERROR(decoded_, "decode list");
    RETURN_IF_ERROR(rpc::FromGrpc(status), "list");
    if (!begun_) return DataLoss("a list without a head");
    return std::move(answer_);
  }

  ListClient& client_;
  std::unique_ptr<v1::Tables::Stub> stub_;
  rpc::ClientCall call_;
  Done done_;
  v1::ListRequest request_;
  v1::ListItem item_;
  bool begun_ = false;
  size_t bytes_ = 0;
  Status decoded_;
  ListAnswer answer_;
  rpc::CallSteps steps_;
};

ListClient::ListClient(Connect connect, const Clock& clock)
    : connect_(std::move(connect)), clock_(clock) {}

ListClient::~ListClient() {
  std::unique_lock lock(mutex_);
  for (const auto& [call, owned] : calls_)
    if (owned != nullptr) call->Cancel();
  finished_.wait(lock, [this] { return calls_.empty(); });
}

void ListClient::List(const std::string& owner, const std::string& table, const Since& since,
                      Done done) {
  if (FAIL_POINT_DROP("bus.list.before")) {
    done(Unavailable("left out by a fail point"));
    return;
  }
  auto& channel = channels_[owner];
  if (channel == nullptr) channel = connect_(owner);
  auto made = std::make_unique<Call>(*this, channel, std::move(done));
  Call* call = made.get();
  {
    const std::lock_guard lock(mutex_);
    calls_[call] = std::move(made);
  }
  call->Start(table, since);
}

void ListClient::Finished(Call* call) {
  // Destroyed outside of the lock and before the call counts as gone: a thread of gRPC's must not
  // be the last holder of the channel.
  std::unique_ptr<Call> owned;
  {
    const std::lock_guard lock(mutex_);
    owned = std::move(calls_.at(call));
  }
  owned.reset();
  const std::lock_guard lock(mutex_);
  calls_.erase(call);
  finished_.notify_all();
}

}  // namespace splitlet::bus
