#include "libs/apiclient/exec_plugin.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "libs/kube/time_text.h"
#include "splitlet/v1/exec_credential.pb.h"

namespace splitlet::apiclient {
namespace {

constexpr const char* kKind = "ExecCredential";
constexpr Duration kMaxRun = 60s;
constexpr Duration kForgive = 10s;
constexpr size_t kMaxAnswer = 1u << 20;

/// The value of KUBERNETES_EXEC_INFO.
std::string InfoFor(const ClientConfig& config, const std::string& ca) {
  v1::ExecCredential info;
  info.set_kind(kKind);
  info.set_api_version(config.exec->api_version);
  info.mutable_spec()->set_interactive(false);
  if (config.exec->provide_cluster_info) {
    auto& cluster = *info.mutable_spec()->mutable_cluster();
    cluster.set_server(config.server);
    cluster.set_tls_server_name(config.tls_server_name);
    cluster.set_insecure_skip_tls_verify(config.insecure);
    cluster.set_certificate_authority_data(ca);
    cluster.set_proxy_url(config.proxy_url);
    cluster.set_disable_compression(!config.compression);
  }
  google::protobuf::util::JsonPrintOptions all;
  all.always_print_primitive_fields = true;
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(info.spec(), &json, all).ok());
  // The plugin gets only its own fields of the kind; the other fields are its answer.
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}","spec":{}}})", info.kind(),
                     info.api_version(), json);
}

/// True if the program does not exist or may not be run.
bool IsMissing(StatusCode code) {
  return code == StatusCode::kNotFound || code == StatusCode::kPermissionDenied;
}

StatusOr<v1::ExecCredentialStatus> ReadAnswer(const std::string& text,
                                              const std::string& api_version) {
  v1::ExecCredential answer;
  google::protobuf::util::JsonParseOptions lenient;
  lenient.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(text, &answer, lenient).ok())
    return InvalidArgument("its output is not an ExecCredential in JSON");
  if (answer.kind() != kKind) return InvalidArgument("kind: want {}", kKind);
  if (answer.api_version() != api_version)
    return InvalidArgument("apiVersion: want {}", api_version);
  const auto& status = answer.status();
  if (status.client_certificate_data().empty() != status.client_key_data().empty())
    return InvalidArgument("status: a certificate without a key, or a key without its certificate");
  if (status.token().empty() && status.client_key_data().empty())
    return InvalidArgument("status: neither a token nor a certificate");
  return status;
}

}  // namespace

StatusOr<PluginAnswer> PluginCredentials::Get(const ClientConfig& config, const std::string& ca,
                                              bool again) {
  // A server that refuses all credentials must not cause a run for each request.
  const bool is_new = kept_ && deps_.clock.Now() - kept_->since < kForgive;
  if (again && !is_new) kept_.reset();
  if (!IsGood()) kept_ = Run(config, ca);
  NoteCertificate(kept_->answer);
  return kept_->answer;
}

void PluginCredentials::Forget() {
  kept_.reset();
  certificate_.reset();
  if (deps_.metrics != nullptr) deps_.metrics->SetTtl(std::nullopt);
}

/// While the plugin fails, the metric keeps its last good certificate and counts down.
void PluginCredentials::NoteCertificate(const StatusOr<PluginAnswer>& answer) {
  if (deps_.metrics == nullptr) return;
  if (answer.ok()) {
    const auto given = x509::ReadCertificates(answer->certificate);
    const auto last = std::exchange(certificate_, std::nullopt);
    if (given.ok() && !given->empty()) certificate_ = given->front();
    if (last && certificate_ && last->not_before != certificate_->not_before)
      deps_.metrics->NoteRotation(deps_.clock.WallNow() - last->not_before);
  }
  deps_.metrics->SetTtl(
      certificate_ ? std::optional<Duration>(certificate_->not_after - deps_.clock.WallNow())
                   : std::nullopt);
}

/// Exit codes as client-go counts them: 1 if there is none.
StatusOr<std::string> PluginCredentials::RunCounted(process::Program program) {
  int exit_code = -1;
  program.exit_code = &exit_code;
  auto text = deps_.run(program);
  if (deps_.metrics == nullptr) return text;
  using enum PluginMetrics::Result;
  if (text.ok())
    deps_.metrics->NoteRun(kDone, 0);
  else if (exit_code >= 0)
    deps_.metrics->NoteRun(kFailed, exit_code);
  else if (IsMissing(text.status().code()))
    deps_.metrics->NoteRun(kNotFound, 1);
  else
    deps_.metrics->NoteRun(kNoAnswer, 1);
  return text;
}

bool PluginCredentials::IsGood() const {
  if (!kept_) return false;
  if (!kept_->answer.ok()) return deps_.clock.Now() - kept_->since < kForgive;
  return !kept_->expires || deps_.clock.WallNow() < *kept_->expires;
}

PluginCredentials::Kept PluginCredentials::Run(const ClientConfig& config, const std::string& ca) {
  auto kept = Ask(config, ca);
  if (kept.ok()) return std::move(*kept);
  const std::string& hint = config.exec->install_hint;
  return {
      .answer = Unauthenticated("{}{}{}", Message(kept.status()), hint.empty() ? "" : "; ", hint),
      .since = deps_.clock.Now()};
}

StatusOr<PluginCredentials::Kept> PluginCredentials::Ask(const ClientConfig& config,
                                                         const std::string& ca) {
  process::Program program{.argv = {config.exec->command},
                           .env = config.exec->env,
                           .limit = kMaxRun,
                           .max_output_bytes = kMaxAnswer,
                           .cancel = &stop_,
                           .secret_output = true};
  program.argv.insert(program.argv.end(), config.exec->args.begin(), config.exec->args.end());
  program.env["KUBERNETES_EXEC_INFO"] = InfoFor(config, ca);
  ASSIGN_OR_RETURN(const std::string text, RunCounted(std::move(program)), "run");
  ASSIGN_OR_RETURN(const auto status, ReadAnswer(text, config.exec->api_version), "answer");
  Kept kept{.answer = PluginAnswer{.token = status.token(),
                                   .certificate = status.client_certificate_data(),
                                   .key = status.client_key_data()},
            .since = deps_.clock.Now()};
  if (!status.expiration_timestamp().empty()) {
    const auto time = kube::ParseTime(status.expiration_timestamp());
    if (!time.ok()) return InvalidArgument("answer: status.expirationTimestamp: not a time");
    kept.expires = WallTime{std::chrono::seconds{time->seconds} + Duration{time->nanos}};
  }
  return kept;
}

}  // namespace splitlet::apiclient
