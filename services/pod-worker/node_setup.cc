#include "services/pod-worker/node_setup.h"

#include <string>

#include "libs/fs/shared_mount.h"
#include "services/pod-worker/node/sysctls.h"

namespace splitlet::pod_worker {

namespace {

/// Without it only what a container mounts for others is missing.
void ShareRoot(daemon::ServiceContext& context, const std::string& root_dir) {
  Status shared = context.files().MakeDirs(root_dir, 0750);
  if (shared.ok()) shared = fs::MakeShared(root_dir);
  if (!shared.ok())
    context.log().Warn("root directory is not a shared mount: Bidirectional propagation disabled",
                       {{"path", root_dir}, KV("err", shared)});
}

}  // namespace

NodeSetup::NodeSetup(const Deps& deps, const Config& config)
    : machine_({.loop = deps.context.loop(),
                .strands = deps.context.strands(),
                .files = deps.context.files(),
                .write = fs::WriteInPlace,
                .mounts = deps.mounts,
                .run = process::RunProgram,
                .events = deps.context.events(),
                .log = deps.context.log(),
                .node_name = config.node.name,
                .root_dir = config.node.pod_roots.root_dir},
               config.machine),
      pod_cidr_({.clock = deps.context.clock(),
                 .loop = deps.context.loop(),
                 .strands = deps.runtime_strands,
                 .runtime = deps.network,
                 .log = deps.context.log(),
                 .ending = deps.ending,
                 .api = deps.api},
                {.node_name = config.node.name,
                 .configured = deps.context.config().api.pod_cidr,
                 .call_limit = config.request_timeout}) {}

Status NodeSetup::Prepare(daemon::ServiceContext& context, const Config& config) {
  if (config.machine.checked_sysctls)
    RETURN_IF_ERROR(EnsureSysctls(context.files(), fs::WriteInPlace, SysctlRule::kCheck),
                    "protectKernelDefaults");
  if (config.machine.shared_root) ShareRoot(context, config.node.pod_roots.root_dir);
  return OkStatus();
}

void NodeSetup::Start() {
  machine_.Start();
  pod_cidr_.Start();
}

}  // namespace splitlet::pod_worker
