#include "ctl/commands/get.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <ostream>

#include "ctl/commands/find_pods.h"
#include "ctl/commands/pod_changes.h"
#include "ctl/show/describe.h"
#include "ctl/show/events.h"
#include "ctl/show/node.h"
#include "ctl/show/objects.h"
#include "ctl/show/processes.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/apiclient/client.h"
#include "libs/apiclient/connect.h"
#include "libs/base/log.h"
#include "libs/base/one_line.h"
#include "libs/bus/names.h"
#include "libs/daemon/api_server.h"
#include "libs/fs/real_file_system.h"
#include "libs/node/machine.h"
#include "libs/node/system_info.h"
#include "libs/operate/caller.h"
#include "libs/operate/client.h"
#include "libs/operate/pod_view.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::ctl {
namespace {

constexpr int kWatchMs = 300;

/// Errors are in the command's answer.
class NoLog final : public LogSink {
  bool Enabled(LogLevel) const override { return false; }
  void Write(LogLevel, std::string_view, const std::vector<LogField>&) override {}
};

PodSelector SelectorOf(const GetOptions& options,
                       operate::Client::Detail detail = operate::Client::Detail::kList) {
  return {.name = options.name, .name_space = options.name_space, .detail = detail};
}

/// Prints each pod when it appears or changes. Warns once about a process that is down.
Status WatchPods(const operate::Context& context, const GetOptions& options) {
  PodChanges changes(options);
  std::string last_error;
  while (!context.stopped()) {
    PodSelector selector = SelectorOf(options);
    selector.quiet = !changes.first();
    const auto pods = FindPods(context, selector);
    if (pods.status().code() == StatusCode::kPermissionDenied) return pods.status();
    const std::string error = pods.ok() ? "" : Message(pods.status());
    if (error != last_error && !error.empty()) context.err << "warning: " << OneLine(error) << "\n";
    last_error = error;
    if (pods.ok())
      context.out << changes.Take(*pods, context.client.clock().WallNow()) << std::flush;
    poll(nullptr, 0, kWatchMs);
  }
  return OkStatus();
}

Status CheckOutput(const std::string& output, std::initializer_list<std::string_view> allowed) {
  if (output.empty() || std::ranges::find(allowed, output) != allowed.end()) return OkStatus();
  std::string list;
  for (const auto word : allowed) list += (list.empty() ? "" : ", ") + std::string(word);
  return InvalidArgument("-o {}: want one of {}", output, list);
}

/// The node, from the record of `status` and from this machine; an empty `name` allows any. Leaves
/// out a field that neither source has.
StatusOr<std::shared_ptr<kube::Node>> ReadNode(const operate::Context& context,
                                               const std::string& name) {
  const auto table = context.client.ListTable("podstatus");
  if (!table.ok()) return table.status();
  const auto found = table->find(std::string(bus::kNodeKey));
  v1::PodStatusRecord record;
  if (found == table->end() || !record.ParseFromString(found->second))
    return Unavailable("status has not reported the node yet");
  if (!name.empty() && name != record.node().name())
    return NotFound("there is no node \"{}\" here: this is \"{}\"", name, record.node().name());
  fs::RealFileSystem files;
  NodeFacts facts{.system = node::ReadSystemInfo(files),
                  .architecture = std::string(node::Architecture())};
  const auto runtime = context.client.GetRuntimeVersion();
  if (!runtime.ok())
    Warn(context, {"cannot read the runtime's version: " + Message(runtime.status())});
  facts.runtime_version = runtime.value_or("");
  return MakeNode(record.node(), facts);
}

constexpr Duration kServerLimit = std::chrono::seconds{8};

/// The node, from the API server.
StatusOr<std::shared_ptr<kube::Node>> AskServer(const operate::Context& context,
                                                const GetOptions& options) {
  if (options.name.empty())
    return InvalidArgument(
        "--kubeconfig needs the name of a node: get node NAME --kubeconfig PATH");
  const Clock& clock = context.client.clock();
  fs::RealFileSystem files;
  NoLog silent;
  ASSIGN_OR_RETURN(const auto transport,
                   apiclient::Connect({.clock = clock,
                                       .files = files,
                                       .log = Log(silent),
                                       .kubeconfig = options.kubeconfig,
                                       .user_agent = daemon::UserAgentOf("ctl")}),
                   "--kubeconfig");
  apiclient::Client client(clock, *transport, {});
  auto node = std::make_shared<kube::Node>();
  RETURN_IF_ERROR(client.Get("/api/v1/nodes/" + apiclient::Escaped(options.name), node.get(),
                             After(clock, kServerLimit)),
                  "node {}", options.name);
  return node;
}

}  // namespace

Status GetPods(const operate::Context& context, const GetOptions& options) {
  if (!options.name.empty()) return GetPod(context, options);
  if (Status valid = CheckOutput(options.output, {"wide", "json", "yaml", "name"}); !valid.ok())
    return valid;
  if (options.watch) return WatchPods(context, options);
  const auto pods = FindPods(context, SelectorOf(options));
  if (!pods.ok()) return pods.status();
  if (options.output == "json")
    context.out << PodListJson(*pods);
  else if (options.output == "yaml")
    context.out << PodListYaml(*pods);
  else if (options.output == "name")
    context.out << NameLines(*pods);
  else if (pods->empty() && !options.name_space.empty())
    context.err << "no pods in namespace " << OneLine(options.name_space) << " on this node\n";
  else if (pods->empty())
    context.err << "no pods on this node\n";
  else
    context.out << PodTable(*pods, context.client.clock().WallNow(), TableOptions(options, *pods));
  return OkStatus();
}

