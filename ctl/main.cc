#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

#include "ctl/chaos_program.h"
#include "ctl/commands_admin.h"
#include "ctl/commands_bus.h"
#include "ctl/commands_exec.h"
#include "ctl/commands_get.h"
#include "ctl/commands_logs.h"
#include "ctl/commands_process.h"
#include "ctl/completion.h"
#include "ctl/kubectl_words.h"
#include "ctl/run_once.h"
#include "libs/operate/command_line.h"

namespace {

using namespace splitlet;       // NOLINT(google-build-using-namespace): the whole file is wiring
using namespace splitlet::ctl;  // NOLINT(google-build-using-namespace): the whole file is wiring

struct Arguments {
  std::optional<std::string> top;
  GetOptions get;
  GetEventsOptions get_events;
  LogsOptions logs;
  ExecOptions exec, attach;
  EventOptions events;
  FaultOptions fault;
  std::string uid;
  std::vector<std::string> log_level;
  ProcessOptions process;
  std::string trace_since = "1h", once_timeout = "5m";
  std::string shell, runtime_endpoint;
  bool dry_run = false;
};

using operate::Command;

/// For a process that was killed a moment ago: until its supervisor has started it again.
constexpr Duration kPatience = 5s;

void AddPodFlags(CLI::App& app, Arguments& a) {
  app.add_option("-o,--output", a.get.output, "wide, json or yaml");
  app.add_option("-n,--namespace", a.get.name_space, "Only this namespace");
  app.add_flag("-A,--all-namespaces", a.get.all_namespaces, "Show the column NAMESPACE");
  app.add_flag("-w,--watch", a.get.watch, "Print pods as they change");
  app.add_flag("--no-headers", a.get.no_headers, "Rows only");
}

void DeclareGetEvents(CLI::App& get, Arguments& a, Command& run) {
  CLI::App* events = get.add_subcommand("events",
                                        "What happened to pods and the node in the last hour, "
                                        "the latest at the end")
                         ->alias("event")
                         ->alias("ev");
  events->add_option("--for", a.get_events.object, "Only of this object: pod/NAME or node/NAME");
  events->add_option("-n,--namespace", a.get_events.name_space, "Only this namespace");
  events->add_option("--types", a.get_events.types, "Only these types: Warning, Normal")
      ->delimiter(',');
  events->add_option("-o,--output", a.get_events.output, "wide, json or yaml");
  events->add_flag("-A,--all-namespaces", a.get_events.all_namespaces, "Show the column NAMESPACE");
  events->add_flag("--no-headers", a.get_events.no_headers, "Rows only");
  events->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetEvents(c, a.get_events); }; });
}

void DeclareGet(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* get = app.add_subcommand("get", "Show pods, the node, events, processes or sources");
  get->require_subcommand(1);
  CLI::App* pods = get->add_subcommand("pods", "Every pod of this node, or one")->alias("po");
  pods->add_option("name", a.get.name);
  AddPodFlags(*pods, a);
  pods->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetPods(c, a.get); }; });
  CLI::App* pod = get->add_subcommand("pod", "One pod, by name, namespace/name or UID");
  pod->add_option("name", a.get.name)->required();
  AddPodFlags(*pod, a);
  pod->callback([&a, &run] { run = [&a](const operate::Context& c) { return GetPod(c, a.get); }; });
  CLI::App* node = get->add_subcommand("node", "This node")->alias("nodes")->alias("no");
  node->add_option("name", a.get.name);
  node->add_option("--kubeconfig", a.get.kubeconfig,
                   "Ask this API server for the node named, not the processes of this one");
  node->add_option("-o,--output", a.get.output, "wide, json, yaml or name");
  node->add_flag("--no-headers", a.get.no_headers, "Rows only");
  node->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetNode(c, a.get); }; });
  DeclareGetEvents(*get, a, run);
  CLI::App* processes =
      get->add_subcommand("processes", "The processes of this node and how they fare");
  processes->add_option("-o,--output", a.get.output, "json");
  processes->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return GetProcesses(c, a.get.output); };
  });
  CLI::App* sources =
      get->add_subcommand("sources", "Where pods come from, and what is wrong there");
  sources->add_option("-o,--output", a.get.output, "json");
  sources->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return GetSources(c, a.get.output); };
  });
}

void DeclarePod(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* describe =
      app.add_subcommand("describe", "Everything about a pod, or the node")->require_subcommand(1);
  CLI::App* pod = describe->add_subcommand("pod", "By name, namespace/name or UID");
  pod->add_option("name", a.get.name)->required();
  pod->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DescribePodCommand(c, a.get); };
  });
  CLI::App* node =
      describe->add_subcommand("node", "Its conditions, resources, system, pods and events");
  node->add_option("name", a.get.name);
  node->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DescribeNodeCommand(c, a.get); };
  });
  CLI::App* trace =
      app.add_subcommand("trace", "A pod's way through the processes, in milliseconds")
          ->require_subcommand(1);
  CLI::App* traced = trace->add_subcommand("pod", "By name, namespace/name or UID");
  traced->add_option("name", a.get.name)->required();
  traced->add_option("--since", a.trace_since, "How far back")->capture_default_str();
  traced->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return TracePod(c, a.get.name, a.trace_since); };
  });
}

