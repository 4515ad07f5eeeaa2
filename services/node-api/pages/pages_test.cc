#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kFlagz = "application/json;as=Flagz;v=v1beta1;g=config.k8s.io";

TEST(ZPages, TheFormThatAClientTakes) {
  using Kind = PageForm::Kind;
  const struct {
    const char* accept;
    Kind want;
  } kCases[] = {
      {"", Kind::kText},
      {"text/plain", Kind::kText},
      {"*/*", Kind::kText},
      {"application/json", Kind::kNone},
      {kFlagz, Kind::kJson},
      {"application/yaml; as=Flagz; v=v1beta1; g=config.k8s.io", Kind::kYaml},
      {"application/json;as=Flagz;v=v1alpha1;g=config.k8s.io", Kind::kJson},
      {"application/json;as=Flagz;v=v2;g=config.k8s.io", Kind::kNone},
      {"application/json;as=Statusz;v=v1beta1;g=config.k8s.io", Kind::kNone},
      {"application/json;as=Flagz;v=v1beta1;g=example.com", Kind::kNone},
      {"application/json, text/plain", Kind::kText},
      {"image/png", Kind::kNone},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.accept);
    EXPECT_EQ(ChooseForm(c.accept, "Flagz").kind, c.want);
  }
}

class Pages : public NodeApiTest {
 protected:
  Pages() { config.flags = {{"config", "/etc/kubelet.yaml"}, {"node-ip", ""}}; }
};

TEST_F(Pages, Flagz) {
  AllowAll();
  Start();
  EXPECT_THAT(Text({.target = "/flagz"}),
              AllOf(StartsWith("200 \nkubelet flagz\nWarning: "), HasSubstr("/etc/kubelet.yaml")));
  EXPECT_EQ(Code({.target = "/flagz", .headers = {{"Accept", "application/json"}}}), 406);
  EXPECT_EQ(Text({.target = "/flagz", .headers = {{"Accept", kFlagz}}}),
            R"(200 {"kind":"Flagz","apiVersion":"config.k8s.io/v1beta1","metadata":)"
            R"({"name":"kubelet"},"flags":{"config":"/etc/kubelet.yaml","node-ip":""}})");
  const auto old =
      Send({.target = "/flagz",
            .headers = {{"Accept", "application/json;as=Flagz;v=v1alpha1;g=config.k8s.io"}}});
  EXPECT_THAT(old->Header("Warning"), StartsWith("299 - "));
}

TEST_F(Pages, Statusz) {
  AllowAll();
  Start();
  all.Advance(std::chrono::seconds{3723 - 2});  // the start took 2 s
  EXPECT_THAT(Text({.target = "/statusz"}),
              AllOf(StartsWith("200 \nkubelet statusz\nWarning: "), HasSubstr("1 hr 02 min 03 sec"),
                    HasSubstr("1.36.0"), HasSubstr("/configz")));
  const std::string text =
      Text({.target = "/statusz",
            .headers = {{"Accept", "application/json;as=Statusz;v=v1beta1;g=config.k8s.io"}}});
  EXPECT_THAT(text,
              AllOf(HasSubstr(R"("uptimeSeconds":3723)"), HasSubstr(R"("emulationVersion":"1.36")"),
                    HasSubstr(R"("paths":["/attach","/checkpoint","/configz")")));
}

TEST_F(Pages, AreNotThereWithoutDebuggingHandlers) {
  AllowAll();
  config.handlers.debugging = false;
  Start();
  for (const char* path : {"/flagz", "/statusz"}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(Code({.target = path}), 404);
    EXPECT_EQ(Code({.target = path, .surface = Surface::kReadOnly}), 404);
  }
}

TEST_F(Pages, RightsOfTheirOwn) {
  reviewer->rights = {"bob get statusz"};
  Start();
  EXPECT_EQ(Code({.target = "/statusz"}), 200);
  EXPECT_THAT(
      Text({.target = "/flagz"}),
      AllOf(StartsWith("403 "), HasSubstr("subresource(s)=[configz]"), Not(HasSubstr("proxy"))));
  EXPECT_EQ(Code({.target = "/flagz", .token = ""}), 401);
}

}  // namespace
}  // namespace splitlet::node_api
