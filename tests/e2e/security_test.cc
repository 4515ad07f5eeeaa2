// Privileges of pods on real containerd: users, groups, capabilities, profiles and kernel settings
// as seen in containers, and the exact refusals of features that this runtime or host lacks.

#include <filesystem>
#include <regex>

#include "libs/cri/grpc_runtime.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class Secured : public E2eTest {
 protected:
  /// The container's lines on stdout, once the line `end` is written, after an empty one. A runtime
  /// copies stderr into the same log, in any order.
  std::string Printed(const std::string& name, const std::string& end) {
    std::string text;
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      const auto pod = node_->Pod(name);
      if (pod == nullptr) return false;
      text = harness::ReadFile(
          fmt::format("{}/pods/default_{}_{}/app/0.log", node_->dir(), pod->name, pod->uid));
      return text.find(" F " + end + "\n") != std::string::npos;
    })) << text;
    const std::string out = std::regex_replace(text, std::regex("\\S+ stderr F [^\n]*\n"), "");
    return "\n" + std::regex_replace(out, std::regex("\\S+ stdout F "), "");
  }
  void ExpectRefused(const std::string& spec, const std::string& reason,
                     const std::string& message) {
    SCOPED_TRACE(reason);
    node_->PutManifest("refused.yaml", harness::PodYaml("refused", "sleep 1000", spec));
    std::unique_ptr<harness::Node::PodView> pod;
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      pod = node_->Pod("refused");
      return pod != nullptr && pod->phase == "Failed";
    }));
    ASSERT_NE(pod, nullptr);
    EXPECT_EQ(pod->reason, reason);
    EXPECT_EQ(pod->message, "Pod was rejected: " + message);
    EXPECT_TRUE(view_->Sandboxes().empty()) << "it never ran with less";
    node_->RemoveManifest("refused.yaml");
    ExpectGone("refused");
  }
  /// `manifest` of a pod "waits", whose container is never created.
  void ExpectWaiting(const std::string& manifest, const std::string& reason) {
    SCOPED_TRACE(reason);
    node_->PutManifest("waits.yaml", manifest);
    EXPECT_TRUE(WaitFor(kSoon, [&] {
      const auto pod = node_->Pod("waits");
      return pod != nullptr && pod->phase == "Pending" && pod->containers.size() == 1 &&
             pod->containers[0].reason == reason;
    }));
    EXPECT_TRUE(view_->Containers().empty()) << "it never ran with less";
    node_->RemoveManifest("waits.yaml");
    ExpectGone("waits");
  }
};

/// `context` of the container, and `more` fields of the pod.
std::string Pod(const std::string& script, const std::string& context, const std::string& more) {
  return harness::PodYaml("web", script, more) + "    securityContext: " + context + "\n";
}

