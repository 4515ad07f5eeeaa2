#include "libs/fake_api/api_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/apimachinery/pkg/apis/meta/v1/status.pb.h"
#include "k8s.io/apimachinery/pkg/runtime/runtime.pb.h"
#include "libs/base/cancel.h"
#include "libs/exec/fake_exec.h"
#include "libs/fake_api/json.h"
#include "libs/kube/codec.h"

namespace splitlet::fake_api {
namespace {

using apiclient::Request;
using apiclient::Response;

namespace core = k8s::io::api::core::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kWeb = "/api/v1/namespaces/default/pods/web";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";

/// A watch and its events so far.
struct Heard {
  std::vector<std::string> types, names, versions;
  std::string raw;
  std::optional<StatusOr<Response>> end;

  void Take(std::string_view data) {
    raw += data;
    if (data.empty()) return;  // an empty piece reports the head
    const auto event = ParseJson(data);
    CHECK(event.ok(), "{}", data);
    types.push_back(event->TextOf("type"));
    const Json* meta = event->Find("object")->Find("metadata");
    if (meta == nullptr) return;
    names.push_back(meta->TextOf("name"));
    versions.push_back(meta->TextOf("resourceVersion"));
  }
};

class FakeApi : public ::testing::Test {
 protected:
  Response Ask(Request request) {
    std::optional<StatusOr<Response>> answer;
    api.Begin(std::move(request), After(clock, 10s),
              [&](StatusOr<Response> done) { answer = std::move(done); });
    CHECK(answer.has_value(), "no answer");
    return answer->ok() ? **answer : Response{.code = 0, .body = Message(answer->status())};
  }
  Response Ask(const std::string& method, const std::string& path, const std::string& body = "",
               const std::string& type = "application/json") {
    return Ask({.method = method, .path = path, .content_type = type, .body = body});
  }
  static Json JsonOf(const Response& response) {
    auto json = ParseJson(response.body);
    CHECK(json.ok(), "{}", response.body);
    return *json;
  }
  std::string MetaOf(const std::string& path, const std::string& field) {
    return JsonOf(Ask("GET", path)).Find("metadata")->TextOf(field);
  }
  /// "409 Conflict" for an error; the bare code otherwise.
  static std::string Outcome(const Response& response) {
    const std::string code = std::to_string(response.code);
    if (response.code == 0 || response.code / 100 == 2) return code;
    return code + " " + JsonOf(response).TextOf("reason");
  }
  std::shared_ptr<Heard> Watch(const std::string& path, const std::string& accept = "") {
    auto heard = std::make_shared<Heard>();
    api.BeginStream(
        {.path = path, .accept = accept}, After(clock, 3600s),
        [heard](std::string_view data) { heard->Take(data); },
        [heard](StatusOr<Response> done) { heard->end = std::move(done); });
    return heard;
  }
  void PutPod(const std::string& name, const std::string& more = "",
              const std::string& labels = "") {
    api.PutJson(std::string(kPods) + "/" + name,
                fmt::format(R"({{"metadata":{{"labels":{{{}}}}},"spec":{{{}"containers":[{{"name":)"
                            R"("c","image":"busybox:1"}}]}}}})",
                            labels, more));
  }
  void PutBoundPod(const std::string& name) { PutPod(name, R"("nodeName":"n1",)"); }

