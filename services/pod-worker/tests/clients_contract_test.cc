#include "libs/peers/fake_pod_worker.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Contract of everything behind peers::GrantClient: pod-worker itself, and the fake with which
/// other services are tested.

namespace splitlet::pod_worker {
namespace {

/// A pod-worker under test, and the pod of a config-source beside it.
struct Subject {
  virtual ~Subject() = default;
  virtual peers::GrantClient& client() = 0;
  /// config-source shows the pod.
  virtual void Desire(int64_t incarnation, int64_t generation) = 0;
  /// The containers of a pod that ends have stopped.
  virtual void Finish() = 0;
  virtual v1::WorkerRecord Record() = 0;
};

class RealSubject final : public Subject, public peers::GrantClient {
 public:
  RealSubject() { node_.Start(); }
  peers::GrantClient& client() override { return *this; }
  void Desire(int64_t incarnation, int64_t generation) override {
    node_.Want(TestPod{}.Make(), incarnation, generation);
  }
  void Finish() override { node_.RunFor(1min); }
  v1::WorkerRecord Record() override { return *node_.Record(); }
  Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline&,
                   const std::string& traceparent) override {
    auto answer = std::make_shared<Status>(Unavailable("no answer"));
    node_.Call([this, request, answer, traceparent] {
      node_.service().OnUpdatePod(
          request, [answer](const Status& status) { *answer = status; }, traceparent);
    });
    return *answer;
  }
  Status KillPod(const v1::KillPodRequest& request, const Deadline&,
                 const std::string& traceparent) override {
    return node_.KillPod(request, traceparent).status();
  }

 private:
  TestNode node_;
};

class FakeSubject final : public Subject {
 public:
  FakeSubject() {
    fake_.desired = [this](const std::string&) { return desired_; };
  }
  peers::GrantClient& client() override { return *client_; }
  void Desire(int64_t incarnation, int64_t) override { desired_ = incarnation; }
  void Finish() override {
    if (Record().state() == v1::TERMINATING) fake_.Finish("uid-web");
  }
  v1::WorkerRecord Record() override { return fake_.Find("uid-web").value_or(v1::WorkerRecord()); }

 private:
  peers::FakePodWorker fake_;
  const std::unique_ptr<peers::GrantClient> client_ = fake_.NewClient();
  std::optional<int64_t> desired_;
};

class GrantClientContract : public testing::TestWithParam<const char*> {
 protected:
  GrantClientContract() {
    if (GetParam() == std::string("real")) {
      subject = std::make_unique<RealSubject>();
    } else {
      subject = std::make_unique<FakeSubject>();
    }
  }
  StatusCode Update(v1::UpdatePodRequest::Kind kind, int64_t incarnation, int64_t generation,
                    bool with_pod = true) {
    v1::UpdatePodRequest request;
    request.set_kind(kind);
    request.set_uid("uid-web");
    request.set_incarnation(incarnation);
    request.set_generation(generation);
    request.set_source("file");
    if (with_pod) request.set_pod(TestPod{}.Make().SerializeAsString());
    return subject->client().UpdatePod(request, {}, "").code();
  }
  StatusCode Grant(int64_t incarnation, int64_t generation) {
    subject->Desire(incarnation, generation);
    return Update(v1::UpdatePodRequest::CREATE, incarnation, generation);
  }
  StatusCode Kill(int64_t incarnation, const std::string& sandbox = "") {
    v1::KillPodRequest request;
    request.set_uid("uid-web");
    request.set_incarnation(incarnation);
    request.set_request_id(fmt::format("kill/{}", incarnation));
    if (!sandbox.empty()) request.add_sandbox_ids(sandbox);
    return subject->client().KillPod(request, {}, "").code();
  }
  std::string Shown() const {
    const auto record = subject->Record();
    return fmt::format("{} {}/{}{}", v1::WorkerState_Name(record.state()), record.incarnation(),
                       record.generation(), record.granted() ? " granted" : "");
  }
  std::unique_ptr<Subject> subject;
};

constexpr StatusCode kOk = StatusCode::kOk, kInvalidArgument = StatusCode::kInvalidArgument,
                     kFailedPrecondition = StatusCode::kFailedPrecondition,
                     kUnavailable = StatusCode::kUnavailable;

TEST_P(GrantClientContract, AGrantBeginsOneWorkerHoweverOftenItComes) {
  EXPECT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Shown(), "SYNCING 1/1 granted");
  EXPECT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Update(v1::UpdatePodRequest::SYNC, 1, 1, /*with_pod=*/false), kOk);
  EXPECT_EQ(Shown(), "SYNCING 1/1 granted");
}

