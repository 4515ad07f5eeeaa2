#include "services/config-source/http_source.h"

#include <fmt/ranges.h>

#include "services/config-source/curl_fetcher.h"
#include "services/config-source/testing.h"

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

TEST(HttpSource, AFailureChangesNothingAndIsLoggedFourTimes) {
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
  EXPECT_EQ(node.LogLines("cannot read pods from the URL").size(), 4u);
  EXPECT_EQ(
      node.LogLines("cannot read pods from the URL, told from now on at debug level only").size(),
      1u);
  node.fetcher.AnswerBody(List({"a", "b"}));
  node.RunFor(20s);
  EXPECT_TRUE(node.Complete("http"));
  EXPECT_EQ(node.LogLines("pods read from the URL again").size(), 1u);
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
  EXPECT_EQ(node.Show(), "a-");
  EXPECT_TRUE(node.Complete("http"));
  EXPECT_EQ(node.SourceNamed("http").problems[0].reason,
            "zero-length data received from http://host/pods");
  node.fetcher.AnswerBody(List({"a"}));
  node.RunFor(20s);
  EXPECT_EQ(node.Show(), "a");
}

TEST(HttpSource, ABadBodyServedTwiceFailsTwice) {
  HttpNode node;
  node.fetcher.AnswerBody("nonsense");
  node.Start();
  node.RunFor(21s);
  EXPECT_FALSE(node.Complete("http"));
  EXPECT_EQ(node.LogLines("cannot read pods from the URL").size(), 2u);
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
