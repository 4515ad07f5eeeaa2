#pragma once

/// What the server in memory makes of an object that is created, updated or deleted: system fields,
/// defaults, what a subresource may change, graceful deletion.
/// Threads: pure functions, any.
/// Errors: ABORTED for a conflict, FAILED_PRECONDITION for what validation refuses.
/// Source: Kubernetes API conventions, "Metadata", "Spec and Status"; Kubernetes API, "Pod
///         Lifecycle", "Finalizers".

#include <memory>

#include "libs/apiclient/fake_objects.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"

namespace splitlet::apiclient {

struct RulesContext {
  WallTime now;
  Random& random;
};

/// Fills in what the server decides. The name is there afterwards.
Status PrepareCreate(const Place& place, google::protobuf::Message& object,
                     const RulesContext& context);

/// What is stored when `given` is put to the place (or what a patch made of `before`).
StatusOr<std::unique_ptr<google::protobuf::Message>> PrepareUpdate(
    const Place& place, const google::protobuf::Message& before,
    const google::protobuf::Message& given);

struct DeleteRequest {
  std::optional<int64_t> grace_period_seconds;
  std::string uid, resource_version;  // preconditions; "": none
};
struct Deletion {
  bool remove = false;
  std::unique_ptr<google::protobuf::Message> updated;  // nullptr: stays as it is
};
StatusOr<Deletion> PrepareDelete(const Place& place, const google::protobuf::Message& before,
                                 const DeleteRequest& request, WallTime now);

/// An update that takes the last finalizer of what is being deleted ends it.
bool EndsWithUpdate(const google::protobuf::Message& object);

std::string MakeUid(Random& random);
/// Appended to generateName.
std::string MakeSuffix(Random& random);

}  // namespace splitlet::apiclient
