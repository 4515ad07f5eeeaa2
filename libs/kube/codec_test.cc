#include "libs/kube/codec.h"

#include <gtest/gtest.h>

#include <map>

#include "k8s.io/api/authorization/v1/authorization.pb.h"
#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/text.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/quantity.h"
#include "libs/kube/time_text.h"
#include "libs/kube/tokens.h"

namespace splitlet::kube {
namespace {

constexpr std::string_view kWeb = R"(# a web server
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: &labels
    app: web
    "on": "yes"
  creationTimestamp: 2026-01-02T04:04:05.5+01:00
spec:
  terminationGracePeriodSeconds: 0x1E
  hostNetwork: yes
  containers:
  - name: nginx
    image: nginx:1.25
    command: ["/bin/sh", -c, 'echo hello']
    ports:
    - {containerPort: 80, hostPort: 8080}
    resources:
      requests: {cpu: 1000m, memory: 1024Mi}
      limits: {cpu: 1.5, memory: 2Gi}
    livenessProbe:
      httpGet: {path: /, port: http}
    readinessProbe:
      tcpSocket: {port: 80}
  volumes:
  - name: config
    configMap:
      name: web
      defaultMode: 0644
)";

Pod MustDecode(std::string_view text, Strictness strictness = Strictness::kStrict) {
  auto decoded = Decode(text, "web.yaml", strictness);
  EXPECT_TRUE(decoded.ok()) << ToString(decoded.status());
  return decoded.ok() && decoded->As<Pod>() != nullptr ? *decoded->As<Pod>() : Pod();
}

TEST(Decode, APodInYamlWithEverySortOfField) {
  const Pod pod = MustDecode(kWeb);
  EXPECT_EQ(pod.metadata().name(), "web");
  EXPECT_EQ(pod.metadata().labels().at("on"), "yes");
  EXPECT_EQ(pod.metadata().creation_timestamp().seconds(), 1767323045);
  EXPECT_EQ(pod.spec().termination_grace_period_seconds(), 30);
  EXPECT_TRUE(pod.spec().host_network());
  ASSERT_EQ(pod.spec().containers_size(), 1);
  const Container& nginx = pod.spec().containers(0);
  ASSERT_EQ(nginx.command_size(), 3);
  EXPECT_EQ(nginx.command(2), "echo hello");
  EXPECT_EQ(nginx.ports(0).host_port(), 8080);
  EXPECT_EQ(nginx.resources().requests().at("cpu").string(), "1");
  EXPECT_EQ(nginx.resources().requests().at("memory").string(), "1Gi");
  EXPECT_EQ(nginx.resources().limits().at("cpu").string(), "1500m");
  EXPECT_EQ(nginx.liveness_probe().handler().http_get().port().str_val(), "http");
  EXPECT_EQ(nginx.readiness_probe().handler().tcp_socket().port().int_val(), 80);
  EXPECT_EQ(pod.spec().volumes(0).volume_source().config_map().default_mode(), 420);
  EXPECT_EQ(pod.spec().volumes(0).volume_source().config_map().local_object_reference().name(),
            "web");
}

TEST(Decode, AStringThatIsNoTextIsRefusedWithItsPlace) {
  const struct {
    const char* name;
    std::string text, want;
  } kCases[] = {
      {"a lone low surrogate, which the parser lets pass",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":{"a":"\udc00"}}})",
       "metadata.annotations[a]: has invalid UTF-8, a lone surrogate or NUL (line 1)"},
      {"NUL", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"w\u0000"}})",
       "metadata.name: has invalid UTF-8"},
      {"a byte in JSON",
       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n\"metadata\":{\"name\":\"\xFF\"}}",
       "web.yaml: not UTF-8 (line 2)"},
      {"a key of a map",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"good":"x","a\udc00":"b"}}})",
       "metadata.labels: the key \"a\uFFFD\uFFFD\uFFFD\" has invalid UTF-8"},
      {"a name of a field", R"({"apiVersion":"v1","kind":"Pod","meta\u0000":{}})",
       "the key \"meta\uFFFD\" has invalid UTF-8"},
      {"what is kept as it is",
       R"({"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{"fieldsV1":{"f:a":["\udc00"]}}]}})",
       "has invalid UTF-8"},
      {"a quoted scalar of YAML", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: \"a\\0b\"\n",
       "metadata.name: has invalid UTF-8, a lone surrogate or NUL (line 4)"},
      {"a kind", R"({"apiVersion":"v1","kind":"Po\udc00"})", "no kind \"Po\uFFFD\uFFFD\uFFFD\""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto decoded = Decode(c.text, "web.yaml", Strictness::kLenient);
    ASSERT_FALSE(decoded.ok());
    EXPECT_TRUE(IsText(splitlet::Message(decoded.status())));
    EXPECT_NE(splitlet::Message(decoded.status()).find(c.want), std::string_view::npos)
        << decoded.status();
  }
}

