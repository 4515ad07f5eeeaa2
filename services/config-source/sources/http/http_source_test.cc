#include "services/config-source/sources/http/http_source.h"

#include <fmt/ranges.h>

#include "services/config-source/config_source_fixture.h"
#include "services/config-source/sources/http/curl_fetcher.h"

namespace splitlet::config_source {
namespace {

std::string List(const std::vector<std::string>& names) {
  std::string text = "apiVersion: v1\nkind: PodList\nitems:\n";
  for (const auto& name : names)
    text += fmt::format(
        "- metadata: {{name: {0}, uid: uid-{1}}}\n  spec: {{containers: [{{name: a, image: "
        "b}}]}}\n",
        name, &name - names.data());
  return text;
}

struct HttpNode : TestNode {
  HttpNode() {
    config.static_pod_path.clear();
    config.static_pod_url = "http://host/pods";
  }
};

TEST(HttpSource, APodListBecomesItsPods) {
  HttpNode node;
  node.config.static_pod_url_header = {{"X-A", {"1", "2"}}};
  node.fetcher.AnswerBody(List({"a", "b"}));
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.Show(), "a b");
  EXPECT_EQ(node.Find("a")->source(), "http");
  EXPECT_EQ(node.Find("a")->origin(), "http://host/pods");
  EXPECT_EQ(node.PodOf("a").spec().tolerations_size(), 0);
  EXPECT_TRUE(node.Complete("http"));
  EXPECT_EQ(node.fetcher.last_request().headers.at("X-A"), (std::vector<std::string>{"1", "2"}));
}

TEST(HttpSource, AFailureChangesNothingAndIsLoggedOnce) {
  HttpNode node;
  node.fetcher.AnswerBody(List({"a", "b"}));
  node.Start();
  node.RunFor(100ms);
  const StatusOr<HttpReply> failures[] = {
      HttpReply{404, "404 Not Found", "x"}, Unavailable("connection refused"),
      HttpReply{200, "200 OK", std::string(kMaxConfigBytes, 'x')},
      HttpReply{200, "200 OK", List({"a", "NOT A NAME"})},
      HttpReply{200, "200 OK", "apiVersion: v1\nkind: List\nitems: []\n"}};
  for (const auto& failure : failures) {
    node.fetcher.Answer(failure);
    node.RunFor(20s);
    EXPECT_EQ(node.Show(), "a b");
    EXPECT_FALSE(node.Complete("http"));
    EXPECT_EQ(node.SourceNamed("http").problems.size(), 1u);
  }
  EXPECT_EQ(node.LogLines("source of pods has a problem").size(), std::size(failures));
  node.RunFor(10min);
  EXPECT_EQ(node.LogLines("source of pods has a problem").size(), std::size(failures));
  const std::string over = "a problem of a source of pods is over";
  EXPECT_TRUE(node.LogLines(over).empty());
  node.fetcher.AnswerBody(List({"a", "b"}));
  node.RunFor(20s);
  EXPECT_TRUE(node.Complete("http"));
  EXPECT_EQ(node.LogLines(over), std::vector<std::string>{"source=http where=http://host/pods "});
}

TEST(HttpSource, AUrlThatNeverAnswersIsIncomplete) {
  HttpNode node;
  node.Start();
  node.RunFor(1h);
  EXPECT_FALSE(node.Complete("http"));
  EXPECT_EQ(node.fetcher.calls(), 181);
}

TEST(HttpSource, RememberedPodsStayWhileTheUrlIsAwayAfterARestart) {
  HttpNode node;
  node.fetcher.AnswerBody(List({"a"}));
  node.Start();
  node.RunFor(100ms);
  const auto before = node.Find("a");
  node.fetcher.Answer(Unavailable("connection refused"));
  node.Restart();
  EXPECT_EQ(node.Show(), "a");
  EXPECT_EQ(node.Find("a")->incarnation(), before->incarnation());
  EXPECT_FALSE(node.Complete("http"));
}

TEST(HttpSource, AnEmptyAnswerRemovesAllAndTheSameBodyBringsThemBack) {
  HttpNode node;
  node.fetcher.AnswerBody(List({"a"}));
  node.Start();
  node.RunFor(100ms);
  node.fetcher.AnswerBody("");
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "a") << "a server that starts may answer so";
  EXPECT_FALSE(node.Complete("http"));
  EXPECT_EQ(node.SourceNamed("http").problems[0].reason,
            "zero-length data received from http://host/pods; its pods are kept for now");
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "a-") << "the second answer is empty too";
  EXPECT_TRUE(node.Complete("http"));
  EXPECT_EQ(node.SourceNamed("http").problems[0].reason,
            "zero-length data received from http://host/pods");
  node.fetcher.AnswerBody(List({"a"}));
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "a");
}