  FakeClock clock;
  FakeApiServer api{clock};
};

constexpr const char* kPodBody =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"},"spec":{"containers":)"
    R"([{"name":"c","image":"busybox"}]}})";

TEST_F(FakeApi, APodIsCreatedWithWhatTheServerFillsIn) {
  const Response made = Ask("POST", kPods, kPodBody);
  EXPECT_EQ(made.code, 201);
  core::Pod pod;
  ASSERT_TRUE(kube::DecodeInto(made.body, "", kube::Strictness::kLenient, pod).ok());
  EXPECT_EQ(pod.metadata().name().size(), std::string("web-").size() + 5);
  EXPECT_FALSE(pod.metadata().uid().empty());
  EXPECT_FALSE(pod.metadata().resource_version().empty());
  EXPECT_EQ(pod.metadata().namespace_(), "default");
  EXPECT_EQ(pod.metadata().generation(), 1);
  EXPECT_EQ(pod.metadata().creation_timestamp().seconds(),
            ToNanos(clock.WallNow()) / 1'000'000'000);
  EXPECT_EQ(pod.status().phase(), "Pending");
  EXPECT_EQ(pod.status().qos_class(), "BestEffort");
  EXPECT_EQ(pod.spec().service_account_name(), "default");
  EXPECT_EQ(pod.spec().restart_policy(), "Always");
  EXPECT_EQ(pod.spec().containers(0).image_pull_policy(), "Always");
}

TEST_F(FakeApi, TextOfASecretBecomesData) {
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  const auto data_after = [&](const Response& response) {
    EXPECT_EQ(response.code / 100, 2) << response.body;
    const Json secret = JsonOf(Ask("GET", secrets + "/s"));
    EXPECT_EQ(secret.Find("stringData"), nullptr);
    return WriteJson(*secret.Find("data"));
  };
  EXPECT_EQ(data_after(Ask("POST", secrets,
                           R"({"metadata":{"name":"s"},"data":{"a":"YQ==","b":"Yg=="},)"
                           R"("stringData":{"b":"c"}})")),
            R"({"a":"YQ==","b":"Yw=="})");
  EXPECT_EQ(data_after(Ask("PATCH", secrets + "/s", R"({"stringData":{"a":"d"}})", kStrategic)),
            R"({"a":"ZA==","b":"Yw=="})");
}

TEST_F(FakeApi, Refusals) {
  PutBoundPod("web");
  api.PutJson("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "{}");
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
  const std::string uid = MetaOf(kWeb, "uid");
  const struct {
    const char *name, *method;
    std::string path, body;
    const char* want;
  } kCases[] = {
      {"what is not there", "GET", "/api/v1/namespaces/default/pods/none", "", "404 NotFound"},
      {"no such resource", "GET", "/api/v1/things", "", "404 NotFound"},
      {"no such subresource", "GET", std::string(kWeb) + "/thing", "", "404 NotFound"},
      {"a name that is taken", "POST", kPods,
       R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
       "409 AlreadyExists"},
      {"a namespace that is not there", "POST", "/api/v1/namespaces/none/configmaps",
       R"({"metadata":{"name":"a"}})", "404 NotFound"},
      {"another namespace", "POST", "/api/v1/namespaces/default/configmaps",
       R"({"metadata":{"name":"a","namespace":"b"}})", "400 BadRequest"},
      {"a name that is none", "POST", "/api/v1/namespaces/default/configmaps",
       R"({"metadata":{"name":"A_b"}})", "422 Invalid"},
      {"no name", "POST", "/api/v1/namespaces/default/configmaps", "{}", "422 Invalid"},
      {"no JSON", "POST", "/api/v1/namespaces/default/configmaps", "{", "400 BadRequest"},
      {"a method that a collection has not", "PUT", kPods, "{}", "405 MethodNotAllowed"},
      {"an old version", "PUT", lease, R"({"metadata":{"name":"n1","resourceVersion":"1"}})",
       "409 Conflict"},
      {"a lease without version", "PUT", lease, R"({"metadata":{"name":"n1"}})", "422 Invalid"},
      {"another name", "PUT", lease, R"({"metadata":{"name":"n2"}})", "400 BadRequest"},
      {"deletion of another uid", "DELETE", kWeb, R"({"preconditions":{"uid":"other"}})",
       "409 Conflict"},
      {"a field that cannot be selected by", "GET", std::string(kPods) + "?fieldSelector=spec.x=y",
       "", "400 BadRequest"},
      {"a version to come", "GET", std::string(kPods) + "?resourceVersion=100000", "",
       "504 Timeout"},
      {"an unknown field, strictly", "POST",
       "/api/v1/namespaces/default/configmaps?fieldValidation=Strict",
       R"({"metadata":{"name":"a"},"date":{}})", "400 BadRequest"},
      {"a pod that is bound already", "POST", std::string(kWeb) + "/binding",
       R"({"target":{"name":"n2"}})", "409 Conflict"},
      {"a token that is too short", "POST",
       "/api/v1/namespaces/default/serviceaccounts/default/token",
       R"({"spec":{"expirationSeconds":10}})", "422 Invalid"},
      {"a token of a missing service account", "POST",
       "/api/v1/namespaces/default/serviceaccounts/none/token", R"({"spec":{}})", "404 NotFound"},
      {"a token of another pod", "POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
       R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"web","uid":"other"}}})", "409 Conflict"},
      {"a token of an account of before", "POST",
       "/api/v1/namespaces/default/serviceaccounts/default/token",
       R"({"metadata":{"uid":"other"},"spec":{}})", "409 Conflict"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Outcome(Ask(c.method, c.path, c.body)), c.want);
  }
  EXPECT_EQ(MetaOf(kWeb, "uid"), uid);
}

TEST_F(FakeApi, PatchesOfStatus) {
  PutBoundPod("web");
  const std::string status = std::string(kWeb) + "/status", uid = MetaOf(kWeb, "uid");
  const Response patched = Ask(
      "PATCH", status,
      fmt::format(R"({{"metadata":{{"uid":"{}"}},"spec":{{"nodeName":"n2"}},"status":{{"phase":)"
                  R"("Running","conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                  uid),
      kStrategic);
  EXPECT_EQ(patched.code, 200);
  core::Pod pod;
  ASSERT_TRUE(api.Get(kWeb, pod));
  EXPECT_EQ(pod.status().phase(), "Running");
  EXPECT_EQ(pod.spec().node_name(), "n1") << "the spec is not the status's to change";
  EXPECT_EQ(pod.metadata().generation(), 1);

  const std::string version = pod.metadata().resource_version();
  EXPECT_EQ(Ask("PATCH", status, R"({"status":{"phase":"Running"}})", kStrategic).code, 200);
  EXPECT_EQ(MetaOf(kWeb, "resourceVersion"), version) << "nothing changed";
  EXPECT_EQ(Outcome(Ask("PATCH", status, R"({"metadata":{"uid":"other"}})", kStrategic)),
            "409 Conflict");
  EXPECT_EQ(Outcome(Ask("PATCH", status, R"({"metadata":{"resourceVersion":"1"}})", kStrategic)),
            "409 Conflict");
  // And the other way around.
  EXPECT_EQ(Ask("PATCH", kWeb, R"({"metadata":{"labels":{"a":"b"}},"status":{"phase":"Failed"}})",
                kStrategic)
                .code,
            200);
  ASSERT_TRUE(api.Get(kWeb, pod));
  EXPECT_EQ(pod.status().phase(), "Running");
  EXPECT_EQ(pod.metadata().labels().at("a"), "b");
  EXPECT_EQ(Outcome(Ask("PATCH", kWeb, R"({"spec":{"hostname":"h"}})", kStrategic)), "422 Invalid");
}

TEST_F(FakeApi, ANodeKeepsItsStatusWhenItIsMade) {
  const Response made = Ask(
      "POST", "/api/v1/nodes",
      R"({"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  EXPECT_EQ(made.code, 201);
  EXPECT_EQ(Ask("PATCH", "/api/v1/nodes/n1/status",
                R"({"status":{"conditions":[{"type":"Ready","status":"True"}],)"
                R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})",
                kStrategic)
                .code,
            200);
  core::Node node;
  ASSERT_TRUE(api.Get("/api/v1/nodes/n1", node));
  ASSERT_EQ(node.status().conditions_size(), 1);
  EXPECT_EQ(node.status().conditions(0).status(), "True");
  EXPECT_EQ(node.status().addresses(0).address(), "10.0.0.1");
}