TEST(Decode, AQuoteInAnErrorIsCutBetweenCharacters) {
  const std::string letters = "123456789 123456789 123456789 123456789\u20ac\u20ac";
  for (const char* field : {"terminationGracePeriodSeconds", "nodeSelector"}) {
    const auto decoded = Decode(
        fmt::format(R"({{"apiVersion":"v1","kind":"Pod","spec":{{"{}":"{}"}}}})", field, letters),
        "web.yaml", Strictness::kLenient);
    ASSERT_FALSE(decoded.ok());
    EXPECT_TRUE(IsText(splitlet::Message(decoded.status()))) << decoded.status();
  }
  EXPECT_TRUE(IsText(splitlet::Message(Quantity::Parse(letters).status())));
  EXPECT_TRUE(IsText(splitlet::Message(ParseTime(letters).status())));
}

/// As in gopkg.in/yaml.v2, the kubelet's YAML parser.
TEST(Decode, ScalarsOfYamlThatAreText) {
  const struct {
    const char *name, *scalar, *want;
  } kCases[] = {
      {"in base64", "!!binary aGVsbG8=", "hello"},
      {"in base64 and quotes", "!!binary \"aGVs\\nbG8=\"", "hello"},
      {"bytes in base64 that are no UTF-8", "!!binary /2E=", "\ufffda"},
      {"a number that is too large", "1e400", "1e400"},
      {"one below zero", "-1.5E+309", "-1.5E+309"},
      {"one without a whole part", ".1e400", ".1e400"},
      {"one with a huge exponent", "1e99999999999999999999", "1e99999999999999999999"},
      {"another spelling of what is infinite", ".iNf", ".iNf"},
      {"a sign before what is no number", "+.nan", "+.nan"},
      {"a word of Go", "+Inf", "+Inf"},
      {"in quotes", "\".inf\"", ".inf"},
      {"by its tag", "!!str .inf", ".inf"},
      {"with a tag that means nothing here", "!mine 1", "1"},
      {"a day", "2026-01-02", "2026-01-02"},
      {"a day by its tag", "!!timestamp 2026-01-02", "2026-01-02"},
  };
  const std::string digits(350, '7');
  EXPECT_EQ(
      MustDecode("apiVersion: v1\nkind: Pod\nmetadata: {name: " + digits + "}\n").metadata().name(),
      digits);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const Pod pod = MustDecode(
        fmt::format("apiVersion: v1\nkind: Pod\nmetadata: {{labels: {{a: {}}}}}\n", c.scalar));
    EXPECT_EQ(pod.metadata().labels().at("a"), c.want);
  }
}

TEST(Decode, ScalarsOfYamlThatAreKeysOrNumbers) {
  const Pod pod = MustDecode(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {!!binary aGVsbG8=: a, +.Inf: b, -.INF: c, "
      ".nan: d, 1e400: e, 1e-400: f}\nspec: {priority: !!int 0o17, overhead: {cpu: 1e-400}}\n");
  const auto& labels = pod.metadata().labels();
  EXPECT_EQ((std::map<std::string, std::string>(labels.begin(), labels.end())),
            (std::map<std::string, std::string>{{"hello", "a"},
                                                {".inf", "b"},
                                                {"-.inf", "c"},
                                                {".nan", "d"},
                                                {"1e400", "e"},
                                                {"0", "f"}}));
  EXPECT_EQ(pod.spec().priority(), 15);
  EXPECT_EQ(pod.spec().overhead().at("cpu").string(), "0");
}

TEST(Decode, AnchorsAliasesAndMergeKeysAreFollowed) {
  const Pod pod = MustDecode(R"(
apiVersion: v1
kind: Pod
metadata: {name: web, labels: &l {a: x, b: w}, annotations: {<<: *l, b: z}}
)");
  EXPECT_EQ(pod.metadata().annotations().at("a"), "x");
  EXPECT_EQ(pod.metadata().annotations().at("b"), "z");
}

TEST(Decode, OnlyTheFirstYamlDocumentCounts) {
  const Pod pod = MustDecode(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\n---\nkind: Pod\nmetadata: {name: two}\n");
  EXPECT_EQ(pod.metadata().name(), "one");
}

TEST(Decode, ItemsOfAListMaySayTheirKind) {
  const auto decoded = Decode(
      R"({"kind":"PodList","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}},{}]})",
      "body", Strictness::kStrict);
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
  ASSERT_NE(decoded->As<PodList>(), nullptr);
  EXPECT_EQ(decoded->As<PodList>()->items_size(), 2);
  EXPECT_EQ(decoded->As<Pod>(), nullptr);
}

