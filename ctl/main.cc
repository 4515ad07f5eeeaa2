#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <optional>
#include <vector>

#include "ctl/chaos_program.h"
#include "ctl/commands/admin.h"
#include "ctl/commands/bus.h"
#include "ctl/commands/exec.h"
#include "ctl/commands/get.h"
#include "ctl/commands/logs.h"
#include "ctl/commands/process.h"
#include "ctl/commands/run_once.h"
#include "ctl/completion.h"
#include "ctl/words/kubectl_words.h"
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

/// Longest time for a supervisor to restart a process that was just killed.
constexpr Duration kPatience = 5s;

// Help of flags that several commands have.
constexpr const char* kPodHelp = "Name, namespace/name or UID of the pod";
constexpr const char* kContainerHelp =
    "Name of the container (default: the one of the pod's annotation "
    "kubectl.kubernetes.io/default-container, else the first)";
constexpr const char* kNamespaceHelp = "Only pods of this namespace (default: all)";
constexpr const char* kAllNamespacesHelp = "Always show the column NAMESPACE";
constexpr const char* kNoHeadersHelp = "Leave out the line of column names";
constexpr const char* kProcessHelp =
    "config-source, sync-loop, pod-worker, pleg, status, gc or node-api";
constexpr const char* kServiceHelp = "One of the processes, nats or containerd";

void AddPodFlags(CLI::App& app, Arguments& a) {
  app.add_option("-o,--output", a.get.output,
                 "Format: wide, json, yaml or name (default: a table)");
  app.add_option("-n,--namespace", a.get.name_space, kNamespaceHelp);
  app.add_flag("-A,--all-namespaces", a.get.all_namespaces, kAllNamespacesHelp);
  app.add_flag("-w,--watch", a.get.watch,
               "After the list, print each pod that changes, until Ctrl-C");
  app.add_flag("--no-headers", a.get.no_headers, kNoHeadersHelp);
}

void DeclareGetEvents(CLI::App& get, Arguments& a, Command& run) {
  CLI::App* events = get.add_subcommand("events",
                                        "Events of pods and the node in the last hour, the latest "
                                        "last")
                         ->alias("event")
                         ->alias("ev");
  events->add_option("--for", a.get_events.object,
                     "Only events of this object: pod/NAME or node/NAME");
  events->add_option("-n,--namespace", a.get_events.name_space,
                     "Only events of this namespace (default: all)");
  events
      ->add_option("--types", a.get_events.types,
                   "Only these types, with a comma between: Normal,Warning (default: both)")
      ->delimiter(',');
  events->add_option("-o,--output", a.get_events.output,
                     "Format: wide, json or yaml (default: a table)");
  events->add_flag("-A,--all-namespaces", a.get_events.all_namespaces, kAllNamespacesHelp);
  events->add_flag("--no-headers", a.get_events.no_headers, kNoHeadersHelp);
  events->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetEvents(c, a.get_events); }; });
}

void DeclareGet(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* get = app.add_subcommand("get", "Show pods, the node, events, processes or sources");
  get->require_subcommand(1);
  CLI::App* pods = get->add_subcommand("pods", "All pods of this node, or one")->alias("po");
  pods->add_option("name", a.get.name, "Name, namespace/name or UID of one pod (default: all)");
  AddPodFlags(*pods, a);
  pods->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetPods(c, a.get); }; });
  CLI::App* pod = get->add_subcommand("pod", "One pod");
  pod->add_option("name", a.get.name, kPodHelp)->required();
  AddPodFlags(*pod, a);
  pod->callback([&a, &run] { run = [&a](const operate::Context& c) { return GetPod(c, a.get); }; });
  CLI::App* node = get->add_subcommand("node", "This node")->alias("nodes")->alias("no");
  node->add_option("name", a.get.name, "Name of the node (default: this node)");
  node->add_option("--kubeconfig", a.get.kubeconfig,
                   "Path of a kubeconfig: ask its API server for the named node (default: ask the "
                   "processes of this node)");
  node->add_option("-o,--output", a.get.output,
                   "Format: wide, json, yaml or name (default: a table)");
  node->add_flag("--no-headers", a.get.no_headers, kNoHeadersHelp);
  node->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return GetNode(c, a.get); }; });
  DeclareGetEvents(*get, a, run);
  CLI::App* processes =
      get->add_subcommand("processes", "The processes of this node and their health");
  processes->add_option("-o,--output", a.get.output, "Format: json (default: a table)");
  processes->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return GetProcesses(c, a.get.output); };
  });
  CLI::App* sources =
      get->add_subcommand("sources", "The sources of pods and the problems found in them");
  sources->add_option("-o,--output", a.get.output, "Format: json (default: a table)");
  sources->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return GetSources(c, a.get.output); };
  });
}

