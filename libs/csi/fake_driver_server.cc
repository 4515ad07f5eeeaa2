#include "libs/csi/fake_driver_server.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>

#include "csi/v1/csi.grpc.pb.h"
#include "libs/rpc/convert.h"
#include "libs/rpc/library.h"

namespace splitlet::csi {
namespace {

using grpc::ServerContext;

class IdentityService final : public v1::Identity::Service {
 public:
  explicit IdentityService(FakeDriver& driver) : driver_(driver) {}
  grpc::Status GetPluginInfo(ServerContext*, const v1::GetPluginInfoRequest*,
                             v1::GetPluginInfoResponse* response) override {
    const FakeDriverTraits traits = driver_.Traits();
    response->set_name(traits.name);
    response->set_vendor_version(traits.version);
    return grpc::Status::OK;
  }
  grpc::Status Probe(ServerContext*, const v1::ProbeRequest*,
                     v1::ProbeResponse* response) override {
    response->mutable_ready()->set_value(true);
    return grpc::Status::OK;
  }

 private:
  FakeDriver& driver_;
};

class NodeService final : public v1::Node::Service {
 public:
  explicit NodeService(FakeDriver& driver) : driver_(driver) {}

  grpc::Status NodeStageVolume(ServerContext* context, const v1::NodeStageVolumeRequest* request,
                               v1::NodeStageVolumeResponse*) override {
    return Call("NodeStageVolume", *context, *request);
  }
  grpc::Status NodeUnstageVolume(ServerContext* context,
                                 const v1::NodeUnstageVolumeRequest* request,
                                 v1::NodeUnstageVolumeResponse*) override {
    return Call("NodeUnstageVolume", *context, *request);
  }
  grpc::Status NodePublishVolume(ServerContext* context,
                                 const v1::NodePublishVolumeRequest* request,
                                 v1::NodePublishVolumeResponse*) override {
    return Call("NodePublishVolume", *context, *request);
  }
  grpc::Status NodeUnpublishVolume(ServerContext* context,
                                   const v1::NodeUnpublishVolumeRequest* request,
                                   v1::NodeUnpublishVolumeResponse*) override {
    return Call("NodeUnpublishVolume", *context, *request);
  }
  grpc::Status NodeExpandVolume(ServerContext* context, const v1::NodeExpandVolumeRequest* request,
                                v1::NodeExpandVolumeResponse* response) override {
    response->set_capacity_bytes(request->capacity_range().required_bytes());
    return Call("NodeExpandVolume", *context, *request);
  }
  grpc::Status NodeGetVolumeStats(ServerContext* context,
                                  const v1::NodeGetVolumeStatsRequest* request,
                                  v1::NodeGetVolumeStatsResponse* response) override {
    const VolumeStats stats = driver_.Traits().stats;
    if (stats.bytes) Fill(*response->add_usage(), *stats.bytes, v1::VolumeUsage::BYTES);
    if (stats.inodes) Fill(*response->add_usage(), *stats.inodes, v1::VolumeUsage::INODES);
    if (stats.abnormal) {
      response->mutable_volume_condition()->set_abnormal(true);
      response->mutable_volume_condition()->set_message(*stats.abnormal);
    }
    return Call("NodeGetVolumeStats", *context, *request);
  }
  grpc::Status NodeGetCapabilities(ServerContext* context,
                                   const v1::NodeGetCapabilitiesRequest* request,
                                   v1::NodeGetCapabilitiesResponse* response) override {
    const NodeCapabilities capabilities = driver_.Traits().capabilities;
    for (int type = 1; type <= static_cast<int>(NodeCapability::kVolumeMountGroup); ++type) {
      if (!capabilities.Has(static_cast<NodeCapability>(type))) continue;
      response->add_capabilities()->mutable_rpc()->set_type(
          static_cast<v1::NodeServiceCapability::RPC::Type>(type));
    }
    return Call("NodeGetCapabilities", *context, *request);
  }
  grpc::Status NodeGetInfo(ServerContext* context, const v1::NodeGetInfoRequest* request,
                           v1::NodeGetInfoResponse* response) override {
    const NodeInfo node = driver_.Traits().node;
    response->set_node_id(node.node_id);
    response->set_max_volumes_per_node(node.max_volumes);
    auto& segments = *response->mutable_accessible_topology()->mutable_segments();
    for (const auto& [key, value] : node.topology) segments[key] = value;
    return Call("NodeGetInfo", *context, *request);
  }

 private:
  grpc::Status Call(const char* method, ServerContext& context,
                    const google::protobuf::Message& request) {
    return rpc::ToGrpc(driver_.Call(method, request, [&context] { return context.IsCancelled(); }));
  }
  static void Fill(v1::VolumeUsage& wire, const VolumeUsage& usage, v1::VolumeUsage::Unit unit) {
    wire.set_available(usage.available);
    wire.set_total(usage.total);
    wire.set_used(usage.used);
    wire.set_unit(unit);
  }

  FakeDriver& driver_;
};

class Server final : public FakeDriverServer {
 public:
  explicit Server(FakeDriver& driver) : identity_(driver), node_(driver) {}
  ~Server() override { Stop(); }

  Status Start(const std::string& socket_path) {
    rpc::KeepLibraryUp();
    unlink(socket_path.c_str());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_path, grpc::InsecureServerCredentials());
    builder.RegisterService(&identity_);
    builder.RegisterService(&node_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return Unavailable("cannot listen on {}", socket_path);
    return OkStatus();
  }
  void Stop() override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::time_point{});
    server_->Wait();
    server_.reset();
  }

 private:
  IdentityService identity_;
  NodeService node_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

StatusOr<std::unique_ptr<FakeDriverServer>> FakeDriverServer::Start(
    FakeDriver& driver, const std::string& socket_path) {
  auto server = std::make_unique<Server>(driver);
  if (Status started = server->Start(socket_path); !started.ok()) return started;
  return std::unique_ptr<FakeDriverServer>(std::move(server));
}

}  // namespace splitlet::csi