void DeclareLogs(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* logs = app.add_subcommand("logs", "What a container, or a process, has written");
  logs->add_option("pod", a.logs.pod, "By name, namespace/name or UID");
  logs->add_option("-c,--container", a.logs.container,
                   "Default: that of the pod's annotation, else its first");
  logs->add_option("-n,--namespace", a.logs.name_space, "Only this namespace");
  logs->add_flag("-f,--follow", a.logs.follow, "On, until the container ends");
  logs->add_flag("-p,--previous", a.logs.previous, "Of its run before this one");
  logs->add_option("--since", a.logs.since, "Not what is older: 5m");
  logs->add_option("--since-time", a.logs.since_time, "Not what is older: 2026-01-02T03:04:05Z");
  logs->add_option("--tail", a.logs.tail, "The last lines only");
  logs->add_option("--limit-bytes", a.logs.limit_bytes, "No more bytes than these");
  logs->add_flag("--timestamps", a.logs.timestamps, "Before each line");
  logs->add_option("--process", a.logs.process, "A process, nats or containerd");
  logs->callback([&a, &run] { run = [&a](const operate::Context& c) { return Logs(c, a.logs); }; });
}

void DeclareExec(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* exec = app.add_subcommand("exec", "Run a command in a container: exec -it POD -- sh");
  exec->add_option("pod", a.exec.pod, "By name, namespace/name or UID")->required();
  exec->add_option("command", a.exec.words, "After --: it and its arguments");
  exec->add_option("-c,--container", a.exec.container,
                   "Default: that of the pod's annotation, else its first");
  exec->add_option("-n,--namespace", a.exec.name_space, "Only this namespace");
  exec->add_flag("-i,--stdin", a.exec.input, "Give it our input");
  exec->add_flag("-t,--tty", a.exec.tty, "In a terminal");
  exec->callback([&a, &run] { run = [&a](const operate::Context& c) { return Exec(c, a.exec); }; });
  CLI::App* attach =
      app.add_subcommand("attach", "Show what a container writes from now on, until it ends");
  attach->add_option("pod", a.attach.pod, "By name, namespace/name or UID")->required();
  attach->add_option("-c,--container", a.attach.container,
                     "Default: that of the pod's annotation, else its first");
  attach->add_option("-n,--namespace", a.attach.name_space, "Only this namespace");
  attach->add_flag("-i,--stdin", a.attach.input, "Give it our input, where it takes any");
  attach->add_flag("-t,--tty", a.attach.tty, "In a terminal, where it has one");
  attach->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return Attach(c, a.attach); }; });
}

void DeclareBus(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* events = app.add_subcommand("events", "What flows on the bus");
  events->add_flag("-f,--follow", a.events.follow, "As it flows");
  events->add_option("--since", a.events.since, "From the flight recorder: 10m");
  events->add_flag("--heartbeats", a.events.heartbeats, "Also the heartbeats of the tables");
  events->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return Events(c, a.events); }; });
  CLI::App* recorder = app.add_subcommand("recorder", "The flight recorder")->require_subcommand(1);
  recorder->add_subcommand("run", "Write what flows into files, until it is told to end")
      ->callback([&run] { run = RunRecorder; });
}

void DeclareRecord(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* record =
      app.add_subcommand("record", "What processes keep of a pod in files")->require_subcommand(1);
  CLI::App* discard = record->add_subcommand(
      "discard",
      "Move files aside that no process can read, so that their pod is known again (root only)");
  discard->add_option("uid", a.uid, "As shown by get processes and doctor")->required();
  discard->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DiscardRecordCommand(c, a.uid); };
  });
}

void DeclareFault(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* fault = app.add_subcommand("fault", "Fail points of a process")->require_subcommand(1);
  CLI::App* set =
      fault->add_subcommand("set", "splitletctl fault set pleg NAME '3*return(unavailable)->off'");
  set->add_option("process", a.fault.process)->required();
  set->add_option("name", a.fault.name)->required();
  set->add_option("term", a.fault.term,
                  "off, return(code,message), delay(100ms), pause, crash, drop, shift(-1h)")
      ->required();
  set->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return SetFaultCommand(c, a.fault); };
  });
  CLI::App* list = fault->add_subcommand("list", "Its fail points");
  list->add_option("process", a.fault.process)->required();
  list->add_flag("--no-headers", a.fault.no_headers, "Rows only");
  list->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return ListFaultsCommand(c, a.fault); };
  });
  CLI::App* clear = fault->add_subcommand("clear", "One, or all");
  clear->add_option("process", a.fault.process)->required();
  clear->add_option("name", a.fault.name);
  clear->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return ClearFaults(c, a.fault); }; });
}

