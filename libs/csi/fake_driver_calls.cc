#include "libs/csi/fake_driver_calls.h"

#include <utility>

#include "csi/v1/csi.pb.h"

namespace splitlet::csi {
namespace {

template <class Reply>
Answer<Reply> AnswerOf(const Status& status, Reply reply) {
  Answer<Reply> answer{.status = status};
  if (status.ok())
    answer.reply = std::move(reply);
  else
    answer.error_class = ClassOf(status.code());
  return answer;
}

}  // namespace

Status FakeDriverCalls::Call(const std::string& method, const google::protobuf::Message& request) {
  return driver_.Call(method, request, [] { return true; });
}

void FakeDriverCalls::Give(const std::string& method, std::function<void()> answer) {
  if (held_.contains(method))
    waiting_.push_back(std::move(answer));
  else
    answer();
}

void FakeDriverCalls::Release() {
  held_.clear();
  for (auto& answer : std::exchange(waiting_, {})) answer();
}

void FakeDriverCalls::Do(const std::string& method, const google::protobuf::Message& request,
                         Done done) {
  const Status status = Call(method, request);
  Give(method, [status, done = std::move(done)] { done(AnswerOf(status, Nothing{})); });
}

void FakeDriverCalls::BeginGetInfo(Deadline, GotInfo done) {
  const Status status = Call("NodeGetInfo", v1::NodeGetInfoRequest());
  Give("NodeGetInfo", [info = driver_.Traits().node, status, done = std::move(done)] {
    done(AnswerOf(status, info));
  });
}

void FakeDriverCalls::BeginGetCapabilities(Deadline, GotCapabilities done) {
  const Status status = Call("NodeGetCapabilities", v1::NodeGetCapabilitiesRequest());
  Give("NodeGetCapabilities", [all = driver_.Traits().capabilities, status,
                               done = std::move(done)] { done(AnswerOf(status, all)); });
}

void FakeDriverCalls::BeginStage(const v1::NodeStageVolumeRequest& request, Deadline, Done done) {
  Do("NodeStageVolume", request, std::move(done));
}

void FakeDriverCalls::BeginUnstage(const v1::NodeUnstageVolumeRequest& request, Deadline,
                                   Done done) {
  Do("NodeUnstageVolume", request, std::move(done));
}

void FakeDriverCalls::BeginPublish(const v1::NodePublishVolumeRequest& request, Deadline,
                                   Done done) {
  Do("NodePublishVolume", request, std::move(done));
}

void FakeDriverCalls::BeginUnpublish(const v1::NodeUnpublishVolumeRequest& request, Deadline,
                                     Done done) {
  Do("NodeUnpublishVolume", request, std::move(done));
}

void FakeDriverCalls::BeginExpand(const v1::NodeExpandVolumeRequest& request, Deadline,
                                  Expanded done) {
  const Status status = Call("NodeExpandVolume", request);
  Give("NodeExpandVolume", [bytes = request.capacity_range().required_bytes(), status,
                            done = std::move(done)] { done(AnswerOf(status, bytes)); });
}

void FakeDriverCalls::BeginGetStats(const v1::NodeGetVolumeStatsRequest& request, Deadline,
                                    GotStats done) {
  const Status status = Call("NodeGetVolumeStats", request);
  Give("NodeGetVolumeStats", [stats = driver_.Traits().stats, status, done = std::move(done)] {
    done(AnswerOf(status, stats));
  });
}

}  // namespace splitlet::csi
