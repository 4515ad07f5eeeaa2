#include "services/pod-worker/parts.h"

#include <set>
#include <utility>

#include "libs/bus/bus.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

SyncDeps DepsOfSync(GroundParts& p) {
  return {.reader = p.deps.runtime.reader,
          .observer = p.observer,
          .runner = p.deps.runtime.runner,
          .remover = p.deps.runtime.remover,
          .images = p.deps.runtime.images,
          .files = p.deps.disk.files,
          .volumes = p.volumes,
          .cgroups = p.cgroups,
          .read_within = p.deps.disk.read_within,
          .records = p.records,
          .pull_records = p.pull_records,
          .access_policy = p.config.image_access,
          .clock = p.deps.env.clock,
          .node = p.config.node,
          .events = p.deps.events,
          .metrics = p.metrics,
          .log = p.deps.env.log,
          .request_timeout = p.config.request_timeout};
}

VolumeManager::Deps VolumeDeps(GroundParts& p) {
  return {.files = p.deps.disk.files,
          .mounts = p.deps.disk.mounts,
          .ownership = p.deps.disk.ownership,
          .clock = p.deps.env.clock,
          .node = p.config.node,
          .log = p.deps.env.log,
          .metrics = p.metrics,
          .run = p.deps.run_program,
          .programs = p.deps.programs};
}

PodCgroups::Deps CgroupDeps(GroundParts& p) {
  return {.kernel = p.deps.kernel,
          .files = p.deps.disk.files,
          .node = p.config.node,
          .clock = p.deps.env.clock,
          .metrics = p.metrics,
          .log = p.deps.env.log,
          .marks_dir = p.config.run_dir + "/pod-worker/cgroups",
          .slices = p.deps.slices};
}

DriverRegistry::Deps DriverDeps(GroundParts& p) {
  return {
      .env = p.deps.env,
      .podstatus = p.deps.podstatus,
      .has_api_server = p.deps.api_objects != nullptr,
      .connect =
          [&p](const std::string& driver, const std::string& socket_path) {
            return p.deps.plugins->connect(socket_path, [&p, driver](const csi::CallEnd& end) {
              p.plugins.driver_metrics.Observe(driver, end);
            });
          },
      .on_changed =
          [&p] {
            p.node_record.Change([&p](v1::WorkerNode& node) { p.plugins.drivers.FillNode(node); });
          }};
}

/// A registration has no limit: it waits for status and the API server, which may be away.
plugins::PluginRegistry::Deps PluginDeps(GroundParts& p) {
  return {.env = p.deps.env,
          .files = p.deps.disk.files,
          .client = p.deps.plugins->registration,
          .make_watcher = p.deps.plugins->make_watcher,
          .handlers = {{plugins::kCsiPlugin, &p.plugins.drivers}},
          .directory = p.config.node.pod_roots.root_dir + "/plugins_registry",
          .limits = {.registration = std::nullopt}};
}

}  // namespace

PluginParts::PluginParts(GroundParts& ground)
    : driver_metrics(ground.deps.env.metrics), drivers(DriverDeps(ground)) {
  if (ground.deps.plugins) registry.emplace(PluginDeps(ground));
}

void PluginParts::Start() {
  if (!registry) return;
  drivers.Start();
  registry->Start();
}

GroundParts::GroundParts(Deps given, Config settings)
    : deps(std::move(given)),
      config(std::move(settings)),
      records(deps.disk.files, deps.env.clock, config.run_dir, config.state_dir),
      pull_records(deps.disk.files, deps.env.clock, config.node.pod_roots.root_dir),
      node_credentials(deps.disk.files, config.node.pod_roots.root_dir, config.home),
      metrics(deps.env.metrics),
      observer({deps.runtime.reader, deps.env.clock, deps.runtime.read_tail}),
      node_record(deps.table, deps.env.log),
      plugins(*this),
      volumes(VolumeDeps(*this)),
      cgroups(CgroupDeps(*this), config.cgroups),
      sync(DepsOfSync(*this)),
      runtime({.observer = observer,
               .runner = deps.runtime.runner,
               .long_calls = deps.runtime.long_calls,
               .clock = deps.env.clock,
               .events = deps.events,
               .request_timeout = config.request_timeout}),
      random(deps.seed),
      objects(deps.objects, deps.api_objects),
      user_ids(config.user_ids) {}