TEST(Decode, BytesAreBase64AndListsOfStringsAreMessages) {
  k8s::io::api::core::v1::Secret secret;
  ASSERT_TRUE(DecodeInto(R"({"data":{"key":"AAH/"}})", "s", Strictness::kStrict, secret).ok());
  EXPECT_EQ(secret.data().at("key"), std::string("\0\1\xFF", 3));
  EXPECT_EQ(ToJson(secret), R"({"data":{"key":"AAH/"}})");
  k8s::io::api::authorization::v1::SubjectAccessReview review;
  const std::string json = R"({"spec":{"extra":{"scopes":["a","b"]}}})";
  ASSERT_TRUE(DecodeInto(json, "s", Strictness::kStrict, review).ok());
  EXPECT_EQ(review.spec().extra().at("scopes").items(1), "b");
  EXPECT_EQ(ToJson(review), json);
}

void ExpectRefused(const char* name, const std::string& text, const std::string& want) {
  SCOPED_TRACE(name);
  const auto decoded = Decode(text, "web.yaml", Strictness::kStrict);
  EXPECT_EQ(decoded.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(splitlet::Message(decoded.status()), want);
}

TEST(Decode, ErrorsNameFileFieldReasonAndLine) {
  const std::string head = "apiVersion: v1\nkind: Pod\n";
  const struct {
    const char* name;
    std::string text, want;
  } kCases[] = {
      {"an unknown field in strict mode", head + "spec:\n  foo: 1\n",
       "web.yaml: spec.foo: unknown field (line 4)"},
      {"field names are case-sensitive", head + "spec: {Containers: []}\n",
       "web.yaml: spec.Containers: unknown field (line 3)"},
      {"a field given twice", head + "metadata: {name: a, name: b}\n",
       "web.yaml: metadata.name: given twice (line 3)"},
      {"a key of a map given twice", head + "metadata:\n  labels:\n    a: b\n    a: c\n",
       "web.yaml: metadata.labels[a]: given twice (line 6)"},
      {"a string where a number belongs",
       head + "spec:\n  containers:\n  - name: a\n  - ports:\n    - hostPort: x\n",
       "web.yaml: spec.containers[1].ports[0].hostPort: expected a number, found \"x\" (line 7)"},
      {"a number where a string belongs", head + "metadata: {name: 1}\n",
       "web.yaml: metadata.name: expected a string, found the number 1; quote it (line 3)"},
      {"a bad quantity", head + "spec: {overhead: {cpu: 1x}}\n",
       "web.yaml: spec.overhead[cpu]: \"1x\" is not a quantity: \"x\" is not a unit of quantities "
       "(line 3)"},
      {"a huge number", head + "spec: {priority: 99999999999}\n",
       "web.yaml: spec.priority: 99999999999 is not a whole number of 32 bits (line 3)"},
      {"a number that is not whole", head + "spec: {priority: 1.5}\n",
       "web.yaml: spec.priority: 1.5 is not a whole number of 32 bits (line 3)"},
      {"a list where a map belongs", head + "spec: []\n",
       "web.yaml: spec: expected an object, found a list (line 3)"},
      {"a map where a list belongs", head + "spec: {containers: {}}\n",
       "web.yaml: spec.containers: expected a list, found a map (line 3)"},
      {"a bad time", head + "metadata: {creationTimestamp: yesterday}\n",
       "web.yaml: metadata.creationTimestamp: \"yesterday\" is not a time like "
       "2006-01-02T15:04:05Z (line 3)"},
      {"no kind", "apiVersion: v1\n", "web.yaml: Object 'Kind' is missing in 'apiVersion: v1 '"},
      {"no version", "kind: Pod\n", "web.yaml: Object 'apiVersion' is missing in 'kind: Pod '"},
      {"another kind", "apiVersion: apps/v1\nkind: Deployment\n",
       "web.yaml: no kind \"Deployment\" is registered for version \"apps/v1\""},
      {"an empty file", "", "web.yaml: expected an object, found 'null'"},
      {"text that is not YAML", "a: b: c\n: [", "web.yaml: not YAML: illegal map value (line 1)"},
      {"JSON that ends early", "{\"kind\":\n\"Pod\"",
       "web.yaml: not JSON: Missing a comma or '}' after an object member. (line 2)"},
      {"invalid UTF-8", head + "metadata: {name: \"\xFF\"}\n", "web.yaml: not UTF-8 (line 3)"},
      {"a binary file",
       std::string("\x7F"
                   "ELF\2\1\1\0",
                   8),
       "web.yaml: a control character, so not text (line 1)"},
      {"more than the limit", std::string(kMaxDocumentBytes, ' '),
       "web.yaml: the read limit is reached: 10485760 bytes"},
  };
  for (const auto& c : kCases) ExpectRefused(c.name, c.text, c.want);
}

TEST(Decode, ErrorsShowScalarsAsTheyAreWritten) {
  const std::string head = "apiVersion: v1\nkind: Pod\n";
  const struct {
    const char* name;
    std::string text, want;
  } kCases[] = {
      {"a bare yes is a boolean", head + "metadata: {labels: {a: yes}}\n",
       "web.yaml: metadata.labels[a]: expected a string, found the boolean true (written yes); "
       "quote it (line 3)"},
      {"a number that is written in octal", head + "metadata: {labels: {a: 0o17}}\n",
       "web.yaml: metadata.labels[a]: expected a string, found the number 15 (written 0o17); quote "
       "it (line 3)"},
      {"a number with underscores", head + "spec: {priority: 1_0.5}\n",
       "web.yaml: spec.priority: 10.5 (written 1_0.5) is not a whole number of 32 bits (line 3)"},
      {"a number that is infinite", head + "spec: {priority: -.inf}\n",
       "web.yaml: -.inf is not a number in JSON; quote it (line 3)"},
      {"a number that is none", head + "metadata: {labels: {a: .NaN}}\n",
       "web.yaml: .NaN is not a number in JSON; quote it (line 3)"},
      {"one by its tag", head + "metadata: {labels: {a: !!float .Inf}}\n",
       "web.yaml: .Inf is not a number in JSON; quote it (line 3)"},
      {"a tag that its text is not of", head + "spec: {priority: !!int x}\n",
       "web.yaml: \"x\" is no !!int (line 3)"},
      {"base64 that is none", head + "metadata: {labels: {a: !!binary a*}}\n",
       "web.yaml: !!binary value contains invalid base64 data (line 3)"},
      {"NUL in base64", head + "metadata: {labels: {a: !!binary AA==}}\n",
       "web.yaml: metadata.labels[a]: has invalid UTF-8, a lone surrogate or NUL (line "
       "3)"},
  };
  for (const auto& c : kCases) ExpectRefused(c.name, c.text, c.want);
}

TEST(Decode, LenientModeWarnsOfUnknownAndDuplicateFields) {
  const auto decoded = Decode(
      "apiVersion: v1\nkind: Pod\nspec:\n  foo: {a: [1, {b: c}]}\nmetadata:\n  name: a\n  name: "
      "b\n",
      "web.yaml", Strictness::kLenient);
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
  EXPECT_EQ(decoded->As<Pod>()->metadata().name(), "b");
  EXPECT_EQ(decoded->warnings,
            (std::vector<std::string>{"web.yaml: spec.foo: unknown field (line 4)",
                                      "web.yaml: metadata.name: given twice (line 7)"}));
}

TEST(Decode, OfAMapKeyGivenTwiceOnlyTheLastValueIsThere) {
  const auto decoded = Decode(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {a: b, c: d, a: e}\n  labels: {c: f, g: h}\n"
      "spec: {overhead: {cpu: 1}, overhead: {cpu: null}}\n",
      "web.yaml", Strictness::kLenient);
  ASSERT_TRUE(decoded.ok()) << ToString(decoded.status());
  EXPECT_EQ(ToJson(*decoded->object),
            R"({"metadata":{"labels":{"a":"e","c":"f","g":"h"}},"spec":{"overhead":{"cpu":"0"}}})");
  EXPECT_EQ(decoded->warnings,
            (std::vector<std::string>{"web.yaml: metadata.labels[a]: given twice (line 4)",
                                      "web.yaml: metadata.labels: given twice (line 5)",
                                      "web.yaml: metadata.labels[c]: given twice (line 5)",
                                      "web.yaml: spec.overhead: given twice (line 6)",
                                      "web.yaml: spec.overhead[cpu]: given twice (line 6)"}));
}

TEST(Decode, HostileDocumentsAreRefused) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'j'; ++c) {
    const std::string before = fmt::format("*{}", static_cast<char>(c - 1));
    bomb += fmt::format("{0}: &{0} [{1}", c, before);
    for (int i = 0; i < 8; ++i) bomb += "," + before;
    bomb += "]\n";
  }
  std::string merges = "a: &a {k: v}\n";
  for (char c = 'b'; c <= 'z'; ++c)
    merges += fmt::format("{0}: &{0} {{<<: [*{1}, *{1}, *{1}]}}\n", c, static_cast<char>(c - 1));
  const struct {
    const char* name;
    std::string text, want;
  } kCases[] = {
      {"aliases of aliases of aliases", bomb, "too many values"},
      {"merge keys of merge keys", merges, "merge keys expand"},
      {"an alias of itself", "a: &a [*a]\n", "nested more than 100 levels"},
      {"nesting in YAML", "a: " + std::string(5000, '['), "nested more than 100 levels"},
      {"nesting in JSON", "{\"a\":" + std::string(1'000'000, '['), "nested more than 100 levels"},
      {"an unknown alias", "a: *b\n", "not YAML"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    Pod pod;
    const auto decoded = DecodeInto(c.text, "f", Strictness::kLenient, pod);
    ASSERT_FALSE(decoded.ok());
    EXPECT_NE(splitlet::Message(decoded.status()).find(c.want), std::string::npos)
        << ToString(decoded.status());
  }
}

