#include "services/pod-worker/api/stream_opener.h"

#include <algorithm>
#include <vector>

#include "splitlet/v1/streams.pb.h"

namespace splitlet::pod_worker {
namespace {

using Request = v1::OpenStreamRequest;

constexpr int kMaxWords = 4096;
constexpr int kMaxPorts = 128;
constexpr size_t kMaxOutput = 1 << 20;

cri::StreamChannels ChannelsOf(const Request& request) {
  return {.tty = request.tty(),
          .in = request.send_stdin(),
          .out = request.want_stdout(),
          .err = request.want_stderr()};
}

Status CheckPorts(const Request& request) {
  if (request.ports_size() > kMaxPorts)
    return InvalidArgument("{} ports, {} are the most", request.ports_size(), kMaxPorts);
  for (const int32_t port : request.ports())
    if (port < 1 || port > 65535) return InvalidArgument("port {} is not in 1..65535", port);
  return OkStatus();
}

}  // namespace

Status CheckStreamRequest(const Request& request) {
  if (request.uid().empty()) return InvalidArgument("no pod is named");
  if (request.kind() == Request::PORT_FORWARD) return CheckPorts(request);
  if (request.kind() != Request::EXEC && request.kind() != Request::ATTACH)
    return InvalidArgument("no kind of stream is named");
  if (request.container_id().empty()) return InvalidArgument("no container is named");
  if (!request.send_stdin() && !request.want_stdout() && !request.want_stderr())
    return InvalidArgument("one of stdin, stdout or stderr is needed");
  if (request.tty() && request.want_stderr())
    return InvalidArgument("a terminal has no stderr of its own");
  if (request.kind() == Request::EXEC && request.command().empty())
    return InvalidArgument("no command is named");
  if (request.command_size() > kMaxWords)
    return InvalidArgument("a command of {} words", request.command_size());
  return OkStatus();
}

/// The runtime knows containers that are no pod's of this node: only those of the pod count.
Status StreamOpener::CheckRuns(const std::string& uid, const std::string& container_id,
                               const Deadline& deadline) {
  const auto containers = reader_.ListContainers({.pod_uid = uid}, deadline);
  if (!containers.ok()) return Annotate(containers.status(), "list the pod's containers");
  const auto found =
      std::ranges::find(*containers, cri::ContainerId(container_id), &cri::Container::id);
  if (found == containers->end()) return NotFound("container {} is none of this pod", container_id);
  if (found->state != cri::ContainerState::kRunning)
    return FailedPrecondition("container {} does not run", found->name);
  return OkStatus();
}

StatusOr<std::string> StreamOpener::OpenPorts(const Request& request, const Deadline& deadline) {
  ASSIGN_OR_RETURN(const auto sandboxes, reader_.ListPodSandbox(request.uid(), deadline),
                   "list the pod's sandboxes");
  const auto ready = std::ranges::find(sandboxes, cri::SandboxState::kReady, &cri::Sandbox::state);
  if (ready == sandboxes.end()) return FailedPrecondition("the pod has no sandbox that is ready");
  return Annotate(streaming_.OpenPortForward(
                      ready->id, {request.ports().begin(), request.ports().end()}, deadline),
                  "PortForward");
}

StatusOr<std::string> StreamOpener::Open(const Request& request, const Deadline& deadline) {
  RETURN_IF_ERROR(CheckStreamRequest(request), "request");
  if (request.kind() == Request::PORT_FORWARD) return OpenPorts(request, deadline);
  if (Status runs = CheckRuns(request.uid(), request.container_id(), deadline); !runs.ok())
    return runs;
  const cri::ContainerId id(request.container_id());
  if (request.kind() == Request::ATTACH)
    return Annotate(streaming_.OpenAttach(id, ChannelsOf(request), deadline), "Attach");
  return Annotate(streaming_.OpenExec(id, {request.command().begin(), request.command().end()},
                                      ChannelsOf(request), deadline),
                  "Exec");
}

StatusOr<v1::RunCommandReply> StreamOpener::Run(const v1::RunCommandRequest& request,
                                                const Deadline& deadline) {
  if (request.uid().empty() || request.container_id().empty() || request.command().empty())
    return InvalidArgument("pod, container and command are needed");
  if (request.command_size() > kMaxWords)
    return InvalidArgument("a command of {} words", request.command_size());
  if (Status runs = CheckRuns(request.uid(), request.container_id(), deadline); !runs.ok())
    return runs;
  ASSIGN_OR_RETURN(cri::ExecResult result,
                   exec_.ExecSync(cri::ContainerId(request.container_id()),
                                  {.words = {request.command().begin(), request.command().end()},
                                   .keep = {.bytes = kMaxOutput, .last = true}},
                                  deadline),
                   "ExecSync");
  v1::RunCommandReply reply;
  reply.set_exit_code(result.exit_code);
  reply.set_output(std::move(result.out));
  reply.set_errors(std::move(result.err));
  return reply;
}

}  // namespace splitlet::pod_worker
