#include "chaos/node/api_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>

#include "chaos/node/reported_pod.h"
#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/fs/fd.h"
#include "libs/kube/codec.h"

namespace splitlet::chaos {
namespace {

namespace core = k8s::io::api::core::v1;

/// Sends one line and receives one.
StatusOr<std::string> Exchange(const std::string& socket_path, const std::string& line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path)
    return InvalidArgument("the path {} is too long", socket_path);
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  const fs::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // A long deadline: after a timeout the server may or may not have carried out the order.
  const timeval limit{20, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Unavailable("the API server does not answer at {}", socket_path);
  const std::string out = line + "\n";
  for (size_t sent = 0; sent < out.size();) {
    const ssize_t n = send(fd.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return ErrnoStatus(errno);
    sent += static_cast<size_t>(n);
  }
  std::string answer;
  char buffer[65536];
  while (!answer.ends_with('\n')) {
    const ssize_t got = recv(fd.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return DeadlineExceeded("the API server does not answer its control socket");
    answer.append(buffer, static_cast<size_t>(got));
  }
  answer.pop_back();
  return answer;
}

StatusCode CodeOf(std::string_view name) {
  for (int code = 1; code <= 16; ++code)
    if (name == CodeName(static_cast<StatusCode>(code))) return static_cast<StatusCode>(code);
  return StatusCode::kUnknown;
}

/// The order for the control socket.
std::string FaultLine(const std::string& answer) {
  const bool code = answer.find_first_not_of("0123456789") == std::string::npos;
  if (!code) return "fault * / " + answer;
  // These answers carry Retry-After.
  const bool later = answer == "429" || answer == "503";
  return "fault * / code " + answer + (later ? " 1" : "");
}

}  // namespace

StatusOr<std::string> ApiServer::Send(const std::string& line) {
  if (!exists()) return FailedPrecondition("the stack has no API server");
  // A paused server would carry out orders in its socket later, so none is sent.
  if (deps_.pid() == 0) return Unavailable("the API server does not run");
  ASSIGN_OR_RETURN(const std::string answer, Exchange(deps_.socket, line), "{}",
                   line.substr(0, line.find('{')));
  if (answer == "OK") return std::string();
  if (answer.starts_with("OK ")) return answer.substr(3);
  const std::string text = answer.substr(std::min<size_t>(answer.size(), 6));
  const size_t space = std::min(text.find(' '), text.size());
  return MakeStatus(CodeOf(text.substr(0, space)), text.substr(std::min(space + 1, text.size())));
}

Status ApiServer::Create(const std::string& path, const std::string& json) {
  return Send(fmt::format("post {} {}", path, json)).status();
}

Status ApiServer::Put(const std::string& path, const std::string& json) {
  return Send(fmt::format("put {} {}", path, json)).status();
}

Status ApiServer::Delete(const std::string& path, bool forced) {
  const char* options = forced ? R"( {"gracePeriodSeconds":0})" : "";
  const Status deleted = Send("delete " + path + options).status();
  return deleted.code() == StatusCode::kNotFound ? OkStatus() : deleted;
}

StatusOr<std::vector<ReportedPod>> ApiServer::ListPods() {
  const auto json = Send(std::string("list ") + kServedPods);
  if (!json.ok()) return json.status();
  return ParsePodList(*json);
}

StatusOr<std::vector<SeenEvents>> ApiServer::ListEvents() {
  const auto json = Send(std::string("list ") + kServedEvents);
  if (!json.ok()) return json.status();
  return ParseEventList(*json);
}

StatusOr<bool> ApiServer::IsReady(const std::string& node) {
  const std::string path = "/api/v1/nodes/" + node;
  const auto json = Send("get " + path);
  if (!json.ok()) return json.status();
  core::Node object;
  RETURN_IF_ERROR(kube::DecodeInto(*json, path, kube::Strictness::kLenient, object), "node");
  for (const auto& condition : object.status().conditions())
    if (condition.type() == "Ready") return condition.status() == "True";
  return false;
}

Status ApiServer::Set(const std::string& answer) {
  answers_.emplace(answer, false);
  changed_ = true;
  return Apply();
}

Status ApiServer::Unset(const std::string& answer) {
  const auto wanted = answers_.extract(answer);
  if (wanted.empty()) return OkStatus();
  changed_ = true;
  const Status applied = Apply();
  return wanted.mapped() ? applied : Cancelled("the fault ended before the API server applied it");
}

Status ApiServer::EndWatches(const std::string& how) {
  if (how == "expired") RETURN_IF_ERROR(Send("compact"), "end watches");
  return Send("end-watches").status();
}

/// Sets all answers, because the server only resets all of them together.
Status ApiServer::Apply() {
  const pid_t pid = deps_.pid();
  if (pid == 0 && exists()) return OkStatus();  // the next Retry sets the answers
  RETURN_IF_ERROR(Send("faults off"), "answers");
  for (auto& [answer, in_force] : answers_) {
    RETURN_IF_ERROR(Send(FaultLine(answer)), "{}", answer);
    in_force = true;
  }
  applied_to_ = pid;
  changed_ = false;
  return OkStatus();
}

/// After an error the next inspection tries again.
void ApiServer::Retry() {
  const pid_t pid = exists() ? deps_.pid() : 0;
  const bool knows = !changed_ && (answers_.empty() || pid == applied_to_);
  if (pid != 0 && !knows) static_cast<void>(Apply().ok());
}

}  // namespace splitlet::chaos
