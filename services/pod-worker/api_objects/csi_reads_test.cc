#include "services/pod-worker/api_objects/csi_reads.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/storage/v1/storage.pb.h"
#include "libs/exec/fake_exec.h"
#include "services/pod-worker/api_objects/api_fixture.h"

namespace splitlet::pod_worker {
namespace {

class CsiReadsTest : public testing::Test {
 protected:
  void PutDriver(bool attach_required) {
    api_.PutJson("/apis/storage.k8s.io/v1/csidrivers/d",
                 fmt::format(R"({{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver",)"
                             R"("metadata":{{"name":"d"}},"spec":{{"attachRequired":{}}}}})",
                             attach_required));
  }
  std::string Token(const std::string& audience) {
    std::string text;
    reads_.GetToken({"uid-web", "web", "default", "app"}, {audience, 600},
                    [&text](const StatusOr<BoundToken>& token) {
                      text = token.ok() ? token->token : "error: " + Message(token.status());
                    });
    loop_.RunUntilIdle();
    return text;
  }

  FakeClock clock_;
  exec::FakeLoop loop_{clock_};
  exec::FakeStrands strands_{loop_};
  fake_api::FakeApiServer api_{clock_};
  Random random_{1};
  FakeLogSink sink_;
  const ApiContext context_{clock_, loop_, strands_, api_, random_, Log(sink_)};
  CsiReads reads_{context_, "node-1"};
};

TEST_F(CsiReadsTest, DriverObjectsAreWatched) {
  int changes = 0;
  EXPECT_EQ(reads_.FindDriver("d").status().code(), StatusCode::kUnavailable);
  reads_.Start([&changes] { ++changes; });
  loop_.RunUntilIdle();
  ASSERT_TRUE(reads_.FindDriver("d").ok());
  EXPECT_EQ(*reads_.FindDriver("d"), nullptr);
  EXPECT_EQ(changes, 1);
  PutDriver(false);
  loop_.RunUntilIdle();
  EXPECT_EQ(changes, 2);
  ASSERT_NE(*reads_.FindDriver("d"), nullptr);
  EXPECT_FALSE((*reads_.FindDriver("d"))->spec().attach_required());
}

TEST_F(CsiReadsTest, OtherObjectsAreReadByName) {
  PutSecret(api_, "s", "eA==");
  api_.PutJson("/api/v1/nodes/node-1",
               R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"node-1"},"status":)"
               R"({"volumesAttached":[{"name":"kubernetes.io/csi/d^h","devicePath":""}]}})");
  std::string secret, attached;
  StatusCode missing = StatusCode::kOk;
  reads_.ReadSecret({"default", "s"}, [&secret](const StatusOr<ObjectPtr<Secret>>& read) {
    secret = read.ok() ? (*read)->data().at("K") : Message(read.status());
  });
  reads_.ReadNode([&attached](const StatusOr<ObjectPtr<NodeObject>>& read) {
    attached = read.ok() ? (*read)->status().volumes_attached(0).name() : Message(read.status());
  });
  reads_.ReadAttachment("csi-1", [&missing](const StatusOr<ObjectPtr<VolumeAttachment>>& read) {
    missing = read.status().code();
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(secret, "x");
  EXPECT_EQ(attached, "kubernetes.io/csi/d^h");
  EXPECT_EQ(missing, StatusCode::kNotFound);
}

TEST_F(CsiReadsTest, TokensAreKeptUntilFourFifthsOfTheirLifetime) {
  PutAccount(api_, "app");
  api_.PutJson(PathOf("pods", "web"), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web",)"
                                      R"("namespace":"default","uid":"uid-web"},"spec":{}})");
  const std::string first = Token("vault");
  EXPECT_FALSE(first.starts_with("error")) << first;
  EXPECT_EQ(Token("vault"), first);
  EXPECT_NE(Token(""), first);
  loop_.Advance(481s);
  const std::string second = Token("vault");
  EXPECT_NE(second, first);
  EXPECT_FALSE(second.starts_with("error")) << second;
  reads_.Release("uid-web");
  EXPECT_NE(Token("vault"), second) << "another pod of the name gets its own";
}

}  // namespace
}  // namespace splitlet::pod_worker