TEST_F(FakeApi, APodIsDeletedGracefully) {
  PutBoundPod("web");
  const auto heard = Watch(std::string(kPods) + "?watch=1");
  const Response first = Ask("DELETE", kWeb, R"({"gracePeriodSeconds":20})");
  EXPECT_EQ(first.code, 200);
  EXPECT_EQ(MetaOf(kWeb, "deletionGracePeriodSeconds"), "20");
  EXPECT_EQ(MetaOf(kWeb, "deletionTimestamp"), "2026-01-01T00:00:20Z");
  const std::string version = MetaOf(kWeb, "resourceVersion");
  EXPECT_EQ(Ask("DELETE", kWeb, R"({"gracePeriodSeconds":25})").code, 200);
  EXPECT_EQ(MetaOf(kWeb, "resourceVersion"), version) << "the time cannot become longer";
  Ask("DELETE", kWeb, R"({"gracePeriodSeconds":5})");
  EXPECT_EQ(MetaOf(kWeb, "deletionTimestamp"), "2026-01-01T00:00:05Z");
  Ask("DELETE", std::string(kWeb) + "?gracePeriodSeconds=0");
  EXPECT_FALSE(api.Has(kWeb));
  EXPECT_THAT(heard->types, ElementsAre("ADDED", "MODIFIED", "MODIFIED", "DELETED"));
}

