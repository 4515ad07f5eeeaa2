#pragma once

/// What a PATCH makes of an object, by its three content types.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT of a patch that makes no sense; FAILED_PRECONDITION of an operation of
///         a JSON patch that cannot be done.
/// Source: RFC 7396; RFC 6902; Kubernetes API conventions, "Strategic Merge Patch".

#include <string_view>

#include "libs/apiclient/fake_json.h"

namespace splitlet::kube {
struct TypeInfo;
}

namespace splitlet::apiclient {

Json MergePatch(Json document, const Json& patch);
/// `type`: of the document; nullptr: a map of plain values.
StatusOr<Json> StrategicMergePatch(Json document, const Json& patch, const kube::TypeInfo* type);
StatusOr<Json> JsonPatch(Json document, const Json& operations);

}  // namespace splitlet::apiclient