void DeclarePod(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* describe =
      app.add_subcommand("describe", "Show details of a pod or of the node")->require_subcommand(1);
  CLI::App* pod =
      describe->add_subcommand("pod",
                               "Its containers, conditions and events, and the records of "
                               "the processes");
  pod->add_option("name", a.get.name, kPodHelp)->required();
  pod->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DescribePodCommand(c, a.get); };
  });
  CLI::App* node =
      describe->add_subcommand("node", "Its conditions, resources, system, pods and events");
  node->add_option("name", a.get.name, "Name that this node must have (default: any)");
  node->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DescribeNodeCommand(c, a.get); };
  });
  CLI::App* trace = app.add_subcommand("trace", "Show what each process did for a pod, and when")
                        ->require_subcommand(1);
  CLI::App* traced = trace->add_subcommand("pod", "Its timeline, in milliseconds");
  traced->add_option("name", a.get.name, kPodHelp)->required();
  traced->add_option("--since", a.trace_since, "How far back, as a duration: 30s, 10m, 2h")
      ->capture_default_str();
  traced->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return TracePod(c, a.get.name, a.trace_since); };
  });
}

void DeclareLogs(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* logs = app.add_subcommand("logs", "Print the log of a container or of a process");
  logs->add_option("pod", a.logs.pod, kPodHelp);
  logs->add_option("-c,--container", a.logs.container, kContainerHelp);
  logs->add_option("-n,--namespace", a.logs.name_space, kNamespaceHelp);
  logs->add_flag("-f,--follow", a.logs.follow,
                 "Keep printing until the container ends (a process: until Ctrl-C)");
  logs->add_flag("-p,--previous", a.logs.previous,
                 "The log of the container's previous run, before its last restart");
  logs->add_option("--since", a.logs.since,
                   "Only lines newer than this duration: 30s, 5m, 2h (default: all)");
  logs->add_option("--since-time", a.logs.since_time,
                   "Only lines since this time: 2026-01-02T03:04:05Z (default: all)");
  logs->add_option("--tail", a.logs.tail, "Only the last lines, this many (default: all)");
  logs->add_option("--limit-bytes", a.logs.limit_bytes,
                   "Stop after this many bytes (default: no limit)");
  logs->add_flag("--timestamps", a.logs.timestamps, "Print the time before each line");
  logs->add_option("--process", a.logs.process,
                   "The log of a process, of nats or of containerd instead of a pod's");
  logs->callback([&a, &run] { run = [&a](const operate::Context& c) { return Logs(c, a.logs); }; });
}

void DeclareExec(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* exec = app.add_subcommand("exec", "Run a command in a container: exec -it POD -- sh");
  exec->add_option("pod", a.exec.pod, kPodHelp)->required();
  exec->add_option("command", a.exec.words, "After --: the command and its arguments");
  exec->add_option("-c,--container", a.exec.container, kContainerHelp);
  exec->add_option("-n,--namespace", a.exec.name_space, kNamespaceHelp);
  exec->add_flag("-i,--stdin", a.exec.input, "Pass standard input to the command");
  exec->add_flag("-t,--tty", a.exec.tty, "Run the command in a terminal");
  exec->callback([&a, &run] { run = [&a](const operate::Context& c) { return Exec(c, a.exec); }; });
  CLI::App* attach =
      app.add_subcommand("attach", "Print the output of a container from now on, until it ends");
  attach->add_option("pod", a.attach.pod, kPodHelp)->required();
  attach->add_option("-c,--container", a.attach.container, kContainerHelp);
  attach->add_option("-n,--namespace", a.attach.name_space, kNamespaceHelp);
  attach->add_flag("-i,--stdin", a.attach.input,
                   "Pass standard input to the container, if its spec says stdin: true");
  attach->add_flag("-t,--tty", a.attach.tty,
                   "Use the container's terminal, if its spec says tty: true");
  attach->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return Attach(c, a.attach); }; });
}

void DeclareBus(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* events = app.add_subcommand("events", "Print the messages of the bus");
  events->add_flag("-f,--follow", a.events.follow, "Print messages as they come, until Ctrl-C");
  events->add_option("--since", a.events.since,
                     "Recorded messages newer than this duration: 30s, 10m, 2h (default: 10m; with "
                     "-f: none)");
  events->add_flag("--heartbeats", a.events.heartbeats, "Print the heartbeats of the tables too");
  events->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return Events(c, a.events); }; });
  CLI::App* recorder =
      app.add_subcommand("recorder", "Record the messages of the bus")->require_subcommand(1);
  recorder->add_subcommand("run", "Write all messages of the bus into files, until SIGTERM")
      ->callback([&run] { run = RunRecorder; });
}

void DeclareRecord(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* record = app.add_subcommand("record", "Repair the files that processes keep of a pod")
                         ->require_subcommand(1);
  CLI::App* discard = record->add_subcommand("discard",
                                             "Move the unreadable files of a pod aside, so that "
                                             "the processes can handle the pod again (root only)");
  discard->add_option("uid", a.uid, "UID of the pod; get processes and doctor show it")->required();
  discard->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return DiscardRecordCommand(c, a.uid); };
  });
}