TEST_F(FakeApi, AGraceIsOnlyForPodsThatMayRun) {
  const struct {
    const char *name, *spec, *status;
    bool remains;
  } kCases[] = {
      {"not bound", "", "{}", false},
      {"bound", R"("nodeName":"n1",)", "{}", true},
      {"succeeded", R"("nodeName":"n1",)", R"({"phase":"Succeeded"})", false},
      {"failed", R"("nodeName":"n1",)", R"({"phase":"Failed"})", false},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    PutPod("web", c.spec);
    Ask("PATCH", std::string(kWeb) + "/status", fmt::format(R"({{"status":{}}})", c.status),
        kStrategic);
    EXPECT_EQ(Ask("DELETE", kWeb).code, 200);
    EXPECT_EQ(api.Has(kWeb), c.remains);
    if (c.remains) api.Remove(kWeb);
  }
}

TEST_F(FakeApi, AFinalizerHoldsWhatIsDeleted) {
  api.PutJson("/api/v1/namespaces/default/configmaps/a", R"({"metadata":{"finalizers":["f"]}})");
  const std::string path = "/api/v1/namespaces/default/configmaps/a";
  EXPECT_EQ(Ask("DELETE", path).code, 200);
  EXPECT_TRUE(api.Has(path));
  EXPECT_EQ(
      Ask("PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json")
          .code,
      200);
  EXPECT_FALSE(api.Has(path));
}

TEST_F(FakeApi, AnEvictionDeletesUnlessABudgetForbids) {
  PutPod("web", R"("nodeName":"n1",)", R"("app":"web")");
  const std::string budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b";
  api.PutJson(
      budget,
      R"({"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":0}})");
  EXPECT_EQ(Outcome(Ask("POST", std::string(kWeb) + "/eviction", R"({"metadata":{"name":"web"}})")),
            "429 TooManyRequests");
  api.Remove(budget);
  EXPECT_EQ(Ask("POST", std::string(kWeb) + "/eviction",
                R"({"metadata":{"name":"web"},"deleteOptions":{"gracePeriodSeconds":7}})")
                .code,
            201);
  core::Pod pod;
  ASSERT_TRUE(api.Get(kWeb, pod));
  EXPECT_EQ(pod.metadata().deletion_grace_period_seconds(), 7);
  EXPECT_EQ(pod.status().conditions(0).type(), "DisruptionTarget");
}

TEST_F(FakeApi, AnEphemeralContainerThatIsAddedHasItsDefaults) {
  PutPod("web", R"("nodeName":"n1",)", R"("app":"web")");
  EXPECT_EQ(
      Ask("PATCH", std::string(kWeb) + "/ephemeralcontainers",
          R"({"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox:1"}]}})", kStrategic)
          .code,
      200);
  core::Pod pod;
  ASSERT_TRUE(api.Get(kWeb, pod));
  ASSERT_EQ(pod.spec().ephemeral_containers_size(), 1);
  const auto& added = pod.spec().ephemeral_containers(0).ephemeral_container_common();
  EXPECT_EQ(added.image_pull_policy(), "IfNotPresent");
  EXPECT_EQ(added.termination_message_path(), "/dev/termination-log");
}

