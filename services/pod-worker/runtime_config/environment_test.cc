#include "services/pod-worker/runtime_config/environment.h"

#include <gtest/gtest.h>

#include "services/pod-worker/objects/object_set.h"
#include "services/pod-worker/runtime_config/node_fixture.h"
#include "services/pod-worker/runtime_config/quoted_text.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

TEST(Expand, EveryForm) {
  const std::map<std::string, std::string> known{{"A", "1"}, {"B", "$(A)"}};
  const struct {
    const char *name, *text, *want;
  } kCases[] = {
      {"a known name", "x$(A)y", "x1y"},
      {"an unknown name stays", "$(C)", "$(C)"},
      {"a doubled dollar is one", "$$(A)", "$(A)"},
      {"the result is not scanned again", "$(B)", "$(A)"},
      {"an open bracket stays", "$(A", "$(A"},
      {"a bare name stays", "$A", "$A"},
      {"a dollar at the end stays", "a$", "a$"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Expand(c.text, known), c.want);
  }
}

class EnvironmentTest : public testing::Test {
 protected:
  void Plain(const std::string& name, const std::string& value) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    variable.set_value(value);
  }
  void Field(const std::string& name, const std::string& path) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    variable.mutable_value_from()->mutable_field_ref()->set_field_path(path);
  }
  void Resource(const std::string& name, const std::string& path, const std::string& divisor) {
    auto& variable = *container().add_env();
    variable.set_name(name);
    auto& selector = *variable.mutable_value_from()->mutable_resource_field_ref();
    selector.set_resource(path);
    selector.mutable_divisor()->set_string(divisor);
  }
  kube::Container& container() { return *pod_.mutable_spec()->mutable_containers(0); }
  Environment Make() { return MakeEnvironment({pod_, container(), kNode, ips_}).value(); }

  kube::Pod pod_ = TestPod{}.Make();
  PodAddresses ips_ = AddressesOf({"10.1.2.3"});
};

TEST_F(EnvironmentTest, LaterOnesAreNotVisible) {
  Plain("A", "$(B)");
  Plain("B", "x");
  Plain("C", "$(B)");
  EXPECT_EQ(Make(), (Environment{{"A", "$(B)"}, {"B", "x"}, {"C", "x"}}));
}

TEST_F(EnvironmentTest, FieldsOfThePod) {
  (*pod_.mutable_metadata()->mutable_labels())["b"] = "2";
  (*pod_.mutable_metadata()->mutable_labels())["a"] = "say \"hi\"";
  Field("NAME", "metadata.name");
  Field("LABELS", "metadata.labels");
  Field("LABEL", "metadata.labels['b']");
  Field("NONE", "metadata.labels['c']");
  Field("NODE", "spec.nodeName");
  Field("HOST", "status.hostIP");
  Field("IP", "status.podIP");
  EXPECT_EQ(Make(), (Environment{{"NAME", "web"},
                                 {"LABELS", "a=\"say \\\"hi\\\"\"\nb=\"2\""},
                                 {"LABEL", "2"},
                                 {"NONE", ""},
                                 {"NODE", "node-1"},
                                 {"HOST", "192.0.2.1"},
                                 {"IP", "10.1.2.3"}}));
}

TEST_F(EnvironmentTest, LabelsAndAnnotationsAreQuotedAsAKubeletDoes) {
  pod_.mutable_metadata()->clear_annotations();
  (*pod_.mutable_metadata()->mutable_annotations())["a"] = "<b>&\n\t\"\\\x01";
  Field("A", "metadata.annotations");
  EXPECT_EQ(Make(), (Environment{{"A", "a=\"<b>&\\n\\t\\\"\\\\\\x01\""}}));
}

