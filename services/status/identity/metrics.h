#pragma once

/// Metrics of the node's certificates: of the client certificate only with rotateCertificates, of
/// the serving certificate only with serverTLSBootstrap.
/// Threads: any.
/// Units: seconds.
/// Source: docs/behaviour/logs-and-metrics.md, "Metrics".

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace splitlet::status {

struct ClientCertificateMetrics {
  explicit ClientCertificateMetrics(prometheus::Registry& registry);
  prometheus::Gauge& ttl;  // may be negative; +Inf without a certificate
  prometheus::Counter& renew_errors;
};

struct ServerCertificateMetrics {
  explicit ServerCertificateMetrics(prometheus::Registry& registry);
  prometheus::Gauge& ttl;
  prometheus::Counter& renew_errors;
  prometheus::Histogram& rotation;  // how long a replaced certificate was in use
};

}  // namespace splitlet::status
