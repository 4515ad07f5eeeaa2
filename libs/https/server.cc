#include "libs/https/server.h"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cctype>
#include <thread>

#include "libs/https/connection.h"
#include "libs/https/core.h"
#include "libs/https/keep_alive.h"
#include "libs/https/tls_context.h"
#include "libs/https/wire.h"

namespace splitlet::https {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

/// "10.0.0.7", also for an IPv4 client of an IPv6 socket.
std::string TextOf(const asio::ip::address& peer) {
  const bool mapped = peer.is_v6() && peer.to_v6().is_v4_mapped();
  if (!mapped) return peer.to_string();
  return asio::ip::make_address_v4(asio::ip::v4_mapped, peer.to_v6()).to_string();
}

class AsioServer final : public Server {
 public:
  AsioServer(ServerOptions options, Handler handler)
      : core_(std::make_shared<Core>(std::move(options), std::move(handler))),
        acceptor_(core_->context),
        pause_(core_->context) {}
  ~AsioServer() override { Stop(Duration{0}); }
  AsioServer(const AsioServer&) = delete;
  AsioServer& operator=(const AsioServer&) = delete;

  Status Listen();
  uint16_t port() const override { return port_; }
  void SetTls(std::shared_ptr<const TlsContext> context) override {
    core_->Post([this, context = std::move(context)] { tls_ = context; });
  }
  void SetClientAuthority(std::shared_ptr<const ClientAuthority> authority) override {
    core_->Post(
        [core = core_.get(), authority = std::move(authority)] { core->authority = authority; });
  }
  size_t connections() const override { return core_->count; }
  uint64_t displaced() const override { return core_->displaced; }
  void Stop(Duration grace) override;

 private:
  error_code Open(const tcp::endpoint& endpoint);
  void Accept();
  void AcceptLater();
  void Take(tcp::socket socket, const tcp::endpoint& peer);
  bool MakeRoom();
  void BeginStop(Duration grace);
  void CutAll();

  const std::shared_ptr<Core> core_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  std::shared_ptr<const TlsContext> tls_;
  uint16_t port_ = 0;
  std::thread thread_;
};

Status AsioServer::Listen() {
  error_code error;
  const auto address = asio::ip::make_address(core_->options.address, error);
  if (error) return InvalidArgument("\"{}\" is not an IP address", core_->options.address);
  const uint16_t port = core_->options.port;
  if (address.is_unspecified()) error = Open({asio::ip::address_v6::any(), port});
  // A machine may lack IPv6, but a taken port is an error for both families.
  const bool alone = error && error != asio::error::address_in_use;
  if (!address.is_unspecified() || (alone && address.is_v4())) error = Open({address, port});
  if (error) return ErrnoStatus(error.value());
  port_ = acceptor_.local_endpoint(error).port();
  Accept();
  thread_ = std::thread([core = core_] { core->Run(); });
  return OkStatus();
}

/// IPv6's "any" address accepts IPv4 too.
error_code AsioServer::Open(const tcp::endpoint& endpoint) {
  error_code error, ignored;
  acceptor_.close(ignored);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  if (!error && endpoint.address().is_v6() && endpoint.address().is_unspecified())
    acceptor_.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  return error;
}

void AsioServer::Accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || core_->stopping) return;
    if (error) return AcceptLater();
    error_code gone;
    const tcp::endpoint peer = socket.remote_endpoint(gone);
    if (!gone) Take(std::move(socket), peer);
    Accept();
  });
}

/// After errors such as missing descriptors an immediate retry would spin.
void AsioServer::AcceptLater() {
  pause_.expires_after(std::chrono::milliseconds(100));
  pause_.async_wait([this](error_code error) {
    if (!error && !core_->stopping) Accept();
  });
}

void AsioServer::Take(tcp::socket socket, const tcp::endpoint& peer) {
  if (core_->options.tls && tls_ == nullptr) return;  // no certificate yet: the handshake fails
  if (!MakeRoom()) return;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  KeepAlive(socket);
  auto wire =
      core_->options.tls ? tls_->MakeWire(std::move(socket)) : MakePlainWire(std::move(socket));
  auto& all = core_->connections;
  const auto place = all.insert(
      all.end(), std::make_shared<Connection>(core_, std::move(wire), TextOf(peer.address())));
  ++core_->count;
  // A copy, because a connection that fails immediately leaves the list while it starts.
  const std::shared_ptr<Connection> connection = *place;
  connection->Start(place);
}

/// Any client may connect, so the oldest unauthenticated connection is cut.
bool AsioServer::MakeRoom() {
  auto& all = core_->connections;
  if (all.size() < core_->options.max_connections) return true;
  const auto stranger =
      std::ranges::find_if(all, [](const auto& connection) { return !connection->known(); });
  if (stranger == all.end()) return false;
  ++core_->displaced;
  const std::shared_ptr<Connection> cut = *stranger;
  cut->Cut();
  return true;
}

void AsioServer::BeginStop(Duration grace) {
  core_->stopping = true;
  error_code ignored;
  acceptor_.close(ignored);
  const auto all = core_->connections;
  for (const auto& connection : all)
    if (connection->idle()) connection->Cut();
  pause_.cancel();
  if (core_->connections.empty()) return;
  if (grace <= Duration{0}) return CutAll();
  core_->grace.expires_after(grace);
  core_->grace.async_wait([this](error_code) { CutAll(); });
}

void AsioServer::CutAll() {
  const auto all = core_->connections;
  for (const auto& connection : all) connection->Cut();
}

void AsioServer::Stop(Duration grace) {
  if (!thread_.joinable()) return;
  core_->Post([this, grace] { BeginStop(grace); });
  thread_.join();
}

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::string_view Request::Header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (SameName(key, name)) return value;
  return {};
}

void Request::SetHeader(std::string_view name, std::string_view value) {
  std::erase_if(headers, [name](const auto& header) { return SameName(header.first, name); });
  headers.emplace_back(name, value);
}

StatusOr<std::unique_ptr<Server>> StartServer(ServerOptions options, Handler handler) {
  const bool six = options.address.find(':') != std::string::npos;
  const std::string place =
      fmt::format("{}:{}", six ? "[" + options.address + "]" : options.address, options.port);
  auto server = std::make_unique<AsioServer>(std::move(options), std::move(handler));
  RETURN_IF_ERROR(server->Listen(), "listen on {}", place);
  return server;
}

}  // namespace splitlet::https
