#include "services/pod-worker/probes/probe.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/kube/codec.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/http_target.h"

namespace splitlet::pod_worker {
namespace {

/// The readiness probe `yaml` of a container with a port `web` (8080), as text, towards `ip`.
std::string Shown(const std::string& yaml, const std::string& ip = "10.1.2.3") {
  const auto decoded = kube::Decode(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n"
      "  - name: app\n    image: x\n"
      "    ports: [{name: web, containerPort: 8080}]\n"
      "    env: [{name: A, value: one}, {name: B, valueFrom: {fieldRef: "
      "{fieldPath: metadata.name}}}]\n"
      "    readinessProbe: " +
          yaml + "\n",
      "test.yaml", kube::Strictness::kStrict);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  if (!decoded.ok()) return "";
  const auto pod = decoded->As<kube::Pod>();
  const auto& container = pod->spec().containers(0);
  const auto action = ActionOf(container.readiness_probe(), container, ip);
  if (!action.ok()) return std::string(Message(action.status()));
  if (const auto* exec = std::get_if<ExecProbe>(&*action))
    return fmt::format("exec {}", fmt::join(exec->command, "|"));
  if (const auto* http = std::get_if<HttpProbe>(&*action)) {
    std::string text = "get " + http->url;
    for (const auto& line : http->headers)
      if (!line.starts_with("User-Agent: kube-probe/") && line != "Connection: close")
        text += fmt::format(" [{}]", line);
    return text;
  }
  if (const auto* tcp = std::get_if<TcpProbe>(&*action))
    return fmt::format("tcp {}", HostAndPort(tcp->host, tcp->port));
  const auto& grpc = std::get<GrpcProbe>(*action);
  return fmt::format("grpc {} '{}'", HostAndPort(grpc.host, grpc.port), grpc.service);
}

TEST(ProbeAction, WhatIsDoneToWhom) {
  const struct {
    const char *name, *yaml, *want;
  } kCases[] = {
      {"a command", "{exec: {command: [cat, \"$(A)\", \"$(B)\", \"$$(A)\"]}}",
       "exec cat|one|$(B)|$(A)"},
      {"the pod's address", "{httpGet: {port: 80, path: /}}", "get http://10.1.2.3:80/"},
      {"a named port", "{httpGet: {port: web, path: /}}", "get http://10.1.2.3:8080/"},
      {"a number as text", "{httpGet: {port: \"81\", path: /}}", "get http://10.1.2.3:81/"},
      {"a name that no port has", "{httpGet: {port: nope, path: /}}",
       "httpGet: couldn't find port: \"nope\""},
      {"a number out of range", "{httpGet: {port: 70000, path: /}}",
       "httpGet: invalid port number: 70000"},
      {"another host and TLS", "{httpGet: {port: 1, path: /, host: h.example, scheme: HTTPS}}",
       "get https://h.example:1/"},
      {"a query", "{httpGet: {port: 1, path: \"/a?b=c&d\"}}", "get http://10.1.2.3:1/a?b=c&d"},
      {"no slash, and blanks", "{httpGet: {port: 1, path: \"a b%20\"}}",
       "get http://10.1.2.3:1/a%20b%20"},
      {"headers", "{httpGet: {port: 1, path: /, httpHeaders: [{name: A, value: b}, {name: A}]}}",
       "get http://10.1.2.3:1/ [A: b] [A;]"},
      {"a header that would be two",
       "{httpGet: {port: 1, path: /, httpHeaders: [{name: A, value: \"b\\r\\nC: d\"}]}}",
       "httpGet: invalid header field \"A\""},
      {"a name for the host, one only, and how the request is framed is ours",
       "{httpGet: {port: 1, path: /, httpHeaders: [{name: host, value: a}, {name: Host, value: b}, "
       "{name: Content-Length, value: \"9\"}]}}",
       "get http://10.1.2.3:1/ [host: a]"},
      {"no Accept and no User-Agent",
       "{httpGet: {port: 1, path: /, httpHeaders: [{name: Accept}, {name: User-Agent}]}}",
       "get http://10.1.2.3:1/ [Accept:]"},
      {"tcp", "{tcpSocket: {port: web}}", "tcp 10.1.2.3:8080"},
      {"tcp to another host", "{tcpSocket: {port: 1, host: 10.9.9.9}}", "tcp 10.9.9.9:1"},
      {"grpc", "{grpc: {port: 9, service: s}}", "grpc 10.1.2.3:9 's'"},
      {"nothing", "{periodSeconds: 1}", "missing probe handler for app"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Shown(c.yaml), c.want);
  }
  EXPECT_EQ(Shown("{httpGet: {port: 80, path: /}}", "fd00::1"), "get http://[fd00::1]:80/");
  EXPECT_EQ(Shown("{tcpSocket: {port: 80}}", "fd00::1"), "tcp [fd00::1]:80");
}

TEST(ProbeTimingOf, DefaultsAreTheApiServers) {
  k8s::io::api::core::v1::Probe probe;
  EXPECT_EQ(TimingOf(probe), ProbeTiming{});
  probe.set_initial_delay_seconds(1);
  probe.set_period_seconds(2);
  probe.set_timeout_seconds(3);
  probe.set_success_threshold(4);
  probe.set_failure_threshold(5);
  EXPECT_EQ(TimingOf(probe), (ProbeTiming{1s, 2s, 3s, 4, 5}));
}

}  // namespace
}  // namespace splitlet::pod_worker
