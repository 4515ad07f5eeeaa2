#include "services/status/identity/identity.h"

#include <limits>
#include <utility>

#include "libs/fs/path.h"
#include "libs/fs/unfinished.h"
#include "services/status/identity/rotation.h"

namespace splitlet::status {
namespace {

constexpr const char* kStrand =
    "certificate-client";  // also the manager's, so that file steps do not overlap
constexpr const char* kClientPrefix = "kubelet-client";
constexpr const char* kServerPrefix = "kubelet-server";
constexpr Duration kWriteAgain = std::chrono::seconds{5};
constexpr Duration kShowPeriod = std::chrono::seconds{30};

void Show(prometheus::Gauge& gauge, const std::optional<x509::Certificate>& certificate,
          WallTime now) {
  const double left = certificate
                          ? std::chrono::duration<double>(certificate->not_after - now).count()
                          : std::numeric_limits<double>::infinity();
  gauge.Set(left);
}

}  // namespace

ClientPlan ChooseClientPlan(const IdentityOptions& options, const KubeconfigState& kubeconfig,
                            bool stored_is_usable) {
  if (options.bootstrap_kubeconfig.empty() || kubeconfig.usable.ok()) return ClientPlan::kUse;
  // All processes use the rotated certificate instead of the one that the kubeconfig names.
  if (options.rotate && stored_is_usable && kubeconfig.certificate) return ClientPlan::kUse;
  return stored_is_usable ? ClientPlan::kWriteKubeconfig : ClientPlan::kBootstrap;
}

Identity::Identity(IdentityDeps deps, IdentityOptions options, std::function<void()> on_client)
    : deps_(std::move(deps)),
      options_(std::move(options)),
      current_(options_.cert_dir + "/" + kClientPrefix + "-current.pem"),
      on_client_(std::move(on_client)) {
  if (deps_.api != nullptr && options_.rotate) client_metrics_.emplace(deps_.env.metrics);
  if (deps_.api != nullptr && options_.server_bootstrap) server_metrics_.emplace(deps_.env.metrics);
}

Identity::~Identity() { deps_.env.loop.CancelTimer(timer_); }

CertificateStore::Options Identity::StoreOptions(const char* prefix) const {
  return {.folder = options_.cert_dir, .prefix = prefix, .mode = KeyMode()};
}

void Identity::Start() {
  if (options_.self_signed) {
    self_signed_ = std::make_unique<SelfSigned>(
        SelfSigned::Deps{.env = deps_.env, .files = deps_.files},
        SelfSigned::Options{
            .folder = options_.cert_dir, .host = options_.node_name, .key_mode = KeyMode()});
    self_signed_->Start();
  }
  if (deps_.api == nullptr) return;
  trouble_ = "the kubeconfig has not been read yet";
  deps_.env.strands.Run(kStrand, [this] {
    auto found = std::make_shared<Found>(Inspect());
    deps_.env.loop.Post([this, found] { OnFound(*found); });
  });
}

void Identity::BeginStop() {
  stopped_ = true;
  deps_.env.loop.CancelTimer(timer_);
  timer_ = 0;
  if (client_) client_->BeginStop();
  if (server_) server_->BeginStop();
}

Identity::Found Identity::Inspect() {
  Found found;
  CertificateStore client(deps_.env.clock, deps_.files, StoreOptions(kClientPrefix));
  found.client = client.Load();
  if (options_.server_bootstrap)
    found.server =
        CertificateStore(deps_.env.clock, deps_.files, StoreOptions(kServerPrefix)).Load();
  if (!options_.bootstrap_kubeconfig.empty())
    deps_.env.log.LogIfError(fs::RemoveUnfinished(deps_.files, fs::ParentOf(options_.kubeconfig),
                                                  fs::NameOf(options_.kubeconfig)),
                             "remove an incomplete kubeconfig");
  found.kubeconfig = InspectKubeconfig(deps_.files, options_.kubeconfig, deps_.env.clock.WallNow(),
                                       options_.for_group);
  if (!found.client.ok() || found.client->has_value()) return found;
  found.client = found.kubeconfig.certificate;
  if (!options_.rotate || !found.kubeconfig.inlined) return found;
  // The kubeconfig came with certificate and key. Save them under the name that rotation uses, and
  // replace them by a certificate whose key never left this node.
  const auto saved = client.Save(found.kubeconfig.inlined->chain, found.kubeconfig.inlined->key);
  deps_.env.log.LogIfError(saved.status(), "save the certificate of the kubeconfig");
  found.replace_client = true;
  return found;
}

void Identity::OnFound(const Found& found) {
  if (stopped_) return;
  const WallTime now = deps_.env.clock.WallNow();
  if (!found.client.ok())
    deps_.env.log.Error("cannot read the client certificate, requesting another one",
                        {KV("err", found.client.status())});
  const bool usable =
      found.client.ok() && WhyNeeded(*found.client, ClientNames(options_.node_name), now).empty();
  const ClientPlan plan = ChooseClientPlan(options_, found.kubeconfig, usable);
  const bool named = found.kubeconfig.certificate_file == current_;
  // An existing kubeconfig may belong to an administrator. It is rewritten only without rotation,
  // where it must name the certificate that the API server accepts.
  const bool shown = named || options_.rotate;
  write_config_ = plan != ClientPlan::kUse || (!options_.bootstrap_kubeconfig.empty() && !shown);
  trouble_.clear();
  if (plan != ClientPlan::kUse)
    deps_.env.log.Info(
        "waiting for the client certificate (TLS bootstrap)",
        {KV("kubeconfig", options_.kubeconfig), KV("reason", found.kubeconfig.usable)});
  if (HasManager(found, plan)) StartClient(found);
  // All processes use the rotated certificate, although the kubeconfig names another one.
  if (client_ && plan == ClientPlan::kUse && !named)
    deps_.env.log.Info("using the rotated certificate instead of the one that the kubeconfig names",
                       {KV("kubeconfig", options_.kubeconfig), KV("certificate", current_)});
  if (server_metrics_) StartServer(found);
  if (plan == ClientPlan::kWriteKubeconfig) FinishClient(true);
  if (plan == ClientPlan::kUse) {
    if (!options_.bootstrap_kubeconfig.empty()) FinishClient(false);
    has_client_ = true;
    on_client_();
  }
  if (!client_metrics_ && !server_metrics_) return;
  ShowTtl();
  show_ = std::make_unique<exec::Periodic>(deps_.env.loop, kShowPeriod, [this] { ShowTtl(); });
}

/// False: the kubeconfig identifies the node by other means or under another name, and stays as it
/// is.
bool Identity::HasManager(const Found& found, ClientPlan plan) const {
  if (plan != ClientPlan::kUse) return true;
  if (!found.client.ok() || !found.client->has_value()) return false;
  if (options_.rotate) return true;
  return !options_.bootstrap_kubeconfig.empty() &&
         found.client->value().names.common_name == ClientNames(options_.node_name).common_name;
}

CertificateManager::Deps Identity::ManagerDeps(std::function<apiclient::Transport*()> transport) {
  return {.env = deps_.env,
          .files = deps_.files,
          .random = deps_.random,
          .transport = std::move(transport)};
}

void Identity::StartClient(const Found& found) {
  client_ = std::make_unique<CertificateManager>(
      ManagerDeps([this] { return ClientTransport(); }),
      CertificateManager::Options{.purpose = "client",
                                  .store = StoreOptions(kClientPrefix),
                                  .wish = {.names = ClientNames(options_.node_name),
                                           .signer = "kubernetes.io/kube-apiserver-client-kubelet",
                                           .usage = "client auth"},
                                  .rotate = options_.rotate,
                                  .keep_key = true,
                                  .needs_address = false},
      CertificateManager::Callbacks{.on_saved = [this] { OnClientSaved(); },
                                    .on_replaced = [](Duration) {},
                                    .on_failure =
                                        [this] {
                                          if (client_metrics_)
                                            client_metrics_->renew_errors.Increment();
                                        }});
  client_->Start(found.client.ok() ? *found.client : std::nullopt, found.replace_client);
}

void Identity::StartServer(const Found& found) {
  if (!found.server.ok())
    deps_.env.log.Error("cannot read the serving certificate, requesting another one",
                        {KV("err", found.server.status())});
  server_ = std::make_unique<CertificateManager>(
      ManagerDeps([this] { return has_client_ ? deps_.api : nullptr; }),
      CertificateManager::Options{.purpose = "server",
                                  .store = StoreOptions(kServerPrefix),
                                  .wish = {.names = ServerNames(options_.node_name, addresses_),
                                           .signer = "kubernetes.io/kubelet-serving",
                                           .usage = "server auth"},
                                  .rotate = true,
                                  .keep_key = false,
                                  .needs_address = true},
      CertificateManager::Callbacks{
          .on_saved = [this] { ShowTtl(); },
          .on_replaced =
              [this](Duration used) {
                server_metrics_->rotation.Observe(std::chrono::duration<double>(used).count());
              },
          .on_failure = [this] { server_metrics_->renew_errors.Increment(); }});
  server_->Start(found.server.ok() ? *found.server : std::nullopt, false);
}

/// The kubeconfig's transport while its certificate is valid, else that of the bootstrap
/// kubeconfig.
apiclient::Transport* Identity::ClientTransport() const {
  const bool own = has_client_ && (client_ == nullptr || client_->usable());
  return own || deps_.bootstrap == nullptr ? deps_.api : deps_.bootstrap;
}

void Identity::OnClientSaved() {
  ShowTtl();
  FinishClient(write_config_);
}

/// Drops the saved key last: until the kubeconfig names its certificate, the next start needs it.
void Identity::FinishClient(bool write_config) {
  timer_ = 0;
  const KubeconfigWrite write{.path = options_.kubeconfig,
                              .bootstrap = options_.bootstrap_kubeconfig,
                              .certificate = current_,
                              .mode = KeyMode(),
                              .for_group = options_.for_group};
  deps_.env.strands.Run(kStrand, [this, write, write_config] {
    Status done = write_config ? WriteKubeconfig(deps_.files, write) : OkStatus();
    if (done.ok())
      done = CertificateStore(deps_.env.clock, deps_.files, StoreOptions(kClientPrefix)).DropKey();
    if (write_config) {
      deps_.env.loop.Post([this, done] { OnConfigWritten(done); });
    } else {
      deps_.env.log.LogIfError(done, "remove the key of a certificate request");
    }
  });
}

void Identity::OnConfigWritten(const Status& written) {
  if (stopped_) return;
  if (!written.ok()) {
    if (trouble_ != Message(written))
      deps_.env.log.Error("cannot write the kubeconfig, will retry", {KV("err", written)});
    trouble_ = Message(written);
    timer_ = deps_.env.loop.RunAfter(kWriteAgain, [this] { FinishClient(true); });
    return;
  }
  trouble_.clear();
  write_config_ = false;
  deps_.env.log.Info("kubeconfig written", {KV("kubeconfig", options_.kubeconfig)});
  if (!std::exchange(has_client_, true)) on_client_();
}

void Identity::OnAddresses(const std::vector<NodeAddress>& addresses) {
  addresses_ = addresses;
  const x509::Names names = ServerNames(options_.node_name, addresses);
  if (self_signed_) self_signed_->OnAddresses(names);
  if (server_) server_->SetNames(names);
}

void Identity::ShowTtl() {
  const WallTime now = deps_.env.clock.WallNow();
  if (client_metrics_ && client_) Show(client_metrics_->ttl, client_->certificate(), now);
  if (server_metrics_ && server_) Show(server_metrics_->ttl, server_->certificate(), now);
}

std::string Identity::Trouble() const {
  if (deps_.api != nullptr && !trouble_.empty()) return trouble_;
  if (deps_.api != nullptr && !has_client_)
    return fmt::format("no client certificate: {}", client_ == nullptr || client_->trouble().empty()
                                                        ? "not requested yet"
                                                        : client_->trouble());
  if (client_ && !client_->usable())
    return fmt::format("the client certificate has expired: {}", client_->trouble());
  if (self_signed_) return self_signed_->trouble();
  return {};
}

std::string Identity::serving_certificate_file() const {
  if (server_metrics_) return options_.cert_dir + "/kubelet-server-current.pem";
  return options_.self_signed ? options_.cert_dir + "/kubelet.crt" : std::string();
}

std::string Identity::serving_key_file() const {
  if (server_metrics_) return options_.cert_dir + "/kubelet-server-current.pem";
  return options_.self_signed ? options_.cert_dir + "/kubelet.key" : std::string();
}

}  // namespace splitlet::status
