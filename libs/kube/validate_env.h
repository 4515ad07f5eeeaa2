#pragma once

/// Checks of environment variables; see validation_parts.h.

#include <string>

#include "libs/kube/validation_parts.h"

namespace k8s::io::api::core::v1 {
class ObjectFieldSelector;
class ResourceFieldSelector;
}  // namespace k8s::io::api::core::v1

namespace splitlet::kube {

void ValidateEnv(const Container& container, const ValidationContext& context,
                 const std::string& path, FieldErrors& errors);
/// For a file in a volume.
void ValidateVolumeFieldRef(const k8s::io::api::core::v1::ObjectFieldSelector& ref,
                            const std::string& path, FieldErrors& errors);
/// For a variable, or a file in a volume.
void ValidateResourceRef(const k8s::io::api::core::v1::ResourceFieldSelector& ref,
                         const std::string& path, FieldErrors& errors);

}  // namespace splitlet::kube
