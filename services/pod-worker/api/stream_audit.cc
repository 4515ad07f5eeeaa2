#include "services/pod-worker/api/stream_audit.h"

#include "libs/base/text.h"
#include "splitlet/v1/streams.pb.h"

namespace splitlet::pod_worker {
namespace {

constexpr size_t kMaxLogged = 256;

std::string_view KindName(v1::OpenStreamRequest::Kind kind) {
  if (kind == v1::OpenStreamRequest::EXEC) return "exec";
  if (kind == v1::OpenStreamRequest::ATTACH) return "attach";
  return kind == v1::OpenStreamRequest::PORT_FORWARD ? "portForward" : "unknown";
}

/// A caller may send any text.
template <class Request>
std::vector<LogField> FieldsFor(std::string_view kind, const Request& request, uint32_t caller) {
  return {KV("kind", kind), KV("podUID", ToText(request.uid(), kMaxLogged)),
          KV("containerID", ToText(request.container_id(), kMaxLogged)), KV("callerUID", caller),
          KV("user", ToText(request.user(), kMaxLogged))};
}

}  // namespace

std::vector<LogField> AuditFields(const v1::OpenStreamRequest& request, uint32_t caller) {
  return FieldsFor(KindName(request.kind()), request, caller);
}

std::vector<LogField> AuditFields(const v1::RunCommandRequest& request, uint32_t caller) {
  return FieldsFor("run", request, caller);
}

}  // namespace splitlet::pod_worker
