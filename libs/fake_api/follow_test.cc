#include <gtest/gtest.h>

#include <set>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/apiclient/client.h"
#include "libs/apiclient/reflector.h"
#include "libs/exec/fake_exec.h"
#include "libs/fake_api/api_server.h"

namespace splitlet::fake_api {
namespace {

using apiclient::Client;
using apiclient::ContentType;
using apiclient::PatchType;
using apiclient::Reflector;

using k8s::io::api::core::v1::Node;
using k8s::io::api::core::v1::NodeList;

/// Client and reflector against the server in memory, which behaves like a real one.
class FollowFake : public testing::TestWithParam<ContentType> {
 protected:
  void Follow() {
    reflector = std::make_unique<Reflector>(
        Reflector::Deps{.clock = clock,
                        .loop = loop,
                        .strands = strands,
                        .transport = server,
                        .random = random,
                        .log = Log(sink),
                        .metrics = nullptr},
        Reflector::Options{.path = "/api/v1/nodes",
                           .content = GetParam(),
                           .page_size = 2,
                           .item = &Node::default_instance(),
                           .list = &NodeList::default_instance(),
                           .strand = "nodes"},
        Reflector::Callbacks{.on_list =
                                 [this](std::vector<Reflector::Object> objects) {
                                   ++lists;
                                   names.clear();
                                   for (const auto& object : objects) names.insert(NameOf(object));
                                 },
                             .on_event =
                                 [this](Reflector::Event event, const Reflector::Object& object) {
                                   if (event == Reflector::Event::kDeleted) {
                                     names.erase(NameOf(object));
                                   } else {
                                     names.insert(NameOf(object));
                                   }
                                 },
                             .on_sync = nullptr});
    reflector->Start();
    loop.RunUntilIdle();
  }
  static std::string NameOf(const Reflector::Object& object) {
    return dynamic_cast<const Node&>(*object).metadata().name();
  }
  void Put(const std::string& name) {
    server.PutJson("/api/v1/nodes/" + name, "{}");
    loop.Advance(5ms);
  }
  void Remove(const std::string& name) {
    server.Remove("/api/v1/nodes/" + name);
    loop.Advance(5ms);
  }
  std::string Shown() const { return fmt::format("{}", fmt::join(names, " ")); }

  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  FakeApiServer server{clock, FakeApiServer::Options{.loop = &loop}};
  Random random{1};
  FakeLogSink sink;
  int lists = 0;
  std::set<std::string> names;
  std::unique_ptr<Reflector> reflector;
};

TEST_P(FollowFake, WhatIsThereAndWhatChanges) {
  for (const char* name : {"a", "b", "c", "d", "e"}) Put(name);
  Follow();
  EXPECT_EQ(Shown(), "a b c d e");
  Put("f");
  Remove("a");
  EXPECT_EQ(Shown(), "b c d e f");
  loop.Advance(2h);
  Put("g");
  EXPECT_EQ(Shown(), "b c d e f g");
  EXPECT_TRUE(reflector->sync().ok()) << reflector->sync();
  EXPECT_EQ(lists, 1);
}

TEST_P(FollowFake, NothingIsLostWhileTheServerIsAway) {
  Follow();
  Put("a");
  server.SetAway(true);
  loop.Advance(1min);
  EXPECT_FALSE(reflector->sync().ok());
  EXPECT_EQ(Shown(), "a");
  Remove("a");
  Put("b");
  server.SetAway(false);
  loop.Advance(1min);
  EXPECT_EQ(Shown(), "b");
  EXPECT_TRUE(reflector->sync().ok()) << reflector->sync();
  EXPECT_EQ(lists, 1);
}

TEST_P(FollowFake, WhatTheServerForgotIsListed) {
  Follow();
  Put("a");
  server.SetAway(true);
  loop.Advance(1min);
  Remove("a");
  Put("b");
  server.Compact();
  server.SetAway(false);
  loop.Advance(1min);
  EXPECT_EQ(Shown(), "b");
  EXPECT_EQ(lists, 2);
}

TEST_P(FollowFake, AClientMakesReadsPatchesAndDeletes) {
  Client client(clock, server, {.content = GetParam()});
  const auto deadline = After(clock, 10s);
  Node node, made;
  node.mutable_metadata()->set_name("n1");
  ASSERT_TRUE(client.Create("/api/v1/nodes", {"v1", "Node", node}, &made, deadline).ok());
  EXPECT_NE(made.metadata().uid(), "");
  EXPECT_EQ(client.Create("/api/v1/nodes", {"v1", "Node", node}, nullptr, deadline).code(),
            StatusCode::kAlreadyExists);
  const Node old = made;
  ASSERT_TRUE(client
                  .Patch("/api/v1/nodes/n1",
                         {PatchType::kStrategicMerge, R"({"metadata":{"labels":{"a":"b"}}})"},
                         &made, deadline)
                  .ok());
  EXPECT_EQ(made.metadata().labels().at("a"), "b");
  EXPECT_EQ(client.Update("/api/v1/nodes/n1", {"v1", "Node", old}, nullptr, deadline).code(),
            StatusCode::kAborted);
  EXPECT_FALSE(client.Delete("/api/v1/nodes/n1", {.uid = "another"}, deadline).ok());
  EXPECT_TRUE(client.Delete("/api/v1/nodes/n1", {.uid = made.metadata().uid()}, deadline).ok());
  EXPECT_EQ(client.Get("/api/v1/nodes/n1", &made, deadline).code(), StatusCode::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(Both, FollowFake,
                         testing::Values(ContentType::kJson, ContentType::kProtobuf));

}  // namespace
}  // namespace splitlet::fake_api
