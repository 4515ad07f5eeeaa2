#include "ctl/commands/exec.h"

#include <unistd.h>

#include <optional>
#include <ostream>

#include "ctl/bus/bus_source.h"
#include "ctl/commands/find_pods.h"
#include "ctl/session/remote_session.h"
#include "ctl/session/terminal.h"
#include "ctl/words/kubectl_words.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/logs/choose_container.h"
#include "libs/operate/text.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::ctl {
namespace {

constexpr int kEndedBySignal = 130;

/// The terminal is raw only while the command uses it.
StatusOr<int> RunInTerminal(const RemoteOptions& remote) {
  std::optional<RawMode> raw;
  if (remote.terminal) {
    auto entered = RawMode::Enter(remote.in);
    RETURN_IF_ERROR(entered, "make the terminal raw");
    raw.emplace(*std::move(entered));
  }
  return RunRemote(remote);
}

v1::OpenStreamRequest RequestOf(const operate::PodView& view, const std::string& id,
                                const ExecOptions& options, bool tty) {
  v1::OpenStreamRequest request;
  request.set_kind(options.command.empty() ? v1::OpenStreamRequest::ATTACH
                                           : v1::OpenStreamRequest::EXEC);
  request.set_uid(view.uid);
  request.set_container_id(id);
  for (const std::string& word : options.command) request.add_command(word);
  request.set_tty(tty);
  request.set_send_stdin(options.input);
  request.set_want_stdout(true);
  request.set_want_stderr(!tty);
  return request;
}

Status OpenSession(const operate::Context& context, const ExecOptions& options) {
  const auto view =
      FindPod(context, {.name = WithoutPodPrefix(options.pod), .name_space = options.name_space});
  if (!view.ok()) return view.status();
  std::string notice;
  const auto container = ChooseContainerName(*view->pod, options.container, notice);
  if (!container.ok()) return container.status();
  if (!notice.empty()) context.err << operate::Lines(notice, 0) << "\n";
  const bool attach = options.command.empty();
  const auto id = FindRunning(*view, *container, attach ? "attach to" : "exec into");
  if (!id.ok()) return id.status();
  const bool tty =
      attach ? HasTerminal(*view->pod, *container) : options.tty && IsTerminal(STDIN_FILENO);
  if (options.tty && !tty)
    Warn(context, {"Unable to use a TTY - input is not a terminal or the right kind of file"});
  const auto url = context.client.OpenStream(RequestOf(*view, *id, options, tty));
  if (!url.ok()) return url.status();
  // The runtime serves streams on the loopback of its own network namespace, which only its
  // container has.
  if (const std::string& network = context.client.layout().streams_of; !network.empty())
    RETURN_IF_ERROR(JoinNetwork(network), "network");
  context.out << std::flush;
  context.err << std::flush;
  const auto exit_code =
      RunInTerminal({.url = *url,
                     .input = options.input,
                     .tty = tty,
                     .terminal = tty && options.input && IsTerminal(STDIN_FILENO)});
  if (exit_code.status().code() == StatusCode::kCancelled) {
    context.exit_code = kEndedBySignal;
    return OkStatus();
  }
  if (!exit_code.ok()) return exit_code.status();
  context.exit_code = *exit_code;
  if (*exit_code != 0) context.err << "command terminated with exit code " << *exit_code << "\n";
  return OkStatus();
}

}  // namespace

bool HasTerminal(const kube::Pod& pod, const std::string& container) {
  for (const auto* list : {&pod.spec().containers(), &pod.spec().init_containers()})
    for (const auto& each : *list)
      if (each.name() == container) return each.tty();
  return false;
}

StatusOr<std::string> FindRunning(const operate::PodView& view, const std::string& container,
                                  std::string_view verb) {
  const std::string& phase = view.pod->status().phase();
  if (phase == "Succeeded" || phase == "Failed")
    return FailedPrecondition("cannot {} a container in a completed pod; current phase is {}", verb,
                              phase);
  const auto chosen = logs::ChooseContainer(*view.pod, container, /*previous=*/false);
  if (!chosen.ok()) return chosen.status();
  if (!chosen->running)
    return FailedPrecondition("container \"{}\" in pod \"{}\" does not run", container, view.name);
  const size_t mark = chosen->id.find("://");
  return mark == std::string::npos ? chosen->id : chosen->id.substr(mark + 3);
}

Status Exec(const operate::Context& context, const ExecOptions& options) {
  if (!options.words.empty())
    return InvalidArgument("exec [POD] [COMMAND] is not supported. Use exec [POD] -- [COMMAND]");
  if (options.command.empty())
    return InvalidArgument("you must specify at least one command for the container");
  return OpenSession(context, options);
}

Status Attach(const operate::Context& context, const ExecOptions& options) {
  CHECK(options.command.empty());
  return OpenSession(context, options);
}

}  // namespace splitlet::ctl
