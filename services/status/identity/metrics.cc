#include "services/status/identity/metrics.h"

namespace splitlet::status {
namespace {

const prometheus::Histogram::BucketBoundaries kAgeBuckets = {
    60, 3600, 14400, 86400, 604800, 2592000, 7776000, 15552000, 31104000, 124416000};

}  // namespace

ClientCertificateMetrics::ClientCertificateMetrics(prometheus::Registry& registry)
    : ttl(prometheus::BuildGauge()
              .Name("kubelet_certificate_manager_client_ttl_seconds")
              .Help("Time until the client certificate expires; +Inf without one")
              .Register(registry)
              .Add({})),
      renew_errors(prometheus::BuildCounter()
                       .Name("kubelet_certificate_manager_client_expiration_renew_errors")
                       .Help("Attempts to renew the client certificate that failed")
                       .Register(registry)
                       .Add({})) {}

ServerCertificateMetrics::ServerCertificateMetrics(prometheus::Registry& registry)
    : ttl(prometheus::BuildGauge()
              .Name("kubelet_certificate_manager_server_ttl_seconds")
              .Help("Time until the serving certificate expires; +Inf without one")
              .Register(registry)
              .Add({})),
      renew_errors(prometheus::BuildCounter()
                       .Name("kubelet_server_expiration_renew_errors")
                       .Help("Attempts to renew the serving certificate that failed")
                       .Register(registry)
                       .Add({})),
      rotation(prometheus::BuildHistogram()
                   .Name("kubelet_certificate_manager_server_rotation_seconds")
                   .Help("Time that a serving certificate was in use when it was replaced")
                   .Register(registry)
                   .Add({}, kAgeBuckets)) {}

}  // namespace splitlet::status
