#include "services/pod-worker/hooks/hook_call.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

using Handler = k8s::io::api::core::v1::LifecycleHandler;

/// The call as text; "! ..." for one that cannot be run.
std::string Shown(const std::function<void(Handler&)>& edit, const std::string& ip) {
  auto pod = TestPod{}.Make();
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  auto& port = *container.add_ports();
  port.set_name("web");
  port.set_container_port(8080);
  Handler handler;
  edit(handler);
  const HookCall call = MakeHookCall({pod, container, handler, ip});
  if (!call.error.ok()) return fmt::format("! {}", Message(call.error));
  return fmt::format("{} {}", call.request.url, fmt::join(call.request.headers, ", "));
}

TEST(HookCall, Requests) {
  const auto header = [](Handler& handler, const char* name, const char* value) {
    auto& added = *handler.mutable_http_get()->add_http_headers();
    added.set_name(name);
    added.set_value(value);
  };
  const auto to = [](Handler& handler, int port) {
    handler.mutable_http_get()->mutable_port()->set_int_val(port);
  };
  const struct {
    const char* name;
    std::function<void(Handler&)> edit;
    const char *ip, *want;
  } kCases[] = {
      {"the pod's address, and a path", [&](auto& h) { to(h, 80); }, "10.1.2.3",
       "http://10.1.2.3:80/ User-Agent: kube-lifecycle/1.36"},
      {"an address in brackets", [&](auto& h) { to(h, 80); }, "fd00::1",
       "http://[fd00::1]:80/ User-Agent: kube-lifecycle/1.36"},
      {"a pod without address", [&](auto& h) { to(h, 80); }, "",
       "! failed to find networking container: no IP"},
      {"a path that has to be escaped, a scheme in capitals, a host",
       [&](auto& h) {
         to(h, 443);
         h.mutable_http_get()->set_scheme("HTTPS");
         h.mutable_http_get()->set_host("example.org");
         h.mutable_http_get()->set_path("a b?c=%20");
       },
       "", "https://example.org:443/a%20b?c=%20 User-Agent: kube-lifecycle/1.36"},
      {"a port by its name",
       [](auto& h) {
         h.mutable_http_get()->mutable_port()->set_type(1);
         h.mutable_http_get()->mutable_port()->set_str_val("web");
       },
       "10.1.2.3", "http://10.1.2.3:8080/ User-Agent: kube-lifecycle/1.36"},
      {"an agent of its own, and no Accept",
       [&](auto& h) {
         to(h, 80);
         header(h, "User-Agent", "me");
         header(h, "Accept", "");
       },
       "10.1.2.3", "http://10.1.2.3:80/ User-Agent: me, Accept:"},
      {"a header that would be two",
       [&](auto& h) {
         to(h, 80);
         header(h, "X", "a\r\nY: b");
       },
       "10.1.2.3", "! headers: invalid header field \"X\""},
      {"no port", [&](auto& h) { to(h, 0); }, "10.1.2.3", "! port: invalid port number: 0"},
      {"nothing", [](auto&) {}, "10.1.2.3", "! invalid handler"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Shown(c.edit, c.ip), c.want);
  }
}

TEST(HookCall, AFailureIsToldInAKubeletsWordsAndBounded) {
  auto pod = TestPod{}.Make();
  Handler handler;
  handler.mutable_exec()->add_command("sh");
  handler.mutable_exec()->add_command("-c");
  const HookCall call = MakeHookCall({pod, pod.spec().containers(0), handler, ""});
  const Status error = ExecOutcome(call.command, 3, "no");
  EXPECT_EQ(HookMessage(call, error, "out"),
            "Exec lifecycle hook ([sh -c]) for Container \"app\" in Pod \"web_default(uid-web)\" "
            "failed - error: command 'sh -c' exited with 3: no, message: \"out\"");
  EXPECT_LT(HookMessage(call, error, std::string(1 << 20, 'x')).size(), 2048u);
}

}  // namespace
}  // namespace splitlet::pod_worker
