#pragma once

/// The first two lines of every configuration file of the tests.

#include <string>

namespace splitlet::config {

inline const std::string kHead =
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

}  // namespace splitlet::config