namespace {

NodeAddresses::Deps AddressDeps(GroundParts& p, PodLoop& loop) {
  return {.env = p.deps.env,
          .podstatus = p.deps.podstatus,
          .save = [&p](const std::vector<std::string>& ips) { return p.records.SaveNodeIps(ips); },
          .on_changed = [&loop] { loop.OnAddresses(); }};
}

WorkerStore::Deps StoreDeps(GroundParts& p, PodLoop& loop) {
  return {.env = p.deps.env,
          .table = p.deps.table,
          .records = p.records,
          .workers = p.workers,
          .pods = loop};
}

CredentialProviders::Deps ProviderDeps(GroundParts& p) {
  ApiCache* const api = p.deps.api_objects;
  return {.clock = p.deps.env.clock,
          .strands = p.deps.runtime_strands,
          .run = p.deps.run_program,
          .metrics = p.metrics,
          .log = p.deps.env.log,
          .loop = p.deps.env.loop,
          .accounts = api == nullptr ? nullptr : &api->accounts()};
}

ImagePuller::Deps PullerDeps(GroundParts& p, StepParts& steps, PodLoop& loop) {
  return {.env = p.RuntimeEnv(),
          .images = p.deps.runtime.images,
          .long_calls = p.deps.runtime.long_calls,
          .events = p.deps.events,
          .metrics = p.metrics,
          .random = p.random,
          .node = p.config.node,
          .records = p.pull_records,
          .node_credentials = p.node_credentials,
          .providers = steps.providers,
          .objects = [&p](const Worker& worker) { return p.objects.View(worker); },
          .request_timeout = p.config.request_timeout,
          .waiting = [&loop](const PullRequest& pull) { return loop.WaitingFor(pull); },
          .on_pulled = [&loop](Worker& worker,
                               const PullResult& result) { loop.OnPulled(worker, result); }};
}

PullQueue::Options PullLimits(const Config& config) {
  return {.per_second = static_cast<double>(config.registry_qps),
          .burst = static_cast<double>(config.registry_burst),
          .at_once = config.parallel_pulls};
}

ProbeScheduler::Deps ProbeDeps(GroundParts& p, StepParts& steps) {
  return {.env = p.deps.env,
          .commands = steps.exec_prober,
          .network = steps.network_prober,
          .results = steps.probe_results,
          .events = p.deps.events,
          .metrics = p.metrics,
          .random = p.random,
          .node_ips = steps.addresses.Get()};
}

ResyncTimer::Deps ResyncDeps(GroundParts& p, PodLoop& loop) {
  return {.env = p.RuntimeEnv(),
          .observer = p.observer,
          .random = p.random,
          .request_timeout = p.config.request_timeout,
          .period = p.config.sync_frequency,
          .pods = loop};
}

PodTerminator::Deps TerminatorDeps(GroundParts& p, StepParts& steps, PodLoop& loop) {
  return {
      .env = p.RuntimeEnv(),
      .runtime = p.runtime,
      .volumes = p.volumes,
      .cgroups = p.cgroups,
      .node = p.config.node,
      .events = p.deps.events,
      .metrics = p.metrics,
      .random = p.random,
      .workers = p.workers,
      .store = steps.store,
      .hooks = steps.hooks,
      .records = p.records,
      .stopped_sandboxes = p.stopped_sandboxes,
      .on_ended = [&steps](const std::string& uid,
                           const std::set<std::string>& ids) { steps.probes.OnEnded(uid, ids); },
      .pods = loop};
}

SyncRunner::Deps SyncRunnerDeps(GroundParts& p, StepParts& steps, PodLoop& loop) {
  return {.env = p.RuntimeEnv(),
          .sync = p.sync,
          .objects = [&p](const Worker& worker) { return p.objects.View(worker); },
          .node_ips = steps.addresses.Get(),
          .records = p.records,
          .metrics = p.metrics,
          .random = p.random,
          .workers = p.workers,
          .store = steps.store,
          .puller = steps.puller,
          .hooks = steps.hooks,
          .events = p.deps.events,
          .resyncs = steps.resyncs,
          .end = [&steps](Worker& worker) { steps.terminator.Kill(worker, {}); },
          .stop_containers =
              [&steps](Worker& worker, StopSteps stops) {
                steps.terminator.StopContainers(worker, std::move(stops));
              },
          .pods = loop};
}

}  // namespace

