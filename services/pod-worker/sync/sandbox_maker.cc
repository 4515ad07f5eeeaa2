#include "services/pod-worker/sync/sandbox_maker.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/fail_point.h"
#include "libs/base/trace.h"
#include "libs/kube/user_namespace.h"
#include "runtime/v1/api.pb.h"
#include "services/pod-worker/runtime_config/dns.h"
#include "services/pod-worker/runtime_config/sandbox.h"
#include "services/pod-worker/sync/container_logs.h"

namespace splitlet::pod_worker {

namespace {

bool AsksOfHandler(const kube::Pod& pod) {
  const auto recursive = [](const kube::Container& container) {
    const auto& mounts = container.volume_mounts();
    return std::any_of(mounts.begin(), mounts.end(), [](const auto& mount) {
      return !mount.recursive_read_only().empty() && mount.recursive_read_only() != "Disabled";
    });
  };
  const auto& spec = pod.spec();
  return kube::HasUserNamespace(spec) ||
         std::any_of(spec.init_containers().begin(), spec.init_containers().end(), recursive) ||
         std::any_of(spec.containers().begin(), spec.containers().end(), recursive);
}

}  // namespace

StatusOr<runtime::v1::PodSandboxConfig> SandboxMaker::Configure(uint32_t attempt, bool make) {
  RETURN_IF_ERROR(FindCgroup(make), "cgroup");
  const Status chosen = ChooseHandler(make);
  auto config =
      chosen.ok() ? MakeConfig(attempt, make) : StatusOr<runtime::v1::PodSandboxConfig>(chosen);
  if (!config.ok())
    events_.Warning("FailedCreatePodSandBox",
                    fmt::format("Failed to create pod sandbox: {}", Message(config.status())));
  return config;
}

/// `make`: for a sandbox that is to be made.
Status SandboxMaker::FindCgroup(bool make) {
  auto parent = make ? deps_.cgroups.Ensure(pod_) : deps_.cgroups.ParentOf(pod_.metadata().uid());
  if (!parent.ok()) {
    events_.Warning(
        "FailedCreatePodContainer",
        fmt::format("unable to ensure pod container exists: {}", Message(parent.status())));
    return parent.status();
  }
  cgroup_parent_ = std::move(parent).value();
  return OkStatus();
}

StatusOr<runtime::v1::PodSandboxConfig> SandboxMaker::MakeConfig(uint32_t attempt, bool make) {
  Dns host;
  if (deps_.node.resolver_config.empty()) {
    host.servers = {"127.0.0.1"};
    host.searches = {"."};
  } else {
    ASSIGN_OR_RETURN(const auto text,
                     deps_.files.Read(deps_.node.resolver_config, kMaxResolverFile), "read {}",
                     deps_.node.resolver_config);
    ASSIGN_OR_RETURN(host, ParseResolverFile(text), "{}", deps_.node.resolver_config);
  }
  const PodDns dns = MakeDns(pod_, deps_.node, host);
  if (make)
    for (const auto& warning : dns.warnings) events_.Warning(warning.reason, warning.message);
  runtime::v1::PodSandboxConfig config;
  std::optional<kube::Pod> with_overhead;
  for (const auto& [resource, amount] : runtime_.overhead) {
    if (!with_overhead) with_overhead = pod_;
    (*with_overhead->mutable_spec()->mutable_overhead())[resource].set_string(amount);
  }
  const kube::Pod& pod = with_overhead ? *with_overhead : pod_;
  const Status made = MakeSandboxConfig(
      {pod, deps_.node, dns.dns, attempt, input_.incarnation, isolation_, cgroup_parent_}, config);
  if (!made.ok()) return made;  // its words are those of an event
  return config;
}

StatusOr<cri::Sandbox> SandboxMaker::Create(const runtime::v1::PodSandboxConfig& config,
                                            uint32_t attempt) {
  if (Ending()) return Cancelled("the pod is ending");
  if (Status made = MakeLogDir(deps_.files, deps_.node, config.log_directory()); !made.ok()) {
    events_.Warning("FailedCreatePodSandBox",
                    fmt::format("Failed to create pod sandbox: {}", Message(made)));
    return made;
  }
  const bool own_users = kube::HasUserNamespace(pod_.spec());
  deps_.metrics.CountPod(own_users);
  const Clock::Time begin = deps_.clock.Now();
  auto id = Run(config, attempt);
  if (id.status().code() == StatusCode::kCancelled && Ending()) return id.status();
  deps_.metrics.ObserveSandbox(runtime_.handler, deps_.clock.Now() - begin, id.ok());
  if (!id.ok()) {
    deps_.metrics.CountPodError(own_users);
    return Fail(id.status());
  }
  deps_.log.Info(
      "sandbox created",
      {KV("pod", kube::PodKey(pod_)), KV("podUID", pod_.metadata().uid()), KV("sandboxID", *id),
       KV("attempt", attempt), KV(kTraceIdField, TraceIdOf(input_.traceparent))});
  if (pod_.spec().host_network()) return cri::Sandbox{.id = *id};
  auto status = deps_.reader.PodSandboxStatus(*id, Soon());
  if (!status.ok() && !Ending())
    events_.Warning("FailedPodSandBoxStatus",
                    fmt::format("Unable to get pod sandbox status: {}", Message(status.status())));
  return status;
}

/// The class of a pod that has its sandbox may be gone. The runtime is asked only where the pod
/// asks for what one handler can and another cannot.
Status SandboxMaker::ChooseHandler(bool for_sandbox) {
  const bool asks = AsksOfHandler(pod_);
  if (!asks && !for_sandbox) return OkStatus();
  auto chosen = ChooseRuntime(pod_, input_.objects.get());
  if (!chosen.ok()) return chosen.status();
  runtime_ = std::move(chosen).value();
  if (!asks) return OkStatus();
  const std::string& name = runtime_.handler;
  ASSIGN_OR_RETURN(const auto report, deps_.reader.RuntimeStatus(Soon()), "features");
  const auto& handlers = report.handlers;
  const auto found = std::find_if(handlers.begin(), handlers.end(),
                                  [&name](const auto& handler) { return handler.name == name; });
  const cri::RuntimeHandler handler = found == handlers.end() ? cri::RuntimeHandler{} : *found;
  isolation_.recursive_read_only = handler.recursive_read_only_mounts;
  if (!kube::HasUserNamespace(pod_.spec())) return OkStatus();
  isolation_.user_ids = input_.user_ids;
  CHECK(isolation_.user_ids, "no ids were given to {}", pod_.metadata().uid());
  if (handler.user_namespaces) return OkStatus();
  return FailedPrecondition(
      "can't set `spec.hostUsers: false`, {} does not support user namespaces",
      name.empty() ? "runtime" : fmt::format("RuntimeClass handler \"{}\"", name));
}

StatusOr<cri::SandboxId> SandboxMaker::Run(const runtime::v1::PodSandboxConfig& config,
                                           uint32_t attempt) {
  FAIL_POINT("pod-worker.create-sandbox.before");
  out_.acted = true;
  auto id = deps_.runner.RunPodSandbox(config, runtime_.handler, {Soon(2).at, input_.ending});
  FAIL_POINT("pod-worker.create-sandbox.after");
  if (id.status().code() != StatusCode::kAlreadyExists) return id;
  // A call whose answer was lost made it: it is this one, or the runtime is still cleaning up.
  ASSIGN_OR_RETURN(const auto listed, deps_.reader.ListPodSandbox(pod_.metadata().uid(), Soon()),
                   "find the sandbox");
  for (const auto& sandbox : listed)
    if (sandbox.attempt == attempt && sandbox.state == cri::SandboxState::kReady) return sandbox.id;
  return Aborted("the name of the sandbox is still reserved");
}

Status SandboxMaker::Fail(const Status& why) {
  if (Ending()) return Cancelled("the pod is ending");
  const auto report = deps_.reader.RuntimeStatus(Soon());
  if (report.ok() && !pod_.spec().host_network()) {
    for (const auto& condition : report->conditions) {
      if (condition.type != "NetworkReady" || condition.status) continue;
      out_.trouble = SyncTrouble::kNetworkNotReady;
      const std::string text = fmt::format(
          "network is not ready: container runtime network not ready: "
          "NetworkReady=false reason:{} message:{}",
          condition.reason, condition.message);
      events_.Warning("NetworkNotReady", text);
      return Unavailable(text);
    }
  }
  events_.Warning("FailedCreatePodSandBox",
                  fmt::format("Failed to create pod sandbox: {}", Message(why)));
  return Annotate(why, "create sandbox");
}

}  // namespace splitlet::pod_worker