TEST_F(FakeApi, Selectors) {
  PutPod("a", R"("nodeName":"n1",)", R"("app":"web","tier":"front")");
  PutPod("b", R"("nodeName":"n2",)", R"("app":"db")");
  PutPod("c", "", R"("app":"web")");
  const struct {
    const char* query;
    std::vector<std::string> want;
  } kCases[] = {
      {"", {"a", "b", "c"}},
      {"?fieldSelector=spec.nodeName%3Dn1", {"a"}},
      {"?fieldSelector=spec.nodeName!=n1", {"b", "c"}},
      {"?fieldSelector=spec.nodeName=,status.phase==Pending", {"c"}},
      {"?fieldSelector=metadata.name=b", {"b"}},
      {"?labelSelector=app=web", {"a", "c"}},
      {"?labelSelector=app!%3Dweb", {"b"}},
      {"?labelSelector=app+in+(web,db),!tier", {"b", "c"}},
      {"?labelSelector=tier", {"a"}},
      {"?labelSelector=app%20notin%20(db)", {"a", "c"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.query);
    std::vector<std::string> names;
    const Json list = JsonOf(Ask("GET", std::string(kPods) + c.query));
    for (const auto& item : list.Find("items")->items)
      names.push_back(item.Find("metadata")->TextOf("name"));
    EXPECT_EQ(names, c.want);
  }
}

TEST_F(FakeApi, AListInPagesShowsOneTime) {
  for (const char* name : {"a", "b", "c"}) PutPod(name);
  const Json first = JsonOf(Ask("GET", std::string(kPods) + "?limit=2"));
  EXPECT_EQ(first.Find("items")->items.size(), 2u);
  EXPECT_EQ(first.Find("metadata")->TextOf("remainingItemCount"), "1");
  const std::string next = first.Find("metadata")->TextOf("continue");
  api.Remove(std::string(kPods) + "/c");
  const std::string path = fmt::format("{}?limit=2&continue={}", kPods, next);
  const Json second = JsonOf(Ask("GET", path));
  EXPECT_EQ(second.Find("items")->items.size(), 1u);
  EXPECT_EQ(second.Find("metadata")->TextOf("resourceVersion"),
            first.Find("metadata")->TextOf("resourceVersion"));
  EXPECT_EQ(second.Find("metadata")->TextOf("continue"), "");
  api.Compact();
  EXPECT_EQ(Outcome(Ask("GET", path)), "410 Expired");
}

TEST_F(FakeApi, AWatchGoesOnFromAVersion) {
  PutPod("a");
  const std::string version = JsonOf(Ask("GET", kPods)).Find("metadata")->TextOf("resourceVersion");
  PutPod("b");
  const auto heard = Watch(fmt::format("{}?watch=true&resourceVersion={}", kPods, version));
  EXPECT_THAT(heard->names, ElementsAre("b"));
  api.Remove(std::string(kPods) + "/a");
  EXPECT_THAT(heard->types, ElementsAre("ADDED", "DELETED"));
  EXPECT_LT(std::stoi(heard->versions[0]), std::stoi(heard->versions[1]));
  EXPECT_FALSE(heard->end);
  api.EndWatches();
  ASSERT_TRUE(heard->end && heard->end->ok());
  EXPECT_EQ((*heard->end)->code, 200);
}

TEST_F(FakeApi, AWatchBySelectorSeesObjectsComeAndGo) {
  PutPod("a");
  const auto heard = Watch("/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1");
  EXPECT_TRUE(heard->types.empty());
  EXPECT_EQ(
      Ask("POST", std::string(kPods) + "/a/binding", R"({"target":{"kind":"Node","name":"n1"}})")
          .code,
      201);
  api.PutJson("/api/v1/nodes/n1", "{}");
  Ask("PATCH", std::string(kPods) + "/a", R"({"metadata":{"labels":{"x":"y"}}})", kStrategic);
  api.Remove(std::string(kPods) + "/a");
  EXPECT_THAT(heard->types, ElementsAre("ADDED", "MODIFIED", "DELETED"));
}

TEST_F(FakeApi, AVersionBeforeTheWindowIsGone) {
  FakeApiServer small(clock, {.window = 2});
  std::optional<StatusOr<Response>> end;
  Heard heard;
  for (const char* name : {"a", "b", "c"})
    small.PutJson(std::string("/api/v1/nodes/") + name, "{}");
  small.BeginStream(
      {.path = "/api/v1/nodes?watch=1&resourceVersion=1"}, After(clock, 60s),
      [&](std::string_view data) { heard.Take(data); },
      [&](StatusOr<Response> done) { end = std::move(done); });
  EXPECT_THAT(heard.types, ElementsAre("ERROR"));
  EXPECT_THAT(heard.raw, HasSubstr("\"code\":410"));
  EXPECT_TRUE(end && end->ok());

  const std::string version =
      JsonOf(Ask("GET", "/api/v1/nodes")).Find("metadata")->TextOf("resourceVersion");
  api.Compact();
  EXPECT_THAT(Watch("/api/v1/nodes?watch=1&resourceVersion=" + version)->types,
              ElementsAre("ERROR"));
}

TEST_F(FakeApi, Bookmarks) {
  const auto with = Watch("/api/v1/nodes?watch=1&allowWatchBookmarks=true&timeoutSeconds=30");
  const auto without = Watch("/api/v1/nodes?watch=1");
  api.SendBookmarks();
  EXPECT_THAT(with->types, ElementsAre("BOOKMARK"));
  EXPECT_TRUE(without->types.empty());
  PutPod("a");
  clock.Advance(31s);
  api.Tick();
  EXPECT_THAT(with->types, ElementsAre("BOOKMARK", "BOOKMARK")) << "one at the end";
  EXPECT_LT(std::stoi(with->versions[0]), std::stoi(with->versions[1]));
  EXPECT_TRUE(with->end);
  EXPECT_FALSE(without->end);
}

TEST_F(FakeApi, AWatchThatIsGivenUpHearsNothingMore) {
  const auto cancel = std::make_shared<CancelToken>();
  Deadline deadline = After(clock, 60s);
  deadline.cancel = cancel;
  std::optional<StatusOr<Response>> end;
  int heard = 0;
  api.BeginStream(
      {.path = "/api/v1/nodes?watch=1"}, deadline,
      [&](std::string_view data) { heard += data.empty() ? 0 : 1; },
      [&](StatusOr<Response> done) { end = std::move(done); });
  cancel->Cancel();
  api.PutJson("/api/v1/nodes/n1", "{}");
  EXPECT_EQ(heard, 0);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status().code(), StatusCode::kCancelled);
}