StepParts::StepParts(GroundParts& p, PodLoop& loop)
    : addresses(AddressDeps(p, loop)),
      store(StoreDeps(p, loop)),
      providers(ProviderDeps(p), p.config.credential_providers),
      puller(PullerDeps(p, *this, loop), PullLimits(p.config)),
      probe_results({.env = p.deps.env,
                     .records = p.records,
                     .on_published = [&loop](const std::string& uid,
                                             bool decides) { loop.OnProbed(uid, decides); }}),
      exec_prober({.clock = p.deps.env.clock,
                   .loop = p.deps.env.loop,
                   .calls = p.deps.runtime.long_calls,
                   .request_timeout = p.config.request_timeout}),
      network_prober({.clock = p.deps.env.clock, .loop = p.deps.env.loop, .caller = p.deps.http}),
      probes(ProbeDeps(p, *this)),
      hooks({.env = p.RuntimeEnv(),
             .long_calls = p.deps.runtime.long_calls,
             .http = p.deps.http,
             .metrics = p.metrics}),
      resyncs(ResyncDeps(p, loop)),
      terminator(TerminatorDeps(p, *this, loop)),
      syncs(SyncRunnerDeps(p, *this, loop)) {}

namespace {

RemovalHolds::Deps HoldDeps(GroundParts& p, PodLoop& loop) {
  return {.env = p.deps.env,
          .reader = p.deps.runtime.reader,
          .records = p.records,
          .stopped_sandboxes = p.stopped_sandboxes,
          .request_timeout = p.config.request_timeout,
          .need = [&loop](const std::string& uid) { return loop.NeedOf(uid); },
          .pods = loop};
}

LeftVolumes::Deps LeftVolumesDeps(GroundParts& p, PodLoop& loop) {
  return {
      .env = p.RuntimeEnv(),
      .runtime = p.runtime,
      .volumes = p.volumes,
      .pods = loop,
      .is_over = [&loop](const std::string& uid) { return loop.NeedOf(uid) == PodNeed::kNothing; }};
}

UnreadableRecords::Deps UnreadableDeps(GroundParts& p, ControlParts::Calls& calls) {
  return {.env = p.deps.env,
          .desired = p.deps.desired,
          .table = p.deps.table,
          .reader = p.deps.runtime.reader,
          .owner = p.deps.owner,
          .records = p.records,
          .request_timeout = p.config.request_timeout,
          .crash_loop_max = p.config.crash_loop_max,
          .on_discarded = std::move(calls.on_discarded)};
}

FoundIncarnations::Deps FoundDeps(GroundParts& p, ControlParts& control) {
  return {.env = p.deps.env,
          .runtime_strands = p.deps.runtime_strands,
          .desired = p.deps.desired,
          .table = p.deps.table,
          .owner = control.confirmation,
          .records = p.records,
          .runtime = p.runtime,
          .workers = p.workers,
          .unreadable = control.unreadable};
}

GonePods::Deps GoneDeps(GroundParts& p, StepParts& steps, ControlParts& control) {
  return {.env = p.deps.env,
          .runtime_strands = p.deps.runtime_strands,
          .desired = p.deps.desired,
          .table = p.deps.table,
          .owner = control.confirmation,
          .runtime = p.runtime,
          .volumes = p.volumes,
          .workers = p.workers,
          .store = steps.store,
          .found = control.found};
}

/// The parts below, for those that need many of them.
struct Below {
  GroundParts& ground;
  StepParts& steps;
  PodLoop& loop;
};

RequestHandler::Deps RequestDeps(const Below& below, ControlParts& control,
                                 const ControlParts::Calls& calls) {
  GroundParts& p = below.ground;
  return {.clock = p.deps.env.clock,
          .loop = p.deps.env.loop,
          .strands = p.deps.runtime_strands,
          .runtime = p.runtime,
          .desired = p.deps.desired,
          .table = p.deps.table,
          .events = p.deps.events,
          .metrics = p.metrics,
          .log = p.deps.env.log,
          .workers = p.workers,
          .store = below.steps.store,
          .found = control.found,
          .gate = control.gate,
          .terminator = below.steps.terminator,
          .checker = control.checker,
          .owner = control.confirmation,
          .is_unreadable =
              [&control](const std::string& key) { return control.unreadable.Contains(key); },
          .add = calls.add,
          .pods = below.loop};
}

Recovery::Deps RecoveryDeps(const Below& below, ControlParts& control,
                            const ControlParts::Calls& calls) {
  GroundParts& p = below.ground;
  return {.env = p.deps.env,
          .reader = p.deps.runtime.reader,
          .records = p.records,
          .request_timeout = p.config.request_timeout,
          .crash_loop_max = p.config.crash_loop_max,
          .workers = p.workers,
          .store = below.steps.store,
          .found = control.found,
          .terminator = below.steps.terminator,
          .probes = below.steps.probe_results,
          .add = calls.add,
          .on_read = calls.on_read,
          .on_listed = calls.on_listed,
          .pods = below.loop};
}

CgroupKeeper::Deps KeeperDeps(GroundParts& p, ControlParts& control) {
  return {.env = p.deps.env,
          .runtime_strands = p.deps.runtime_strands,
          .reader = p.deps.runtime.reader,
          .cgroups = p.cgroups,
          .workers = p.workers,
          .events = p.deps.events,
          .node_name = p.config.node.name,
          .memory_qos = p.config.node.memory_qos,
          .request_timeout = p.config.request_timeout,
          .is_forgotten = [&p, &control](const std::string& uid) {
            return p.workers.Find(uid) == nullptr && !control.unreadable.Contains(bus::KeyOf(uid));
          }};
}

}  // namespace