void DeclareFault(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* fault = app.add_subcommand("fault", "Show and set the fail points of a process")
                        ->require_subcommand(1);
  CLI::App* set = fault->add_subcommand(
      "set", "Arm a fail point: fault set pleg NAME '3*return(unavailable)->off'");
  set->add_option("process", a.fault.process, kProcessHelp)->required();
  set->add_option("name", a.fault.name, "Name of the fail point; fault list shows all")->required();
  set->add_option(
         "term", a.fault.term,
         "Effect of the point: off, return(code,message), delay(100ms), pause, crash, drop "
         "or shift(-1h)")
      ->required();
  set->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return SetFaultCommand(c, a.fault); };
  });
  CLI::App* list = fault->add_subcommand(
      "list", "The fail points, with the term and the number of hits of each");
  list->add_option("process", a.fault.process, kProcessHelp)->required();
  list->add_flag("--no-headers", a.fault.no_headers, kNoHeadersHelp);
  list->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return ListFaultsCommand(c, a.fault); };
  });
  CLI::App* clear = fault->add_subcommand("clear", "Disarm one fail point, or all");
  clear->add_option("process", a.fault.process, kProcessHelp)->required();
  clear->add_option("name", a.fault.name, "Name of the fail point (default: all)");
  clear->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return ClearFaults(c, a.fault); }; });
}

void DeclareLogLevel(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* level = app.add_subcommand(
      "log-level",
      "Show or set the log level of processes, until they restart: log-level [PROCESS] [LEVEL]");
  level
      ->add_option("words", a.log_level,
                   "A process (default: all), and debug, info, warn or error (default: show)")
      ->expected(0, 2);
  level->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return LogLevelCommand(c, a.log_level); };
  });
}

void DeclareProcess(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* process =
      app.add_subcommand("process", "Kill, stop or restart a process through its supervisor")
          ->require_subcommand(1);
  const std::pair<const char*, const char*> kActions[] = {
      {"kill", "Send SIGKILL; its supervisor starts it again"},
      {"stop", "Send SIGSTOP: the process hangs until cont"},
      {"cont", "Send SIGCONT: the process continues after stop"},
      {"restart", "Send SIGTERM and start it again"},
      {"down", "Stop the process and keep it down until up"},
      {"up", "Start the process after down"}};
  for (const auto& [name, help] : kActions) {
    CLI::App* action = process->add_subcommand(name, help);
    action->add_option("process", a.process.process, kServiceHelp)->required();
    action->callback([&a, &run, word = std::string(name)] {
      a.process.action = word;
      run = [&a](const operate::Context& c) { return ProcessCommand(c, a.process); };
    });
  }
}

/// The words after `chaos` go to another program, which also prints their help.
CLI::App* DeclareChaos(CLI::App& app) {
  CLI::App* chaos = app.add_subcommand(
      "chaos", "Inject faults into a running stack, and check rules that must hold");
  chaos->set_help_flag();
  return chaos->prefix_command();
}

/// The stack's own file of this name; the working directory is already that of the stack.
std::string RuntimeEndpoint(const Arguments& a) {
  if (!a.runtime_endpoint.empty()) return a.runtime_endpoint;
  std::ifstream file("endpoint");
  std::string endpoint;
  return a.top && file >> endpoint ? endpoint : "unix:///run/containerd/containerd.sock";
}

void DeclareOthers(CLI::App& app, Arguments& a, Command& run) {
  CLI::App* gc = app.add_subcommand("gc", "Remove dead containers and unused images now");
  gc->add_flag("--dry-run", a.dry_run, "Only list what would be removed");
  gc->callback([&a, &run] { run = [&a](const operate::Context& c) { return Gc(c, a.dry_run); }; });
  CLI::App* once = app.add_subcommand(
      "run-once", "Wait until the pods of all manifests run, have succeeded or were refused");
  once->add_option("--timeout", a.once_timeout, "How long to wait at most: 30s, 5m, 1h")
      ->capture_default_str();
  once->callback(
      [&a, &run] { run = [&a](const operate::Context& c) { return RunOnce(c, a.once_timeout); }; });
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Check the requirements of the stack, with advice for each problem");
  doctor
      ->add_option("--runtime-endpoint", a.runtime_endpoint,
                   "CRI socket to check (default: the stack's own, else "
                   "unix:///run/containerd/containerd.sock)")
      ->envname("RUNTIME_ENDPOINT");
  doctor->callback([&a, &run] {
    run = [&a](const operate::Context& c) { return Doctor(c, RuntimeEndpoint(a)); };
  });
  CLI::App* completion = app.add_subcommand(
      "completion",
      "Print the completion script of a shell: source <(splitletctl completion bash)");
  completion->add_option("shell", a.shell, "bash, zsh or fish")->required();
}

/// Without a command: print the list of commands.
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
  CLI::App app("splitletctl: shows and changes what the processes of a splitlet node do",
               "splitletctl");
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
