#include "libs/apiclient/reflector.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <set>

#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/status.pb.h"
#include "libs/apiclient/client_metrics.h"
#include "libs/apiclient/scripted_transport.h"
#include "libs/apiclient/watch_reader.h"
#include "libs/exec/fake_exec.h"

namespace splitlet::apiclient {
namespace {

using k8s::io::api::core::v1::Node;
using k8s::io::api::core::v1::NodeList;

/// ADDED of the Node "n1" of resource version "7": length, type, object in its envelope.
const std::string kGoldenFrame(
    "\0\0\0\x26"
    "\x0a\x05"
    "ADDED"
    "\x12\x1d\x0a\x1b"
    "k8s\0"
    "\x0a\x0a\x0a\x02v1\x12\x04Node"
    "\x12\x09\x0a\x07\x0a\x02n1\x32\x01\x37",
    42);

std::string Line(const char* type, const std::string& name, int version) {
  return fmt::format(
      R"({{"type":"{}","object":{{"kind":"Node","apiVersion":"v1","metadata":{{"name":"{}",)"
      R"("resourceVersion":"{}"}}}}}})"
      "\n",
      type, name, version);
}

std::string Frame(const std::string& type, const std::string& name, int version) {
  Node node;
  node.mutable_metadata()->set_name(name);
  node.mutable_metadata()->set_resource_version(std::to_string(version));
  k8s::io::apimachinery::pkg::apis::meta::v1::WatchEvent event;
  event.set_type(type);
  event.mutable_object()->set_raw(EncodeObject(ContentType::kProtobuf, {"v1", "Node", node}));
  const std::string bytes = event.SerializeAsString();
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>((bytes.size() >> shift) & 0xff);
  return frame + bytes;
}

std::string ErrorLine(int code) {
  return fmt::format(R"({{"type":"ERROR","object":{{"kind":"Status","apiVersion":"v1",)"
                     R"("message":"too old","code":{}}}}})"
                     "\n",
                     code);
}

class Following : public testing::Test {
 protected:
  Following() { Make(); }
  void Make() {
    reflector = std::make_unique<Reflector>(
        Reflector::Deps{.clock = clock,
                        .loop = loop,
                        .strands = strands,
                        .transport = transport,
                        .random = random,
                        .log = Log(sink),
                        .metrics = metrics},
        Reflector::Options{.path = "/api/v1/nodes",
                           .field_selector = "metadata.name=n1",
                           .page_size = 2,
                           .item = &Node::default_instance(),
                           .list = &NodeList::default_instance(),
                           .strand = "nodes"},
        Reflector::Callbacks{
            .on_list =
                [this](std::vector<Reflector::Object> objects) {
                  std::string line = "list";
                  for (const auto& object : objects) line += " " + NameOf(object);
                  seen.push_back(line);
                },
            .on_event =
                [this](Reflector::Event event, const Reflector::Object& object) {
                  static constexpr const char* kNames[] = {"added", "modified", "deleted"};
                  seen.push_back(std::string(kNames[static_cast<int>(event)]) + " " +
                                 NameOf(object));
                  if (on_event) on_event();
                },
            .on_sync =
                [this](const Status& status) {
                  seen.push_back("sync " + std::string(CodeName(status.code())));
                }});
  }
  static std::string NameOf(const Reflector::Object& object) {
    return dynamic_cast<const Node&>(*object).metadata().name();
  }
  static std::string ListOf(std::vector<std::string> names, const std::string& version,
                            const std::string& next = "") {
    NodeList list;
    list.mutable_metadata()->set_resource_version(version);
    list.mutable_metadata()->set_continue_(next);
    for (const auto& name : names) list.add_items()->mutable_metadata()->set_name(name);
    return EncodeObject(ContentType::kProtobuf, {"v1", "NodeList", list});
  }
  /// With the events that arrived shortly after a batch.
  std::vector<std::string> TakeSeen() {
    loop.Advance(5ms);
    return std::exchange(seen, {});
  }
  ScriptedTransport::Asked& last() {
    loop.RunUntilIdle();
    return transport.asked.back();
  }
  void Answer(StatusOr<Response> answer) {
    const auto done = last().done;
    done(std::move(answer));
    loop.RunUntilIdle();
  }
  void Piece(const std::string& piece) {
    const auto on_data = last().on_data;
    ASSERT_TRUE(on_data);
    on_data(piece);
  }
  /// Listed at version 5 and watched, without any event.
  void Follow() {
    reflector->Start();
    Answer(Answered(200, ListOf({}, "5")));
    Piece("");
    TakeSeen();
  }
  bool Watches() { return static_cast<bool>(last().on_data); }
  std::string Path() { return last().request.path; }
  /// Time until the next request.
  Duration UntilAsked() {
    const size_t before = transport.asked.size();
    const auto begun = clock.Now();
    while (transport.asked.size() == before && clock.Now() - begun < 2min) loop.Advance(100ms);
    return clock.Now() - begun;
  }

