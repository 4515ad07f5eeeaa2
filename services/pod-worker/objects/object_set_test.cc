#include "services/pod-worker/objects/object_set.h"

#include <gtest/gtest.h>

#include <sstream>

#include "k8s.io/api/core/v1/config.pb.h"
#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/reference.pb.h"
#include "k8s.io/api/core/v1/service.pb.h"
#include "k8s.io/api/node/v1/runtime_class.pb.h"
#include "services/pod-worker/objects/service_variables.h"
#include "services/pod-worker/objects/values.h"

namespace splitlet::pod_worker {
namespace {

constexpr const char* kFile = R"(# of the shop
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  COLOUR: blue
  TEXT: |
    one
     ---
    two
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: shop}
data: {USER: YWRtaW4=, BLOB: /w==}
stringData: {PASSWORD: hunter2, USER: root}
---
---
apiVersion: v1
kind: Service
metadata: {name: web-front}
spec: {clusterIP: 10.0.0.9, ports: [{name: http, port: 80}, {port: 53, protocol: UDP}]}
--- # the last
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: vm}
handler: kata
)";

std::string MessageOf(const Status& status) { return std::string(Message(status)); }

TEST(ReadObjects, AllOfAFile) {
  const auto set = ReadObjects(kFile, "f.yaml");
  ASSERT_TRUE(set.ok()) << set.status();
  const auto settings = set->GetConfigMap({"default", "settings"});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ((*settings)->data().at("TEXT"), "one\n ---\ntwo\n");
  const auto login = set->GetSecret({"shop", "login"});
  ASSERT_TRUE(login.ok());
  EXPECT_EQ((*login)->data().at("USER"), "root") << "stringData comes last";
  EXPECT_EQ((*login)->string_data_size(), 0);
  EXPECT_EQ((*set->GetRuntimeClass("vm"))->handler(), "kata");
  EXPECT_EQ(set->Services("default")->size(), 1u);
  EXPECT_EQ(set->Services("defaul")->size(), 0u);
  EXPECT_EQ(MessageOf(set->GetSecret({"default", "login"}).status()), "secret \"login\" not found");
  EXPECT_EQ(MessageOf(set->GetRuntimeClass("gvisor").status()),
            "runtimeclass.node.k8s.io \"gvisor\" not found");
}

TEST(ReadObjects, WhatCannotBeUsedIsNamedAndNothingOfASecretShown) {
  const struct {
    const char* text;
    const char* want;
  } kCases[] = {
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n",
       "f.yaml: date: unknown field (line 4)"},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_b}\n", "metadata.name: Invalid value"},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a.b}\n",
       "metadata.namespace: Invalid value"},
      {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: "
       "ConfigMap\nmetadata: {name: a}\n",
       "default/a is in the file twice"},
      {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "Pod"},
      {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {K: hunter2!}\n",
       "f.yaml: a secret cannot be read"},
      {"{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"hunter2\"",
       "f.yaml: a secret cannot be read"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto set = ReadObjects(c.text, "f.yaml");
    ASSERT_FALSE(set.ok());
    EXPECT_NE(MessageOf(set.status()).find(c.want), std::string::npos) << set.status();
    EXPECT_EQ(MessageOf(set.status()).find("hunter2"), std::string::npos);
  }
}

TEST(ReadObjects, AnEmptyFileHoldsNone) {
  for (const char* text : {"", "\n", "# nothing\n", "---\n---\n"}) {
    const auto set = ReadObjects(text, "f.yaml");
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_TRUE(set->config_maps.empty());
  }
}

TEST(ObjectSet, TheFirstOfTwoWithOneNameCounts) {
  ObjectSet set =
      *ReadObjects("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {K: '1'}\n", "1");
  const ObjectSet other = *ReadObjects(
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: "
      "ConfigMap\nmetadata: {name: b}\n",
      "2");
  EXPECT_EQ(set.Add(other, "2"),
            std::vector<std::string>{"2: ConfigMap default/a is ignored, an earlier file has it"});
  EXPECT_EQ((*set.GetConfigMap({"default", "a"}))->data().size(), 1u);
  EXPECT_TRUE(set.GetConfigMap({"default", "b"}).ok());
}

/// Each claim and volume, with the object that it is bound to.
std::string Bindings(const ObjectSet& set) {
  std::string out;
  for (const auto& [key, claim] : set.claims)
    out +=
        key + "=" + (claim->status().phase() == "Bound" ? claim->spec().volume_name() : "") + " ";
  for (const auto& [name, volume] : set.persistent_volumes)
    out += name + "=" + volume->spec().claim_ref().name() + " ";
  return out;
}