Status GetPod(const operate::Context& context, const GetOptions& options) {
  if (Status valid = CheckOutput(options.output, {"wide", "json", "yaml", "name"}); !valid.ok())
    return valid;
  if (options.watch) return WatchPods(context, options);
  const auto pod = FindPod(context, SelectorOf(options));
  if (!pod.ok()) return pod.status();
  if (options.output == "json")
    context.out << PodJson(*pod);
  else if (options.output == "yaml")
    context.out << PodYaml(*pod);
  else if (options.output == "name")
    context.out << NameLines({*pod});
  else
    context.out << PodTable({*pod}, context.client.clock().WallNow(),
                            TableOptions(options, {*pod}));
  return OkStatus();
}

Status DescribePodCommand(const operate::Context& context, const GetOptions& options) {
  const auto pod = FindPod(context, SelectorOf(options, operate::Client::Detail::kAll));
  if (!pod.ok()) return pod.status();
  auto events = context.client.ListEvents(pod->uid);
  if (!events.ok()) {
    Warn(context, {"no events: " + Message(events.status())});
    events = std::vector<std::shared_ptr<v1::EventRecord>>{};
  }
  context.out << DescribePod(*pod, *events, context.client.clock().WallNow());
  return OkStatus();
}

Status GetNode(const operate::Context& context, const GetOptions& options) {
  if (Status valid = CheckOutput(options.output, {"wide", "json", "yaml", "name"}); !valid.ok())
    return valid;
  const auto node =
      options.kubeconfig.empty() ? ReadNode(context, options.name) : AskServer(context, options);
  if (!node.ok()) return node.status();
  const ApiObject object{"Node", **node};
  const bool one = !options.name.empty();
  if (options.output == "json")
    context.out << (one ? ObjectJson(object) : ListJson({object}));
  else if (options.output == "yaml")
    context.out << (one ? ObjectYaml(object) : ListYaml({object}));
  else if (options.output == "name")
    context.out << "node/" << OneLine((*node)->metadata().name()) << "\n";
  else
    context.out << NodeTable(**node, context.client.clock().WallNow(),
                             {.wide = options.output == "wide", .header = !options.no_headers});
  return OkStatus();
}

Status DescribeNodeCommand(const operate::Context& context, const GetOptions& options) {
  const auto node = ReadNode(context, options.name);
  if (!node.ok()) return node.status();
  operate::NodePods pods = context.client.ListPods(operate::Client::Detail::kList);
  Warn(context, pods.problems);
  EventList events;
  if (auto all = context.client.ListEvents(""); !all.ok())
    Warn(context, {"no events: " + Message(all.status())});
  else
    events = ChooseEvents(*all, {.kind = "Node"});
  context.out << DescribeNode(**node, pods.pods, events, context.client.clock().WallNow());
  return OkStatus();
}

Status GetEvents(const operate::Context& context, const GetEventsOptions& options) {
  if (Status valid = CheckOutput(options.output, {"wide", "json", "yaml"}); !valid.ok())
    return valid;
  if (Status valid = CheckEventTypes(options.types); !valid.ok()) return valid;
  EventFilter filter;
  if (!options.object.empty()) {
    ASSIGN_OR_RETURN(filter, ParseEventObject(options.object), "events of one object");
  }
  filter.name_space = options.name_space;
  filter.types = options.types;
  const auto all = context.client.ListEvents("");
  if (!all.ok()) return all.status();
  const EventList events = ChooseEvents(*all, filter);
  const bool several = std::ranges::any_of(events, [&events](const auto& event) {
    return event->namespace_() != events.front()->namespace_();
  });
  if (options.output == "json")
    context.out << EventListJson(events);
  else if (options.output == "yaml")
    context.out << EventListYaml(events);
  else if (events.empty())
    context.err << "No events found.\n";
  else
    context.out << EventTable(events, context.client.clock().WallNow(),
                              {.wide = options.output == "wide",
                               .namespaces = options.all_namespaces || several,
                               .header = !options.no_headers});
  return OkStatus();
}

Status GetProcesses(const operate::Context& context, const std::string& output) {
  if (Status valid = CheckOutput(output, {"wide", "json"}); !valid.ok()) return valid;
  const auto processes = context.client.ListProcesses();
  const WallTime now = context.client.clock().WallNow();
  context.out << (output == "json" ? ProcessJson(processes, now) : ProcessTable(processes, now));
  if (std::ranges::all_of(processes, &operate::ProcessView::refused))
    return PermissionDenied("no process answers this user: {}", operate::kWhoMayAsk);
  // "desired incomplete" alone does not say which manifest is broken.
  const bool listed = std::ranges::any_of(processes, [](const operate::ProcessView& view) {
    return view.name == "config-source" && view.info != nullptr;
  });
  if (output == "json" || !listed) return OkStatus();
  const auto sources = context.client.GetSources();
  if (sources.ok())
    for (const auto& source : (*sources)->sources())
      for (const auto& problem : source.problems())
        context.out << OneLine(fmt::format("source {}: {}: {}", source.name(), problem.where(),
                                           ReasonOf(problem)))
                    << "\n";
  return OkStatus();
}

Status GetSources(const operate::Context& context, const std::string& output) {
  if (Status valid = CheckOutput(output, {"wide", "json"}); !valid.ok()) return valid;
  const auto sources = context.client.GetSources();
  if (!sources.ok()) return sources.status();
  const WallTime now = context.client.clock().WallNow();
  context.out << (output == "json" ? SourceJson(**sources) : SourceTable(**sources, now));
  return OkStatus();
}

}  // namespace splitlet::ctl
