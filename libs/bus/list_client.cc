#include "libs/bus/list_client.h"

#include <grpcpp/grpcpp.h>

#include <system_error>
#include <utility>

#include "libs/base/fail_point.h"
#include "libs/bus/view_core.h"
#include "libs/bus/wire.h"
#include "libs/rpc/rpc.h"
#include "splitlet/v1/services.grpc.pb.h"

namespace splitlet::bus {

class ListClient::Call {
 public:
  Call(const Clock& clock, const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::Tables::NewStub(channel)), call_(clock, After(clock, kListLimit)) {}

  StatusOr<ListAnswer> Run(const std::string& table, const Since& since) {
    v1::ListRequest request;
    EncodeRequest(table, since, request);
    const auto reader = stub_->List(&call_.context(), request);
    ListAnswer answer;
    const Status read = Read(*reader, answer);
    if (!read.ok()) Cancel();
    const grpc::Status status = reader->Finish();
    RETURN_IF_ERROR(read, "decode list");
    RETURN_IF_ERROR(rpc::FromGrpc(status), "list");
    if (!begun_) return DataLoss("a list without a head");
    return answer;
  }
  /// Any thread.
  void Cancel() { call_.context().TryCancel(); }

 private:
  Status Read(grpc::ClientReader<v1::ListItem>& reader, ListAnswer& answer) {
    size_t bytes = 0;
    for (v1::ListItem item; reader.Read(&item); item.Clear()) {
      bytes += item.ByteSizeLong();
      if (bytes > kMaxListBytes)
        return ResourceExhausted("a list of more than {} bytes", kMaxListBytes);
      if (Status decoded = DecodeItem(item, !std::exchange(begun_, true), answer); !decoded.ok())
        return decoded;
    }
    return OkStatus();
  }

  const std::unique_ptr<v1::Tables::Stub> stub_;
  rpc::ClientCall call_;
  bool begun_ = false;
};

ListClient::ListClient(Connect connect, const Clock& clock)
    : connect_(std::move(connect)), clock_(clock) {}

ListClient::~ListClient() {
  std::unique_lock lock(mutex_);
  for (const auto& [number, running] : calls_)
    if (running.call != nullptr) running.call->Cancel();
  ended_call_.wait(lock, [this] { return calls_.empty(); });
  lock.unlock();
  if (ended_.joinable()) ended_.join();
}

void ListClient::List(const std::string& owner, const std::string& table, const Since& since,
                      Done done) {
  if (FAIL_POINT_DROP("bus.list.before")) {
    done(Unavailable("left out by a fail point"));
    return;
  }
  auto& channel = channels_[owner];
  if (channel == nullptr) channel = connect_(owner);
  const auto call = std::make_shared<Call>(clock_, channel);
  if (const Status started = Start(call, table, since, done); !started.ok()) done(started);
}

/// The lock is held until the thread is known, so that its end finds it.
Status ListClient::Start(const std::shared_ptr<Call>& call, const std::string& table,
                         const Since& since, const Done& done) {
  const std::lock_guard lock(mutex_);
  try {
    const uint64_t number = ++last_;
    std::thread thread([this, number, call = call.get(), table, since, done] {
      done(call->Run(table, since));
      End(number);
    });
    calls_.emplace(number, Running{call, std::move(thread)});
  } catch (const std::system_error& error) {
    return ResourceExhausted("no thread for a list: {}", error.what());
  }
  return OkStatus();
}

void ListClient::End(uint64_t number) {
  Running ending;
  std::thread before;
  {
    const std::lock_guard lock(mutex_);
    ending = std::move(calls_.at(number));
  }
  ending.call.reset();  // before the call counts as gone: the channel ends with this object
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(ended_, std::move(ending.thread));
    calls_.erase(number);
    ended_call_.notify_all();
  }
  if (before.joinable()) before.join();
}

}  // namespace splitlet::bus