void DeclareLogLevel(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* level = app.add_subcommand(
      "log-level",
      "Show or set how much processes log, until they restart: log-level [PROCESS] [LEVEL]");
  level->add_option("words", a.log_level, "A process, and debug, info, warn or error")
      ->expected(0, 2);
  level->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return LogLevelCommand(c, a.log_level); };
  });
}

void DeclareProcess(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* process =
      app.add_subcommand("process", "Kill, stop or restart a process by its supervisor")
          ->require_subcommand(1);
  const std::pair<const char*, const char*> kActions[] = {
      {"kill", "SIGKILL; its supervisor starts it again"},
      {"stop", "SIGSTOP: it hangs until cont"},
      {"cont", "SIGCONT: after stop"},
      {"restart", "SIGTERM, and start it again"},
      {"down", "End it and keep it down"},
      {"up", "Start it after down"}};
  for (const auto& [name, help] : kActions) {
    CLI::App* action = process->add_subcommand(name, help);
    action->add_option("process", a.process.process, "A process, nats or containerd")->required();
    action->callback([&a, &run, word = std::string(name)] {
      a.process.action = word;
      run = [&a](const operate::Context& c) { return ProcessCommand(c, a.process); };
    });
  }
}

/// What follows `chaos` is the words of another program; it knows them and prints their help.
CLI::App* DeclareChaos(CLI::App& app) {
  CLI::App* chaos = app.add_subcommand("chaos", "Faults on a running stack, and what must hold");
  chaos->set_help_flag();
  return chaos->prefix_command();
}

/// The stack, whose directory is the working directory by then, writes down its runtime.
std::string RuntimeEndpoint(const Arguments& a) {
  if (!a.runtime_endpoint.empty()) return a.runtime_endpoint;
  std::ifstream file("endpoint");
  std::string endpoint;
  return a.top && file >> endpoint ? endpoint : "unix:///run/containerd/containerd.sock";
}

void DeclareOthers(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* gc = app.add_subcommand("gc", "Remove dead containers and unused images now");
  gc->add_flag("--dry-run", a.dry_run, "Only say what would go");
  gc->callback([&a, &run] { run = [&a](const operate::Context& c) { return Gc(c, a.dry_run); }; });
  CLI::App* once = app.add_subcommand(
      "run-once", "Wait until the pods of all manifests run, have succeeded or were refused");
  once->add_option("--timeout", a.once_timeout, "How long at most")->capture_default_str();
  once->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return RunOnce(c, a.once_timeout); }; });
  CLI::App* doctor = app.add_subcommand("doctor", "Check what the stack needs, and say what to do");
  doctor
      ->add_option("--runtime-endpoint", a.runtime_endpoint,
                   "CRI socket; default: that of the stack")
      ->envname("RUNTIME_ENDPOINT");
  doctor->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return Doctor(c, RuntimeEndpoint(a)); };
  });
  CLI::App* completion = app.add_subcommand(
      "completion", "Completion for a shell: source <(splitletctl completion bash)");
  completion->add_option("shell", a.shell, "bash, zsh or fish")->required();
}

/// Nothing but flags: whoever wants to know what there is.
bool IsEmptyCommand(const CLI::App& app) {
  return app.get_subcommands().empty() && app.remaining(true).empty();
}

int PrintCompletion(const std::string& shell) {
  const auto script = CompletionScript(shell);
  if (!script.ok()) return operate::Fail(script.status());
  std::cout << *script;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  Command run;
  CLI::App app("splitletctl: looks into the processes of a splitlet node", "splitletctl");
  app.require_subcommand(1);
  app.set_version_flag("--version", "splitletctl " SPLITLET_VERSION);
  operate::AddStateDirFlag(app, arguments.top);
  DeclareGet(app, arguments, run);
  DeclarePod(app, arguments, run);
  DeclareLogs(app, arguments, run);
  DeclareExec(app, arguments, run);
  DeclareBus(app, arguments, run);
  DeclareRecord(app, arguments, run);
  DeclareFault(app, arguments, run);
  DeclareLogLevel(app, arguments, run);
  DeclareProcess(app, arguments, run);
  const CLI::App* chaos = DeclareChaos(app);
  DeclareOthers(app, arguments, run);
  CommandLine line = SplitCommandLine({argv + 1, argv + argc});
  arguments.exec.command = std::move(line.exec_command);
  const std::vector<std::string> words = KubectlWords(line.words);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0 || !IsEmptyCommand(app))
      return operate::ExplainParseError(app, error);
    std::cout << app.help();
    return 0;
  }
  operate::MakeAbsolute(arguments.get.kubeconfig);
  if (!arguments.shell.empty()) return PrintCompletion(arguments.shell);
  if (chaos->parsed()) return operate::Fail(BecomeChaos(arguments.top, chaos->remaining()));
  return operate::RunOnStack(arguments.top, run, kPatience);
}