TEST_P(GrantClientContract, ALaterGenerationReplacesAnEarlierOneAndNeverTheReverse) {
  ASSERT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Grant(1, 3), kOk);
  EXPECT_EQ(Shown(), "SYNCING 1/3 granted");
  EXPECT_EQ(Update(v1::UpdatePodRequest::UPDATE, 1, 2), kOk);
  EXPECT_EQ(Shown(), "SYNCING 1/3 granted");
}

TEST_P(GrantClientContract, AGrantWithoutItsPodIsInvalid) {
  subject->Desire(1, 1);
  EXPECT_EQ(Update(v1::UpdatePodRequest::CREATE, 1, 1, /*with_pod=*/false), kInvalidArgument);
  EXPECT_EQ(Shown(), "WORKER_STATE_UNSPECIFIED 0/0");
}

TEST_P(GrantClientContract, AKillEndsTheIncarnationForEver) {
  ASSERT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Kill(1), kOk);
  EXPECT_NE(subject->Record().state(), v1::SYNCING);
  EXPECT_EQ(Kill(1), kOk) << "the same kill again";
  subject->Finish();
  EXPECT_EQ(subject->Record().state(), v1::FINISHED);
  EXPECT_EQ(Kill(1), kOk);
  EXPECT_EQ(Grant(1, 2), kFailedPrecondition);
  EXPECT_EQ(subject->Record().state(), v1::FINISHED);
}

TEST_P(GrantClientContract, AKillMeansOneIncarnation) {
  EXPECT_EQ(Kill(1), kFailedPrecondition) << "there is none";
  ASSERT_EQ(Grant(2, 1), kOk);
  EXPECT_EQ(Kill(3), kUnavailable);
  EXPECT_EQ(Kill(1), kOk);
  EXPECT_EQ(Shown(), "SYNCING 2/1 granted");
}

TEST_P(GrantClientContract, AKillBeforeTheGrantEndsAWantedIncarnation) {
  subject->Desire(1, 1);
  EXPECT_EQ(Kill(2), kFailedPrecondition);
  EXPECT_EQ(Kill(1), kOk);
  subject->Finish();
  EXPECT_EQ(subject->Record().state(), v1::FINISHED);
  EXPECT_EQ(Update(v1::UpdatePodRequest::CREATE, 1, 1), kFailedPrecondition);
}

TEST_P(GrantClientContract, ALaterIncarnationBeginsAfterTheEndOfTheEarlierOne) {
  ASSERT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Grant(2, 4), kOk);
  subject->Finish();
  EXPECT_EQ(Shown(), "SYNCING 2/4 granted");
  EXPECT_EQ(Update(v1::UpdatePodRequest::UPDATE, 1, 9), kFailedPrecondition);
}

TEST_P(GrantClientContract, AKillOfAnOrphanNamesSandboxesOfAPodWithoutRecords) {
  EXPECT_EQ(Kill(0), kInvalidArgument);
  ASSERT_EQ(Grant(1, 1), kOk);
  EXPECT_EQ(Kill(0, "sandbox"), kFailedPrecondition);
  EXPECT_EQ(Shown(), "SYNCING 1/1 granted");
}

INSTANTIATE_TEST_SUITE_P(Of, GrantClientContract, testing::Values("real", "fake"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace splitlet::pod_worker