ControlParts::ControlParts(GroundParts& p, StepParts& steps, PodLoop& loop, Calls calls)
    : holds(HoldDeps(p, loop)),
      left_volumes(LeftVolumesDeps(p, loop)),
      unreadable(UnreadableDeps(p, calls)),
      gate({.env = p.RuntimeEnv(), .runtime = p.runtime, .workers = p.workers, .pods = loop}),
      confirmation({.env = p.deps.env, .owner = p.deps.owner}),
      found(FoundDeps(p, *this)),
      gone(GoneDeps(p, steps, *this)),
      checker({.clock = p.deps.env.clock,
               .loop = p.deps.env.loop,
               .strands = p.deps.env.strands,
               .desired = p.deps.desired,
               .owner = p.deps.owner,
               .metrics = p.metrics,
               .log = p.deps.env.log}),
      requests(RequestDeps({p, steps, loop}, *this, calls)),
      recovery(RecoveryDeps({p, steps, loop}, *this, calls)),
      keeper(KeeperDeps(p, *this)) {}

PodLoop::Deps PodLoopDeps(GroundParts& p, StepParts& steps, ControlParts& control) {
  return {.env = p.deps.env,
          .desired = p.deps.desired,
          .events = p.deps.events,
          .workers = p.workers,
          .objects = p.objects,
          .user_ids = p.user_ids,
          .store = steps.store,
          .puller = steps.puller,
          .probes = steps.probes,
          .probe_results = steps.probe_results,
          .resyncs = steps.resyncs,
          .terminator = steps.terminator,
          .syncs = steps.syncs,
          .holds = control.holds,
          .unreadable = control.unreadable,
          .gate = control.gate,
          .gone = control.gone,
          .requests = control.requests,
          .recovery = control.recovery,
          .keeper = control.keeper};
}

}  // namespace splitlet::pod_worker