TEST(HttpSource, OneEmptyAnswerRemovesNothing) {
  HttpNode node;
  node.fetcher.AnswerBody(List({"a"}));
  node.Start();
  node.RunFor(100ms);
  for (int i = 0; i < 3; ++i) {
    node.fetcher.AnswerBody("");
    node.RunFor(20s);
    EXPECT_EQ(node.Show(), "a");
    node.fetcher.AnswerBody(List({"a"}));
    node.RunFor(20s);
    EXPECT_TRUE(node.Complete("http"));
  }
  node.Restart();
  node.fetcher.AnswerBody("");
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "a") << "remembered pods are known ones";
}

TEST(HttpSource, AnEmptyAnswerOfAFreshNodeIsComplete) {
  HttpNode node;
  node.fetcher.AnswerBody("");
  node.Start();
  node.RunFor(100ms);
  EXPECT_TRUE(node.Complete("http"));
}

TEST(HttpSource, SecretsOfTheUrlGoToTheServerOnly) {
  HttpNode node;
  node.config.static_pod_url = "https://root:hunter2@host/pods?token=hunter2#hunter2";
  node.fetcher.AnswerBody(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
      "spec: {containers: [{name: a, image: b}]}\n");
  node.Start();
  node.RunFor(100ms);
  EXPECT_EQ(node.fetcher.last_request().url, node.config.static_pod_url);
  const auto record = node.Find("a");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->origin(), "https://xxxxx@host/pods?token=xxxxx");
  EXPECT_EQ(node.SourceNamed("http").place, "https://xxxxx@host/pods?token=xxxxx");
  node.fetcher.AnswerBody("nonsense");
  node.RunFor(20s);
  node.fetcher.Answer(Unavailable("connection refused"));
  node.RunFor(20s);
  EXPECT_EQ(record->SerializeAsString().find("hunter2"), std::string::npos);
  for (const auto& problem : node.SourceNamed("http").problems)
    EXPECT_EQ((problem.where + problem.reason).find("hunter2"), std::string::npos);
  for (const auto& line : node.sink.lines())
    for (const auto& field : line.fields)
      EXPECT_EQ(field.value.find("hunter2"), std::string::npos) << line.message;
}

TEST(HttpSource, TheUidRestsOnTheWholeUrl) {
  const auto uid_of = [](const std::string& url) {
    HttpNode node;
    node.config.static_pod_url = url;
    node.fetcher.AnswerBody(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        "spec: {containers: [{name: a, image: b}]}\n");
    node.Start();
    node.RunFor(100ms);
    return node.Find("a")->uid();
  };
  EXPECT_NE(uid_of("https://host/pods?a=1"), uid_of("https://host/pods?a=2"));
  EXPECT_EQ(uid_of("http://host/pods"), uid_of("http://host/pods"));
}

TEST(HttpSource, ABadBodyServedTwiceFailsTwice) {
  HttpNode node;
  node.fetcher.AnswerBody("nonsense");
  node.Start();
  node.RunFor(21s);
  EXPECT_FALSE(node.Complete("http"));
  EXPECT_NE(node.SourceNamed("http").reason, "");
  EXPECT_EQ(node.LogLines("source of pods has a problem").size(), 1u) << "once";
}

TEST(HttpSource, TheSecondPodOfOneNameGetsAnEvent) {
  HttpNode node;
  node.fetcher.AnswerBody(List({"a", "a"}));
  node.Start();
  node.RunFor(1min);
  EXPECT_EQ(node.Show(), "a");
  EXPECT_TRUE(node.Complete("http"));
  const auto events = node.process->events.events();
  ASSERT_EQ(events.size(), 1u);
  const auto& event = events[0];
  EXPECT_EQ(event.reason, "FailedValidation");
  EXPECT_EQ(event.message,
            "Error validating pod a-node-a_default(uid-1) from http due to duplicate pod name "
            "\"a-node-a\", ignoring");
}

}  // namespace
}  // namespace splitlet::config_source