TEST_F(FakeApi, ProtobufBothWays) {
  namespace runtime = k8s::io::apimachinery::pkg::runtime;
  const std::string magic("k8s\0", 4), type = "application/vnd.kubernetes.protobuf";
  core::ConfigMap map;
  map.mutable_metadata()->set_name("a");
  (*map.mutable_data())["key"] = "value";
  runtime::Unknown unknown;
  unknown.mutable_type_meta()->set_api_version("v1");
  unknown.mutable_type_meta()->set_kind("ConfigMap");
  unknown.set_raw(map.SerializeAsString());
  const Response made = Ask({.method = "POST",
                             .path = "/api/v1/namespaces/default/configmaps",
                             .accept = type + ",application/json",
                             .content_type = type,
                             .body = magic + unknown.SerializeAsString()});
  ASSERT_EQ(made.code, 201);
  EXPECT_EQ(made.content_type, type);
  ASSERT_TRUE(made.body.starts_with(magic));
  ASSERT_TRUE(unknown.ParseFromString(made.body.substr(4)));
  EXPECT_EQ(unknown.type_meta().kind(), "ConfigMap");
  ASSERT_TRUE(map.ParseFromString(unknown.raw()));
  EXPECT_EQ(map.data().at("key"), "value");

  std::string frame;
  api.BeginStream(
      {.path = "/api/v1/configmaps?watch=1&fieldSelector=metadata.name=a", .accept = type},
      After(clock, 60s), [&](std::string_view data) { frame += data; }, [](StatusOr<Response>) {});
  ASSERT_GT(frame.size(), 4u);
  k8s::io::apimachinery::pkg::apis::meta::v1::WatchEvent event;
  ASSERT_TRUE(event.ParseFromString(frame.substr(4)));
  EXPECT_EQ(static_cast<unsigned char>(frame[3]) + 256u * static_cast<unsigned char>(frame[2]),
            frame.size() - 4);
  EXPECT_EQ(event.type(), "ADDED");
  EXPECT_TRUE(event.object().raw().starts_with(magic));
}

