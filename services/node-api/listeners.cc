#include "services/node-api/listeners.h"

#include <utility>

#include "libs/base/fail_point.h"

namespace splitlet::node_api {
namespace {

constexpr size_t kMaxOfHealth = 64;
// Bodies are read before authentication, on up to a thousand connections. The longest useful body
// is the form of /stats/summary.
constexpr size_t kMaxBody = 64 << 10;
// Limit for all unanswered requests together.
constexpr size_t kMaxUnread = 1 << 20;

https::TlsFiles::Places PlacesOf(const NodeApiConfig& config) {
  const auto& [certificate, key] = config.certificate;
  return {.pairs = {{certificate, key}},
          .client_ca = config.server.client_ca_file,
          .reload_pair = config.reload_certificate,
          .reload_client_ca = config.gates.Enabled("ReloadKubeletClientCAFile"),
          .made_here = config.certificate_patience > Duration{0}};
}

}  // namespace

Listeners::Listeners(Deps deps, const NodeApiConfig& config)
    : deps_(std::move(deps)),
      certificate_patience_(config.certificate_patience),
      timer_(deps_.loop, kPeriod, [this] { OnTimer(); }),
      asker_(deps_.loop, deps_.strands) {
  const auto& server = config.server;
  if (server.enabled && server.port > 0) {
    AddPort(Surface::kSecured, "secured",
            {.address = server.address, .port = static_cast<uint16_t>(server.port)});
    tls_ = std::make_shared<https::TlsFiles>(
        deps_.files,
        https::TlsSettings{.min_version = server.tls_min_version,
                           .cipher_suites = server.tls_cipher_suites},
        PlacesOf(config));
    tls_trouble_ = "no certificate yet";
  }
  if (server.enabled && server.read_only_port > 0)
    AddPort(Surface::kReadOnly, "read-only",
            {.address = server.address,
             .port = static_cast<uint16_t>(server.read_only_port),
             .tls = false});
  if (server.healthz_port > 0)
    AddPort(Surface::kHealthz, "healthz",
            {.address = server.healthz_address,
             .port = static_cast<uint16_t>(server.healthz_port),
             .tls = false,
             .max_connections = kMaxOfHealth});
}

void Listeners::AddPort(Surface surface, const char* name, https::ServerOptions options) {
  options.max_body_bytes = kMaxBody;
  options.max_unread_bytes = kMaxUnread;
  ports_.push_back({.surface = surface,
                    .name = name,
                    .options = std::move(options),
                    .server = nullptr,
                    .trouble = "not listening yet"});
}

void Listeners::Start() {
  certificate_by_ = deps_.clock.Now() + certificate_patience_;
  OnTimer();
}

void Listeners::OnTimer() {
  if (std::exchange(inspecting_, true)) return;
  for (size_t i = 0; i < ports_.size(); ++i)
    if (ports_[i].server == nullptr) Listen(i);
  InspectFiles();
  UpdateMetrics();
}

void Listeners::Listen(size_t index) {
  using Started = StatusOr<std::shared_ptr<https::Server>>;
  // The servers end with this object, and their handlers with them.
  https::Handler handler = [this, surface = ports_[index].surface](
                               https::Request request,
                               std::shared_ptr<https::Responder> responder) {
    deps_.loop.Post(
        [this, surface, request = std::move(request), responder = std::move(responder)] {
          deps_.on_request(surface, request, responder);
        });
  };
  asker_.Ask(
      "listen",
      [start = deps_.start_server, options = ports_[index].options,
       handler = std::move(handler)]() -> Started {
        FAIL_POINT("node-api.listen.before");
        auto started = start(options, handler);
        if (!started.ok()) return started.status();
        return std::shared_ptr<https::Server>(*std::move(started));
      },
      [this, index](Started server) { OnListening(index, std::move(server)); });
}

void Listeners::OnListening(size_t index, StatusOr<std::shared_ptr<https::Server>> server) {
  Port& port = ports_[index];
  Report(port.trouble, server.status(), port.name);
  if (!server.ok() || stopped_) return;
  port.server = *std::move(server);
  deps_.log.Info("Starting to listen",
                 {KV("server", port.name), KV("address", port.options.address),
                  KV("port", port.server->port())});
  if (port.surface == Surface::kSecured) InspectFiles();
}

/// Logs a problem when it appears or changes.
void Listeners::Report(std::string& known, const Status& now, const char* server) {
  const std::string text = Message(now);
  if (std::exchange(known, text) == text || now.ok()) return;
  deps_.log.Warn("cannot serve a port of the kubelet API, will try again",
                 {KV("server", server), KV("err", now)});
}

void Listeners::InspectFiles() {
  const auto server = ports_.empty() ? nullptr : ports_.front().server;
  if (tls_ == nullptr || server == nullptr) {
    inspecting_ = false;
    return;
  }
  struct Inspected {
    Status problem;
    bool has_certificate = false;
  };
  asker_.Ask(
      "tls",
      [server, tls = tls_] {
        const auto found = tls->Look();
        if (found.changed) {
          server->SetClientAuthority(found.authority);
          if (found.context != nullptr) server->SetTls(found.context);
        }
        return Inspected{found.problem, found.context != nullptr};
      },
      [this](const Inspected& files) { OnInspected(files.problem, files.has_certificate); });
}

void Listeners::OnInspected(const Status& problem, bool has_certificate) {
  inspecting_ = false;
  has_certificate_ = has_certificate;
  const bool is_new = tls_trouble_ != Message(problem);
  tls_trouble_ = Message(problem);
  if (!IsAwaited(problem) || deps_.clock.Now() >= certificate_by_)
    return Report(tls_logged_, problem, "secured");
  if (is_new) deps_.log.Info("waiting for the serving certificate", {KV("err", problem)});
}

void Listeners::UpdateMetrics() {
  deps_.metrics.has_certificate.Set(has_certificate_ ? 1 : 0);
  for (const Port& port : ports_) {
    if (port.server == nullptr) continue;
    deps_.metrics.connections.Add({{"server", port.name}})
        .Set(static_cast<double>(port.server->connections()));
    deps_.metrics.displaced.Add({{"server", port.name}})
        .Set(static_cast<double>(port.server->displaced()));
  }
}

std::string Listeners::problem() const {
  for (const Port& port : ports_)
    if (port.surface == Surface::kSecured && !port.trouble.empty())
      return fmt::format("{} port: {}", port.name, port.trouble);
  return tls_ != nullptr && !has_certificate_ ? tls_trouble_ : "";
}

std::vector<std::string> Listeners::Notes() const {
  std::vector<std::string> notes;
  for (const Port& port : ports_)
    if (!port.trouble.empty()) notes.push_back(fmt::format("{} port: {}", port.name, port.trouble));
  if (!tls_trouble_.empty()) notes.push_back("certificate: " + tls_trouble_);
  return notes;
}

void Listeners::Stop(Duration grace) {
  for (const Port& port : ports_)
    if (port.server != nullptr) port.server->Stop(grace);
}

}  // namespace splitlet::node_api
