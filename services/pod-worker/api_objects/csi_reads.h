#pragma once

/// The API server's objects for volumes of CSI drivers.
/// In:      reads of volumes/csi; answers of the API server.
/// Owns:    the driver objects, and the tokens of pods until Release, in memory only.
/// Out:     a watch of driver objects; a GET for each read of another object; TokenRequests;
///          `on_drivers` when driver objects changed.
/// Killed:  the next start reads again.
/// Threads: the loop's.
/// Errors:  those of the API server; a valid token hides a failed renewal.
/// Source:  docs/behaviour/objects.md, "From an API server"; kubelet token.Manager.

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "services/pod-worker/api_objects/api_calls.h"
#include "services/pod-worker/api_objects/watched_collection.h"
#include "services/pod-worker/objects/csi_objects.h"

namespace splitlet::pod_worker {

class CsiReads final : public CsiObjects {
 public:
  /// `context` outlives it.
  CsiReads(const ApiContext& context, std::string node_name);

  void Start(std::function<void()> on_drivers);
  /// Forgets the pod's tokens.
  void Release(const std::string& uid);

  StatusOr<ObjectPtr<CsiDriverObject>> FindDriver(const std::string& name) const override;
  void ReadNode(Got<NodeObject> done) override;
  void ReadAttachment(const std::string& name, Got<VolumeAttachment> done) override;
  void ReadSecret(const ObjectName& name, Got<Secret> done) override;
  void GetToken(const TokenOwner& pod, const TokenWish& wish,
                std::function<void(StatusOr<BoundToken>)> done) override;

 private:
  struct Token {
    BoundToken value;
    Clock::Time refresh_at, expires_at;
  };
  using TokenKey = std::pair<std::string, TokenWish>;  // UID of the pod

  template <class T>
  void Read(const std::string& path, Got<T> done);

  const ApiContext& context_;
  const std::string node_name_;
  ApiCalls calls_;
  WatchedCollection drivers_;
  std::map<TokenKey, Token> tokens_;
};

}  // namespace splitlet::pod_worker