TEST(ObjectSet, AClaimIsBoundToTheVolumeThatItNamesOrThatNamesIt) {
  const struct {
    const char *claims, *volumes, *want;
  } kCases[] = {
      {"a:", "", "default/a= "},
      {"a:v", "", "default/a= "},
      {"a:", "v:", "default/a= v= "},
      {"a:v", "v:", "default/a=v v=a "},
      {"a:", "v:a", "default/a=v v=a "},
      {"a:v", "v:b", "default/a= v=b "},
      {"a:v b:v", "v:", "default/a=v default/b= v=a "},
      {"a:v b:v", "v:b", "default/a= default/b=v v=b "},
      {"a:w b:", "v:b w:", "default/a=w default/b=v v=b w=a "},
      {"a:", "u:b v:a w:a", "default/a=v u=b v=a w=a "},
  };
  const auto each = [](const std::string& list, const auto& make) {
    std::string text;
    std::istringstream words(list);
    for (std::string word; words >> word;) {
      const size_t colon = word.find(':');
      text += make(word.substr(0, colon), word.substr(colon + 1)) + "---\n";
    }
    return text;
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(std::string(c.claims) + " | " + c.volumes);
    const std::string text =
        each(c.claims,
             [](const std::string& name, const std::string& volume) {
               return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name +
                      "}\nspec: {volumeName: '" + volume + "'}\n";
             }) +
        each(c.volumes, [](const std::string& name, const std::string& claim) {
          return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name +
                 "}\nspec: {hostPath: {path: /srv}" +
                 (claim.empty() ? "" : ", claimRef: {namespace: default, name: " + claim + "}") +
                 "}\n";
        });
    auto set = ReadObjects(text, "f.yaml");
    ASSERT_TRUE(set.ok()) << set.status();
    set->BindClaims();
    EXPECT_EQ(Bindings(*set), c.want);
  }
}

/// The value, "!" for a value that is left out, or the error.
std::string Value(const char* what, const std::string& name, const std::string& key,
                  bool optional) {
  static const ObjectSet set = *ReadObjects(kFile, "f.yaml");
  k8s::io::api::core::v1::EnvVarSource from;
  const bool secret = std::string_view(what) == "secret";
  const auto fill = [&](auto& selector) {
    selector.mutable_local_object_reference()->set_name(name);
    selector.set_key(key);
    selector.set_optional(optional);
  };
  secret ? fill(*from.mutable_secret_key_ref()) : fill(*from.mutable_config_map_key_ref());
  const auto value = ValueFromObject(from, secret ? "shop" : "default", set);
  if (!value.ok()) return MessageOf(value.status());
  return value->value_or("!");
}

TEST(ValueFromObject, FoundMissingAndOptional) {
  EXPECT_EQ(Value("map", "settings", "COLOUR", false), "blue");
  EXPECT_EQ(Value("secret", "login", "PASSWORD", false), "hunter2");
  EXPECT_EQ(Value("map", "settings", "SIZE", false),
            "couldn't find key SIZE in ConfigMap default/settings");
  EXPECT_EQ(Value("secret", "login", "SIZE", false), "couldn't find key SIZE in Secret shop/login");
  EXPECT_EQ(Value("map", "none", "K", false), "configmap \"none\" not found");
  EXPECT_EQ(Value("secret", "none", "K", false), "secret \"none\" not found");
  EXPECT_EQ(Value("map", "settings", "SIZE", true), "!");
  EXPECT_EQ(Value("secret", "none", "K", true), "!");
  EXPECT_EQ(Value("secret", "login", "BLOB", true),
            "key BLOB of shop/login is not text, so it cannot be a variable");
}

TEST(ServiceVariables, OfEachPort) {
  const ObjectSet set = *ReadObjects(kFile, "f.yaml");
  EXPECT_EQ(ServiceVariables(*set.Services("default")),
            (std::map<std::string, std::string>{{"WEB_FRONT_SERVICE_HOST", "10.0.0.9"},
                                                {"WEB_FRONT_SERVICE_PORT", "80"},
                                                {"WEB_FRONT_SERVICE_PORT_HTTP", "80"},
                                                {"WEB_FRONT_PORT", "tcp://10.0.0.9:80"},
                                                {"WEB_FRONT_PORT_80_TCP", "tcp://10.0.0.9:80"},
                                                {"WEB_FRONT_PORT_80_TCP_PROTO", "tcp"},
                                                {"WEB_FRONT_PORT_80_TCP_PORT", "80"},
                                                {"WEB_FRONT_PORT_80_TCP_ADDR", "10.0.0.9"},
                                                {"WEB_FRONT_PORT_53_UDP", "udp://10.0.0.9:53"},
                                                {"WEB_FRONT_PORT_53_UDP_PROTO", "udp"},
                                                {"WEB_FRONT_PORT_53_UDP_PORT", "53"},
                                                {"WEB_FRONT_PORT_53_UDP_ADDR", "10.0.0.9"}}));
  const ObjectSet none = *ReadObjects(
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: None, ports: [{port: "
      "1}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {type: ExternalName}\n",
      "f");
  EXPECT_TRUE(ServiceVariables(*none.Services("default")).empty());
  const ObjectSet six = *ReadObjects(
      "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {clusterIP: 'fd00::1', ports: "
      "[{port: 1}]}\n",
      "f");
  EXPECT_EQ(ServiceVariables(*six.Services("default")).at("A_PORT"), "tcp://[fd00::1]:1");
}

}  // namespace
}  // namespace splitlet::pod_worker