  FakeClock clock;
  exec::FakeLoop loop{clock};
  exec::FakeStrands strands{loop};
  ScriptedTransport transport;
  Random random{1};
  FakeLogSink sink;
  prometheus::Registry registry;
  std::shared_ptr<ClientMetrics> metrics = std::make_shared<ClientMetrics>(registry);
  std::vector<std::string> seen;
  std::function<void()> on_event;
  std::unique_ptr<Reflector> reflector;
  using Seen = std::vector<std::string>;
};

TEST_F(Following, ListsInPagesAndWatchesFromThere) {
  reflector->Start();
  EXPECT_EQ(Path(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&limit=2&resourceVersion=0");
  Answer(Answered(200, ListOf({"a", "b"}, "5", "next page")));
  EXPECT_EQ(Path(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&limit=2&continue=next%20page");
  EXPECT_EQ(TakeSeen(), Seen{});
  EXPECT_EQ(reflector->sync().code(), StatusCode::kUnavailable);
  Answer(Answered(200, ListOf({"c"}, "5")));
  EXPECT_EQ(TakeSeen(), (Seen{"list a b c", "sync OK"}));
  EXPECT_TRUE(Path().starts_with(
      "/api/v1/nodes?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds="))
      << Path();
  EXPECT_TRUE(Path().ends_with("&fieldSelector=metadata.name%3Dn1"));
}

TEST_F(Following, EventsComeInOrderHoweverTheyAreCut) {
  Follow();
  const std::string all =
      Line("ADDED", "a", 6) + Line("MODIFIED", "a", 7) + Line("DELETED", "a", 8);
  for (const char c : all) Piece(std::string(1, c));
  EXPECT_EQ(TakeSeen(), (Seen{"added a", "modified a", "deleted a"}));
}

TEST_F(Following, TheFirstOfAFloodComeAtOnceAndTheOthersInBatches) {
  Follow();
  std::set<Clock::Time> told;
  on_event = [&] { told.insert(clock.Now()); };
  const auto begun = clock.Now();
  for (int i = 0; i < 100; ++i) {
    Piece(Line("MODIFIED", "a", 6 + i));
    loop.Advance(200us);
  }
  loop.Advance(5ms);
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(*told.begin(), begun);
  EXPECT_LE(told.size(), 40u);
}

TEST_F(Following, FramesOfProtobufAreReadAsTheyAreWritten) {
  Follow();
  Piece(kGoldenFrame.substr(0, 3));
  Piece(kGoldenFrame.substr(3) + kGoldenFrame);
  EXPECT_EQ(TakeSeen(), (Seen{"added n1", "added n1"}));
}

TEST_F(Following, AWatchThatEndsGoesOnWhereItWas) {
  Follow();
  Piece(Line("ADDED", "a", 6) + Line("BOOKMARK", "", 9));
  Answer(Answered(200));
  EXPECT_EQ(TakeSeen(), (Seen{"added a"}));
  EXPECT_TRUE(Watches());
  EXPECT_NE(Path().find("resourceVersion=9&"), std::string::npos) << Path();
  Piece("");
  loop.Advance(5s);
  Answer(Unavailable("connection reset"));
  EXPECT_NE(Path().find("resourceVersion=9&"), std::string::npos) << Path();
  EXPECT_EQ(TakeSeen(), Seen{});
  EXPECT_EQ(transport.asked.size(), 4u);
}

TEST_F(Following, TheWatchIsAskedToEndByItself) {
  reflector->Start();
  Answer(Answered(200, ListOf({}, "5")));
  const size_t at = Path().find("timeoutSeconds=") + 15;
  const int seconds = std::stoi(Path().substr(at));
  EXPECT_GE(seconds, 300);
  EXPECT_LE(seconds, 600);
  EXPECT_EQ(last().deadline.at - clock.Now(), std::chrono::seconds{seconds + 30});
}

TEST_F(Following, WhatTheServerForgotIsListedAnew) {
  Follow();
  loop.Advance(1min);
  Piece(Line("ADDED", "a", 6) + ErrorLine(410));
  EXPECT_EQ(TakeSeen(), (Seen{"added a"}));
  EXPECT_EQ(Path(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&resourceVersion=6");
  EXPECT_TRUE(transport.asked[1].given_up());
  Answer(Answered(200, ListOf({"b"}, "20")));
  EXPECT_EQ(TakeSeen(), (Seen{"list b"}));

  Piece("");
  Answer(Answered(410, R"({"kind":"Status","apiVersion":"v1","message":"too old"})"));
  EXPECT_GE(UntilAsked(), 700ms) << "it was listed just now";
  EXPECT_FALSE(Watches());
  EXPECT_EQ(TakeSeen(), (Seen{"sync OUT_OF_RANGE"}));
}

TEST_F(Following, AListWhosePagesAreForgottenIsTakenWhole) {
  reflector->Start();
  Answer(Answered(200, ListOf({"a", "b"}, "5", "x")));
  Answer(Answered(410, R"({"kind":"Status","apiVersion":"v1","reason":"Expired","code":410})"));
  EXPECT_EQ(Path(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&resourceVersion=0");
  Answer(Answered(200, ListOf({"c"}, "6")));
  EXPECT_EQ(TakeSeen(), (Seen{"list c", "sync OK"}));
}

TEST_F(Following, AVersionThatTheServerDoesNotHaveIsNotInsistedOn) {
  Follow();
  loop.Advance(1min);
  Piece(ErrorLine(410));
  EXPECT_NE(Path().find("resourceVersion=5"), std::string::npos);
  Answer(Answered(504, R"({"kind":"Status","apiVersion":"v1","message":"Too large"})"));
  UntilAsked();
  EXPECT_EQ(Path(), "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&limit=2");
}

TEST_F(Following, FailuresAreTriedAgainLaterAndLater) {
  reflector->Start();
  const struct {
    Duration least, most;
  } kWaits[] = {{800ms, 1700ms},    {1600ms, 3300ms},   {3200ms, 6500ms},  {6400ms, 12900ms},
                {12800ms, 25700ms}, {15000ms, 30100ms}, {15000ms, 30100ms}};
  for (const auto& [least, most] : kWaits) {
    Answer(Unavailable("connection refused"));
    const Duration waited = UntilAsked();
    EXPECT_GE(waited, least);
    EXPECT_LE(waited, most);
  }
  EXPECT_EQ(TakeSeen(), (Seen{"sync UNAVAILABLE"}));
  EXPECT_EQ(sink.lines().size(), 1u);
  Answer(Answered(200, ListOf({}, "5")));
  EXPECT_EQ(TakeSeen(), (Seen{"list", "sync OK"}));
}

TEST_F(Following, WhatATlsBootstrapIsMakingIsNotMissed) {
  const Status missing = Unavailable("kubelet.conf: no such file");
  reflector->Start();
  Answer(Awaited(missing));
  UntilAsked();
  Answer(Awaited(missing));
  EXPECT_EQ(sink.lines().size(), 0u);
  EXPECT_EQ(TakeSeen(), (Seen{"sync UNAVAILABLE"}));
  UntilAsked();
  Answer(missing);
  EXPECT_EQ(sink.lines().size(), 1u);
}

TEST_F(Following, AKubeconfigThatATlsBootstrapIsMakingIsTriedEachSecond) {
  reflector->Start();
  for (int i = 0; i < 20; ++i) {
    Answer(Awaited(Unavailable("kubelet.conf: no such file")));
    EXPECT_EQ(UntilAsked(), 1s) << "try " << i;
  }
  Answer(Answered(200, ListOf({}, "5")));
  EXPECT_EQ(TakeSeen(), (Seen{"sync UNAVAILABLE", "list", "sync OK"}));
}

TEST_F(Following, RetryAfterIsHeeded) {
  reflector->Start();
  Answer(Asking(429, 40s));
  EXPECT_GE(UntilAsked(), 39s);
}

TEST_F(Following, AWatchThatIsRefusedShowsAndHeals) {
  Follow();
  loop.Advance(2s);
  Answer(Unavailable("EOF"));
  Answer(Unavailable("connection refused"));
  EXPECT_EQ(TakeSeen(), (Seen{"sync UNAVAILABLE"}));
  UntilAsked();
  EXPECT_TRUE(Watches());
  EXPECT_EQ(TakeSeen(), Seen{});
  Piece("");
  EXPECT_EQ(TakeSeen(), (Seen{"sync OK"}));
}

TEST_F(Following, AWatchThatIsNeverAnsweredIsGivenUp) {
  reflector->Start();
  Answer(Answered(200, ListOf({}, "5")));
  TakeSeen();
  ASSERT_TRUE(Watches());
  const auto token = last().deadline.cancel;
  loop.Advance(61s);
  EXPECT_TRUE(token->cancelled());
  EXPECT_EQ(TakeSeen(), (Seen{"sync DEADLINE_EXCEEDED"}));
}

TEST_F(Following, AQuietWatchIsLeftAlone) {
  Follow();
  loop.Advance(5min);
  EXPECT_FALSE(last().given_up());
  EXPECT_EQ(TakeSeen(), Seen{});
}

TEST_F(Following, WatchesThatEndAtOnceAreNotBegunAtOnce) {
  Follow();
  Answer(Answered(200));
  EXPECT_GE(UntilAsked(), 700ms);
  EXPECT_TRUE(Watches());
}

TEST_F(Following, GarbageIsListedAnew) {
  for (const std::string& garbage :
       {std::string("{\"type\":\n"), std::string("\xff\xff\xff\xff", 4),
        std::string("\0\0\0\3abc", 7), std::string("{}\n"), std::string("HTTP/1.1 200")}) {
    transport.asked.clear();
    Make();
    Follow();
    Piece(Line("ADDED", "a", 6));
    Piece(garbage);
    EXPECT_EQ(TakeSeen(), (Seen{"added a", "sync DATA_LOSS"})) << garbage;
    UntilAsked();
    EXPECT_FALSE(Watches()) << garbage;
  }
}

TEST_F(Following, AListThatIsGarbageIsTriedAgain) {
  reflector->Start();
  Answer(Answered(200, "<html>"));
  EXPECT_EQ(TakeSeen(), (Seen{"sync DATA_LOSS"}));
  UntilAsked();
  Answer(Answered(200, ListOf({"a"}, "5")));
  EXPECT_EQ(TakeSeen(), (Seen{"list a", "sync OK"}));
}

TEST_F(Following, MuchAtOnceReachesTheLoopInParts) {
  Follow();
  std::string all;
  for (int i = 0; i < 1200; ++i) all += Frame("MODIFIED", "a", 6 + i);
  Piece(all);
  EXPECT_EQ(TakeSeen().size(), 1200u);
  Answer(Answered(200));
  EXPECT_NE(Path().find("resourceVersion=1205&"), std::string::npos) << Path();
}

TEST_F(Following, WhatIsBufferedIsBoundedAndNothingIsLost) {
  Follow();
  Piece(Line("ADDED", "a", 6));
  const std::string block = Frame("MODIFIED", std::string(1 << 20, 'x'), 7);
  const auto token = last().deadline.cancel;
  const auto on_data = last().on_data;
  const auto done = last().done;
  for (int i = 0; i < 20; ++i) on_data(block);  // before any bytes are consumed
  EXPECT_TRUE(token->cancelled());
  done(Cancelled("given up"));
  const auto seen_now = TakeSeen();
  EXPECT_EQ(seen_now.front(), "added a");
  EXPECT_EQ(seen_now.back(), "sync RESOURCE_EXHAUSTED");
  UntilAsked();
  EXPECT_TRUE(Watches());
  EXPECT_NE(Path().find("resourceVersion=7&"), std::string::npos) << Path();
}

TEST_F(Following, NothingIsHeardAfterTheEnd) {
  reflector->Start();
  const auto list = last();
  reflector.reset();
  EXPECT_TRUE(list.given_up());
  list.done(Answered(200, ListOf({"a"}, "5")));
  EXPECT_EQ(TakeSeen(), Seen{});

  Make();
  Follow();
  const auto watch = last();
  watch.on_data(Line("ADDED", "a", 6));
  reflector.reset();
  EXPECT_TRUE(watch.given_up());
  watch.on_data(Line("ADDED", "b", 7));
  watch.done(Answered(200));
  EXPECT_EQ(TakeSeen(), Seen{});
}

TEST_F(Following, MayBeEndedByWhatItTells) {
  Follow();
  on_event = [this] { reflector.reset(); };
  Piece(Line("ADDED", "a", 6) + Line("ADDED", "b", 7));
  EXPECT_EQ(TakeSeen(), (Seen{"added a"}));
}

TEST_F(Following, IsCounted) {
  Follow();
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  EXPECT_NE(text.find("rest_client_requests_total{code=\"200\",host=\"server:6443\",method=\"GET\"}"
                      " 2"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace splitlet::apiclient