TEST_F(FakeApi, Tokens) {
  PutBoundPod("web");
  const Json request = JsonOf(
      Ask("POST", "/api/v1/namespaces/default/serviceaccounts/default/token",
          fmt::format(R"({{"spec":{{"audiences":["a"],"expirationSeconds":700,"boundObjectRef":)"
                      R"({{"kind":"Pod","apiVersion":"v1","name":"web","uid":"{}"}}}}}})",
                      MetaOf(kWeb, "uid"))));
  const std::string token = request.Find("status")->TextOf("token");
  EXPECT_EQ(std::count(token.begin(), token.end(), '.'), 2);
  EXPECT_EQ(request.Find("status")->TextOf("expirationTimestamp"), "2026-01-01T00:11:40Z");
  api.AddToken("secret", {"jane", "7", {"dev"}});
  const auto review = [&](const std::string& text) {
    return *JsonOf(Ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews",
                       fmt::format(R"({{"spec":{{"token":"{}"}}}})", text)))
                .Find("status");
  };
  EXPECT_EQ(review(token).Find("user")->TextOf("username"),
            "system:serviceaccount:default:default");
  EXPECT_EQ(review("secret").Find("user")->TextOf("username"), "jane");
  EXPECT_EQ(review("other").TextOf("authenticated"), "false");
  clock.Advance(701s);
  EXPECT_EQ(review(token).TextOf("authenticated"), "false");
}

TEST_F(FakeApi, APodWithoutPullSecretsGetsThoseOfItsServiceAccount) {
  constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";
  Ask("PATCH", std::string(kAccounts) + "/default", R"({"imagePullSecrets":[{"name":"common"}]})",
      kStrategic);
  Ask("POST", kAccounts,
      R"({"metadata":{"name":"builder"},"imagePullSecrets":[{"name":"one"},{"name":"two"}]})");
  const struct {
    const char *spec, *want;
  } kCases[] = {
      {R"("restartPolicy":"Always")", "common"},
      {R"("serviceAccountName":"builder")", "one two"},
      {R"("serviceAccountName":"builder","imagePullSecrets":[{"name":"own"}])", "own"},
      {R"("serviceAccountName":"unknown")", ""},
  };
  int number = 0;
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.spec);
    const Json made =
        JsonOf(Ask("POST", "/api/v1/namespaces/default/pods",
                   fmt::format(R"({{"metadata":{{"name":"p{}"}},"spec":{{{},"containers":)"
                               R"([{{"name":"app","image":"x"}}]}}}})",
                               ++number, c.spec)));
    std::vector<std::string> names;
    if (const Json* secrets = made.Find("spec")->Find("imagePullSecrets"))
      for (const auto& secret : secrets->items) names.push_back(secret.TextOf("name"));
    EXPECT_EQ(fmt::format("{}", fmt::join(names, " ")), c.want);
  }
}

TEST_F(FakeApi, AccessReviews) {
  api.Allow({.who = "jane", .verb = "get", .group = "", .resource = "nodes/log"});
  api.Allow({.who = "group:ops", .path = "/healthz"});
  const struct {
    const char *name, *spec, *want;
  } kCases[] = {
      {"as the rule says",
       R"("user":"jane","resourceAttributes":{"verb":"get","resource":"nodes","subresource":"log"})",
       "true"},
      {"another subresource",
       R"("user":"jane","resourceAttributes":{"verb":"get","resource":"nodes","subresource":"proxy"})",
       "false"},
      {"another user",
       R"("user":"joe","resourceAttributes":{"verb":"get","resource":"nodes","subresource":"log"})",
       "false"},
      {"a path by group",
       R"("user":"joe","groups":["ops"],"nonResourceAttributes":{"verb":"get","path":"/healthz"})",
       "true"},
      {"the masters may all",
       R"("user":"a","groups":["system:masters"],"resourceAttributes":{"verb":"x","resource":"y"})",
       "true"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Json review = JsonOf(Ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                   fmt::format(R"({{"spec":{{{}}}}})", c.spec)));
    EXPECT_EQ(review.Find("status")->TextOf("allowed"), c.want);
  }
}

