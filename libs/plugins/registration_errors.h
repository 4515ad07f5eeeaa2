#pragma once

/// Texts of a registration that failed, as a kubelet logs them and sends them to the plugin. The
/// code is that of the cause.
/// Threads: pure functions, any.
/// Source:  kubelet pluginmanager operation_generator.

#include <string>

#include "libs/base/status.h"

namespace splitlet::plugins {

Status DialFailed(const std::string& socket, const Status& why);
Status GetInfoFailed(const std::string& socket, const Status& why);
Status NoHandler(const std::string& socket, const std::string& type);
Status ValidationFailed(const Status& why);
Status RegistrationFailed(const Status& why);
Status ReportFailed(const std::string& socket, const Status& why);

}  // namespace splitlet::plugins