TEST(FindLine, TheInnermostPartThatIsThere) {
  const struct {
    const char* path;
    size_t line;
  } kCases[] = {
      {"metadata.name", 5},
      {"spec.containers[0].image", 15},
      {"spec.containers[0].ports[0].containerPort", 18},
      {"spec.containers[0].resources.limits[cpu]", 21},
      {"spec.containers[0].securityContext", 14},
      {"spec.containers[7].name", 13},
      {"status.phase", 0},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(FindLine(kWeb, c.path), c.line);
  }
}

TEST(Encode, YamlLooksLikeKubectl) {
  Pod pod = MustDecode(kWeb);
  (*pod.mutable_metadata()->mutable_annotations())["note"] = "two\nlines\n";
  (*pod.mutable_metadata()->mutable_annotations())["odd"] = ": x";
  (*pod.mutable_metadata()->mutable_annotations())["empty"] = "";
  pod.mutable_spec()->mutable_security_context();
  const std::string want = R"(apiVersion: v1
kind: Pod
metadata:
  annotations:
    empty: ""
    note: |
      two
      lines
    odd: ': x'
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels:
    app: web
    "on": "yes"
  name: web
spec:
  containers:
  - command:
    - /bin/sh
    - -c
    - echo hello
    image: nginx:1.25
    livenessProbe:
      httpGet:
        path: /
        port: http
    name: nginx
    ports:
    - containerPort: 80
      hostPort: 8080
    readinessProbe:
      tcpSocket:
        port: 80
    resources:
      limits:
        cpu: 1500m
        memory: 2Gi
      requests:
        cpu: "1"
        memory: 1Gi
  hostNetwork: true
  securityContext: {}
  terminationGracePeriodSeconds: 30
  volumes:
  - configMap:
      defaultMode: 420
      name: web
    name: config
)";
  EXPECT_EQ(ToYaml(pod, {.api_version = "v1", .kind = "Pod", .sorted = true}), want);
  const Pod again = MustDecode(want);
  EXPECT_EQ(ToJson(again), ToJson(pod));
}

TEST(Encode, JsonInTheOrderOfTheSchemaOrIndentedByName) {
  const Pod pod =
      MustDecode("apiVersion: v1\nkind: Pod\nmetadata: {namespace: x, name: a<b, labels: {}}\n");
  EXPECT_EQ(ToJson(pod, {.api_version = "v1", .kind = "Pod"}),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a\u003cb","namespace":"x"}})");
  EXPECT_EQ(ToJson(pod, {.kind = "Pod", .sorted = true, .indent = 4}),
            "{\n    \"kind\": \"Pod\",\n    \"metadata\": {\n        \"name\": \"a\\u003cb\",\n"
            "        \"namespace\": \"x\"\n    }\n}");
}

}  // namespace
}  // namespace splitlet::kube