TEST_F(FakeApi, Faults) {
  using Fault = FakeApiServer::Fault;
  PutPod("web");
  const struct {
    const char* name;
    Fault fault;
    std::string want;
  } kCases[] = {
      {"a code", {.code = 500}, "500 InternalError"},
      {"a lost connection", {}, "0"},
      {"another method", {.method = "PUT", .code = 500}, "200"},
      {"another path", {.prefix = "/api/v1/nodes", .code = 500}, "200"},
      {"too many", {.code = 429, .retry_after = 3s}, "429 TooManyRequests"},
      {"garbage", {.body = "<html>"}, "200"},
      {"no answer", {.hang = true}, "0"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Fault fault = c.fault;
    fault.times = 1;
    api.Inject(fault);
    const Response answer = Ask("GET", kWeb);
    EXPECT_EQ(Outcome(answer), c.want);
    EXPECT_EQ(answer.retry_after, c.fault.retry_after);
    if (!fault.body.empty()) {
      EXPECT_EQ(answer.body, fault.body);
    }
    api.ClearFaults();
  }
  api.Inject({.method = "PATCH", .times = 1, .after_effect = true});
  EXPECT_EQ(Ask("PATCH", kWeb, R"({"metadata":{"labels":{"a":"b"}}})", kStrategic).code, 0);
  EXPECT_THAT(api.GetJson(kWeb), HasSubstr(R"("labels":{"a":"b"})"));
}

TEST(FakeApiOnLoop, WhatHangsEndsAtItsDeadlineOrGoesOn) {
  FakeClock clock;
  exec::FakeLoop loop(clock);
  FakeApiServer api(clock, {.loop = &loop});
  api.Inject({.hang = true});
  std::vector<StatusOr<Response>> ends;
  const auto ask = [&] {
    api.Begin({.path = "/version"}, After(clock, 5s),
              [&](StatusOr<Response> done) { ends.push_back(std::move(done)); });
  };
  ask();
  loop.Advance(4s);
  EXPECT_TRUE(ends.empty());
  loop.Advance(1s);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].status().code(), StatusCode::kDeadlineExceeded);
  ask();
  api.ClearFaults();
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_TRUE(ends[1].ok());
}

TEST_F(FakeApi, AServerThatIsAwayAnswersNobody) {
  const auto heard = Watch("/api/v1/nodes?watch=1");
  api.TakeSeen();
  api.SetAway(true);
  ASSERT_TRUE(heard->end);
  EXPECT_EQ(heard->end->status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Ask("GET", "/version").code, 0);
  EXPECT_TRUE(api.TakeSeen().empty());
  api.SetAway(false);
  EXPECT_EQ(Ask("GET", "/version").code, 200);
  const auto seen = api.TakeSeen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].method + " " + seen[0].path, "GET /version");
}

TEST_F(FakeApi, WhatATestPutsIsTaken) {
  core::Pod pod;
  pod.mutable_metadata()->set_uid("u1");
  pod.mutable_spec()->set_node_name("n1");
  pod.mutable_spec()->add_containers()->set_name("c");
  pod.mutable_status()->set_phase("Running");
  const std::string path = "/api/v1/namespaces/new/pods/web";
  const auto heard = Watch("/api/v1/namespaces/new/pods?watch=1");
  api.Put(path, pod);
  api.Put(path, pod);  // storing the same object again is no change
  pod.mutable_metadata()->set_uid("u2");
  api.Put(path, pod);
  EXPECT_THAT(heard->types, ElementsAre("ADDED", "DELETED", "ADDED"));
  core::Pod stored;
  ASSERT_TRUE(api.Get(path, stored));
  EXPECT_EQ(stored.metadata().uid(), "u2");
  EXPECT_EQ(stored.status().phase(), "Running");
  EXPECT_TRUE(api.Has("/api/v1/namespaces/new/serviceaccounts/default"));
  EXPECT_THAT(api.List("/api/v1/pods"), ElementsAre(path));
  api.Delete(path);
  EXPECT_TRUE(api.Has(path));
}

TEST_F(FakeApi, APodIsBoundToTheOnlyNode) {
  api.SetScheduling(true);
  api.PutJson("/api/v1/nodes/n1", "{}");
  PutPod("web");
  core::Pod pod;
  ASSERT_TRUE(api.Get(kWeb, pod));
  EXPECT_EQ(pod.spec().node_name(), "n1");
}

TEST_F(FakeApi, Discovery) {
  for (const char* path : {"/healthz", "/readyz", "/livez", "/version", "/api", "/apis", "/api/v1",
                           "/apis/coordination.k8s.io/v1", "/apis/policy", "/openapi/v3"})
    EXPECT_EQ(Ask("GET", path).code, 200) << path;
  EXPECT_EQ(Ask("GET", "/openapi/v2").code, 404);
  EXPECT_THAT(Ask("GET", "/api/v1").body, HasSubstr(R"("name":"pods/status")"));
}

}  // namespace
}  // namespace splitlet::fake_api