TEST_F(Secured, UsersGroupsCapabilitiesAndSettingsHoldInsideTheContainer) {
  StartNode();
  node_->PutManifest(
      "web.yaml",
      Pod("grep -E '^(Uid|Gid|Groups|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; cat "
          "/proc/sys/net/ipv4/ip_unprivileged_port_start; touch /x || echo read-only; hostname; "
          "wc -c < /proc/keys; echo 1 > /proc/sys/kernel/sysrq || echo kept; echo done; sleep 1000",
          "{runAsUser: 1000, runAsGroup: 2000, runAsNonRoot: true, allowPrivilegeEscalation: "
          "false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL], add: "
          "[NET_BIND_SERVICE]}}",
          "  hostnameOverride: other.example.org\n"
          "  securityContext: {fsGroup: 3000, supplementalGroups: [4000], seccompProfile: {type: "
          "RuntimeDefault}, sysctls: [{name: net.ipv4.ip_unprivileged_port_start, value: "
          "'80'}]}\n"));
  const std::string text = Printed("web", "done");
  for (const char* line :
       {"Uid:\t1000\t1000\t1000\t1000\n", "Gid:\t2000\t2000\t2000\t2000\n", "Groups:\t",
        "CapBnd:\t0000000000000400\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "\n80\n",
        "\nread-only\n", "\nother.example.org\n", "\n0\n", "\nkept\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  const std::string groups = text.substr(text.find("Groups:"), 40);
  EXPECT_NE(groups.find("3000"), std::string::npos) << groups;
  EXPECT_NE(groups.find("4000"), std::string::npos) << groups;
}

TEST_F(Secured, WithoutAnyOfItAContainerIsRootWithTheRuntimesCapabilities) {
  StartNode();
  node_->PutManifest("web.yaml",
                     harness::PodYaml("web",
                                      "grep -E '^(Uid|NoNewPrivs|Seccomp):' /proc/self/status; "
                                      "touch /x && echo writable; echo done; sleep 1000"));
  const std::string text = Printed("web", "done");
  for (const char* line :
       {"Uid:\t0\t0\t0\t0\n", "NoNewPrivs:\t0\n", "Seccomp:\t0\n", "\nwritable\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

TEST_F(Secured, AProfileOfTheNodeFiltersCallsAndIsWaitedFor) {
  StartNode();
  node_->PutManifest(
      "web.yaml", Pod("mkdir /tmp/made || echo filtered; echo done; sleep 1000",
                      "{seccompProfile: {type: Localhost, localhostProfile: no-mkdir.json}}", ""));
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto pod = node_->Pod("web");
    return pod != nullptr && pod->containers.size() == 1 &&
           pod->containers[0].reason == "CreateContainerConfigError";
  }));
  std::filesystem::create_directories(node_->dir() + "/kubelet/seccomp");
  harness::WriteFile(node_->dir() + "/kubelet/seccomp/no-mkdir.json",
                     R"({"defaultAction": "SCMP_ACT_ALLOW",
 "syscalls": [{"names": ["mkdir", "mkdirat"], "action": "SCMP_ACT_ERRNO"}]})");
  const std::string text = Printed("web", "done");
  EXPECT_NE(text.find("\nfiltered\n"), std::string::npos) << text;
}

/// For this runtime, which reports no features, and a host without AppArmor.
TEST_F(Secured, WhatCannotBeEnforcedIsRefusedInTheKubeletsWords) {
  const bool apparmor = std::filesystem::exists("/sys/module/apparmor/parameters/enabled") &&
                        harness::ReadFile("/sys/module/apparmor/parameters/enabled")[0] == 'Y';
  StartNode();
  const auto report = view_->runtime().RuntimeStatus(After(view_->clock(), 30s));
  ASSERT_TRUE(report.ok());
  const bool handlers = !report->handlers.empty();
  if (!handlers) {
    ExpectRefused("  hostUsers: false\n", "UserNamespacesNotSupported",
                  "can't set `spec.hostUsers: false`, runtime does not support user namespaces");
  }
  if (!report->supplemental_groups_policy)
    ExpectRefused("  securityContext: {supplementalGroupsPolicy: Strict}\n",
                  "SupplementalGroupsPolicyNotSupported",
                  "SupplementalGroupsPolicy=Strict is not supported in this node");
  if (!apparmor)
    ExpectRefused("  securityContext: {appArmorProfile: {type: RuntimeDefault}}\n", "AppArmor",
                  "Cannot enforce AppArmor: AppArmor is not enabled on the host");
  ExpectRefused("  securityContext: {sysctls: [{name: net.core.somaxconn, value: '1'}]}\n",
                "SysctlForbidden", "forbidden sysctl: \"net.core.somaxconn\" not allowlisted");
  // Tested last, because its sandbox is created.
  if (!handlers)
    ExpectWaiting(
        harness::PodYaml("waits", "sleep 1000", "  volumes: [{name: v, emptyDir: {}}]\n") +
            "    volumeMounts: [{name: v, mountPath: /v, readOnly: true, recursiveReadOnly: "
            "Enabled}]\n",
        "CreateContainerConfigError");
}

/// If the runtime supports user namespaces; containerd does from 2.0 on, with a new kernel and
/// runc.
TEST_F(Secured, AUserNamespaceMapsRootToNobodyOfTheHost) {
  StartNode();
  const auto report = view_->runtime().RuntimeStatus(After(view_->clock(), 30s));
  ASSERT_TRUE(report.ok());
  const auto& handlers = report->handlers;
  if (std::none_of(handlers.begin(), handlers.end(),
                   [](const auto& h) { return h.name.empty() && h.user_namespaces; }))
    GTEST_SKIP() << "the runtime has no user namespaces";
  node_->PutManifest("web.yaml",
                     harness::PodYaml("web", "cat /proc/self/uid_map; echo done; sleep 1000",
                                      "  hostUsers: false\n"));
  const std::string text = Printed("web", "done");
  EXPECT_TRUE(std::regex_search(text, std::regex("0\\s+65536\\s+65536\n"))) << text;
}

}  // namespace
}  // namespace splitlet::e2e