TEST_F(EnvironmentTest, WhatIsNotPrintedIsEscapedAsAKubeletDoes) {
  const struct {
    const char* name;
    std::string value, want;
  } kCases[] = {
      {"letters, marks, numbers, punctuation and symbols stay",
       "é ß 日本 e\u0301 Ⅷ — € \U0001f600 \ufffd", "é ß 日本 e\u0301 Ⅷ — € \U0001f600 \ufffd"},
      {"blanks other than the ASCII one", "\u00a0\u2003\u3000", R"(\u00a0\u2003\u3000)"},
      {"ends of lines and paragraphs", "\u2028\u2029", R"(\u2028\u2029)"},
      {"control characters", "\x7f\u0085\x1b", R"(\x7f\u0085\x1b)"},
      {"what formats", "\u200b\ufeff\u00ad\u202e", R"(\u200b\ufeff\u00ad\u202e)"},
      {"private use", "\ue000\U0010fffd", R"(\ue000\U0010fffd)"},
      {"what is not assigned", "\u0378\U000e0fff", R"(\u0378\U000e0fff)"},
      {"a tag above the basic plane", "\U000e0001", R"(\U000e0001)"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(GoQuoted(c.value), '"' + c.want + '"');
  }
  EXPECT_EQ(GoQuoted("a\xff\xe2\x80"), R"("a\xff\xe2\x80")") << "no UTF-8";
}

TEST_F(EnvironmentTest, AddressesComeInTheOrderOfTheNodesFamilies) {
  Field("ONE", "status.podIP");
  Field("ALL", "status.podIPs");
  ips_.pod = {"fd00::7", "10.1.2.3", "10.1.2.4"};
  EXPECT_EQ(Make(), (Environment{{"ONE", "10.1.2.3"}, {"ALL", "10.1.2.3,fd00::7"}}));
  ips_.host = {"fd00::1", "192.0.2.1"};
  EXPECT_EQ(Make(), (Environment{{"ONE", "fd00::7"}, {"ALL", "fd00::7,10.1.2.3"}}));
}

/// A container would take an empty address for an answer.
TEST_F(EnvironmentTest, WhatNeedsTheNodesAddressWaitsForIt) {
  const struct {
    const char* path;
    bool host_network;
    const char *unknown, *known;  // empty: it waits
  } kCases[] = {
      {"status.hostIP", false, "", "192.0.2.1"},
      {"status.hostIPs", false, "", "192.0.2.1,2001:db8::1"},
      {"status.podIP", true, "", "192.0.2.1"},
      {"status.podIPs", true, "", "192.0.2.1,2001:db8::1"},
      {"status.podIP", false, "10.1.2.3", "10.1.2.3"},
      {"status.podIPs", false, "10.1.2.3", "10.1.2.3"},
      {"spec.nodeName", false, "node-1", "node-1"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{}, host network {}", c.path, c.host_network));
    container().clear_env();
    Field("V", c.path);
    pod_.mutable_spec()->set_host_network(c.host_network);
    ips_.pod = {"10.1.2.3"};
    ips_.host.clear();
    const auto unknown = MakeEnvironment({pod_, container(), kNode, ips_});
    if (*c.unknown == '\0') {
      EXPECT_EQ(unknown.status(), Unavailable("host IP unknown; known addresses: []"));
    } else {
      EXPECT_EQ(unknown.value(), (Environment{{"V", c.unknown}}));
    }
    ips_.host = {"192.0.2.1", "2001:db8::1"};
    EXPECT_EQ(Make(), (Environment{{"V", c.known}}));
  }
}

TEST_F(EnvironmentTest, Resources) {
  (*container().mutable_resources()->mutable_requests())["cpu"].set_string("250m");
  Resource("LIMIT", "limits.cpu", "");
  Resource("REQUEST", "requests.cpu", "1");
  Resource("MILLI", "requests.cpu", "1m");
  Resource("MEMORY", "limits.memory", "1Gi");
  Resource("NOTHING", "requests.memory", "0");
  EXPECT_EQ(
      Make(),
      (Environment{
          {"LIMIT", "4"}, {"REQUEST", "1"}, {"MILLI", "250"}, {"MEMORY", "10"}, {"NOTHING", "0"}}));
}

TEST_F(EnvironmentTest, VariablesFromFiles) {
  auto& variable = *container().add_env();
  variable.set_name("V");
  auto& selector = *variable.mutable_value_from()->mutable_file_key_ref();
  selector.set_volume_name("shared");
  selector.set_path("env");
  selector.set_key("KEY");
  const EnvFiles good{{{"shared", "env"}, "KEY='$(HOME) 1'"}};
  const EnvFiles other{{{"shared", "env"}, "OTHER='1'"}};
  const EnvFiles broken{{{"shared", "env"}, "KEY=1"}};
  const EnvFiles absent{{{"shared", "env"}, NotFound("no such file")}};
  const struct {
    const char* name;
    const EnvFiles& files;
    const char *required, *optional;  // the value; "!": left out; else the error
  } kCases[] = {
      {"as it is", good, "$(HOME) 1", "$(HOME) 1"},
      {"no such key", other, "environment variable key \"KEY\" not found in file \"env\"", "!"},
      {"broken", broken,
       "couldn't parse env file env of volume shared: line 1: the value is not in single quotes",
       "couldn't parse env file env of volume shared: line 1: the value is not in single quotes"},
      {"no file", absent, "couldn't parse env file env of volume shared: no such file", "!"},
      {"no volume", {}, "no volume shared to read env from", "no volume shared to read env from"},
  };
  for (const auto& c : kCases) {
    for (const bool optional : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, optional {}", c.name, optional));
      selector.set_optional(optional);
      const auto made = MakeEnvironment({pod_, container(), kNode, ips_, c.files});
      const std::string got = !made.ok()      ? std::string(Message(made.status()))
                              : made->empty() ? "!"
                                              : made->front().second;
      EXPECT_EQ(got, optional ? c.optional : c.required);
    }
  }
}

TEST_F(EnvironmentTest, ServicesGiveWayAndAreKnownToAll) {
  const auto set = ReadObjects(
      "apiVersion: v1\nkind: Service\nmetadata: {name: kubernetes}\nspec: {clusterIP: 10.0.0.1, "
      "ports: [{port: 443}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: "
      "shop}\nspec: {clusterIP: 10.0.0.2, ports: [{port: 5432}]}\n---\napiVersion: v1\nkind: "
      "ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {A: '1', DB_SERVICE_PORT: "
      "'6'}\n",
      "f");
  ASSERT_TRUE(set.ok()) << set.status();
  pod_.mutable_metadata()->set_namespace_("shop");
  auto& from = *container().add_env_from();
  from.set_prefix("P_");
  from.mutable_config_map_ref()->mutable_local_object_reference()->set_name("settings");
  container().add_env_from()->mutable_config_map_ref()->mutable_local_object_reference()->set_name(
      "settings");
  Plain("URL", "db://$(DB_SERVICE_HOST):$(DB_SERVICE_PORT)/$(P_A)");
  Plain("A", "2");
  const auto value = [&](const std::string& name) {
    const auto made = MakeEnvironment({pod_, container(), kNode, ips_, {}, &*set});
    for (const auto& [key, text] : made.value())
      if (key == name) return text;
    return std::string("none");
  };
  EXPECT_EQ(value("KUBERNETES_SERVICE_HOST"), "10.0.0.1");
  EXPECT_EQ(value("DB_SERVICE_HOST"), "none") << "enableServiceLinks is not set";
  pod_.mutable_spec()->set_enable_service_links(true);
  EXPECT_EQ(value("DB_SERVICE_HOST"), "10.0.0.2");
  EXPECT_EQ(value("DB_SERVICE_PORT"), "6");
  EXPECT_EQ(value("URL"), "db://10.0.0.2:6/1");
  EXPECT_EQ(value("A"), "2");
  EXPECT_EQ(value("P_A"), "1");
}

TEST_F(EnvironmentTest, WhatCannotBeReadHereIsRefusedUnlessOptional) {
  auto& variable = *container().add_env();
  variable.set_name("S");
  variable.mutable_value_from()->mutable_secret_key_ref()->set_optional(true);
  EXPECT_EQ(Make(), Environment{});
  variable.mutable_value_from()->mutable_secret_key_ref()->set_optional(false);
  EXPECT_FALSE(MakeEnvironment({pod_, container(), kNode, ips_}).ok());
}

}  // namespace
}  // namespace splitlet::pod_worker
