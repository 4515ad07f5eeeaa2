#include "libs/http/curl_library.h"

#include <dlfcn.h>

#include <mutex>
#include <optional>

namespace splitlet::http {
namespace {

constexpr const char* kFile = "libcurl.so.4";

template <class Function>
Status Find(void* library, const char* name, Function& function) {
  void* const found = dlsym(library, name);
  if (found == nullptr) return FailedPrecondition("{} has no {}", kFile, name);
  function = reinterpret_cast<Function>(found);
  return OkStatus();
}

StatusOr<CurlLibrary> Load() {
  void* const library = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return FailedPrecondition("HTTP needs libcurl: {}", why == nullptr ? kFile : why);
  }
  CurlLibrary curl;
  RETURN_IF_ERROR(Find(library, "curl_easy_init", curl.easy_init), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_cleanup", curl.easy_cleanup), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_reset", curl.easy_reset), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_setopt", curl.easy_setopt), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_getinfo", curl.easy_getinfo), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_perform", curl.easy_perform), "load");
  RETURN_IF_ERROR(Find(library, "curl_easy_strerror", curl.easy_strerror), "load");
  RETURN_IF_ERROR(Find(library, "curl_free", curl.free), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_add_handle", curl.multi_add_handle), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_cleanup", curl.multi_cleanup), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_info_read", curl.multi_info_read), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_init", curl.multi_init), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_remove_handle", curl.multi_remove_handle), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_setopt", curl.multi_setopt), "load");
  RETURN_IF_ERROR(Find(library, "curl_multi_socket_action", curl.multi_socket_action), "load");
  RETURN_IF_ERROR(Find(library, "curl_slist_append", curl.slist_append), "load");
  RETURN_IF_ERROR(Find(library, "curl_slist_free_all", curl.slist_free_all), "load");
  RETURN_IF_ERROR(Find(library, "curl_url", curl.url), "load");
  RETURN_IF_ERROR(Find(library, "curl_url_cleanup", curl.url_cleanup), "load");
  RETURN_IF_ERROR(Find(library, "curl_url_get", curl.url_get), "load");
  RETURN_IF_ERROR(Find(library, "curl_url_set", curl.url_set), "load");
  return curl;
}

}  // namespace

StatusOr<const CurlLibrary*> LoadCurl() {
  static std::mutex mutex;
  static std::optional<CurlLibrary> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    ASSIGN_OR_RETURN(loaded, Load(), "{}", kFile);
  }
  return &*loaded;
}

}  // namespace splitlet::http
