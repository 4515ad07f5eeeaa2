#include "tests/fake_api/files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "libs/kube/time_text.h"

namespace splitlet::fake_api {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

Status Write(const std::string& path, const std::string& content) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary);
  chmod(fresh.c_str(), 0600);
  file << content;
  file.close();
  if (!file) return Unavailable("{} cannot be written", path);
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  return error ? Unavailable("{}: {}", path, error.message()) : OkStatus();
}

std::string Kubeconfig(const std::string& ca, const std::string& url, const std::string& user) {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: fake\n"
      "clusters:\n- name: fake\n  cluster:\n    server: {}\n    certificate-authority-data: {}\n"
      "contexts:\n- name: fake\n  context:\n    cluster: fake\n    user: fake\n"
      "users:\n- name: fake\n  user:\n{}",
      url, kube::EncodeBase64(ca), user);
}

}  // namespace

StatusOr<std::unique_ptr<FakeAuthority>> LoadOrMakeAuthority(const std::string& dir, WallTime now) {
  std::filesystem::create_directories(dir);
  const std::string certificate = dir + "/ca.crt", key = dir + "/ca.key";
  if (std::filesystem::exists(certificate) && std::filesystem::exists(key))
    return FakeAuthority::Load(Read(certificate), Read(key));
  auto made = std::make_unique<FakeAuthority>("fake-api", now);
  RETURN_IF_ERROR(Write(key, made->Key()), "authority");
  RETURN_IF_ERROR(Write(certificate, made->certificate()), "authority");
  return made;
}

Status WriteKubeconfigs(const FakeAuthority& authority, const FilesOptions& options, WallTime now) {
  const auto user = [&](const std::string& name, const std::string& group) {
    const auto issued = authority.Issue({.common_name = name, .organizations = {group}},
                                        {.from = now - std::chrono::hours{1},
                                         .until = now + std::chrono::hours{24 * 365},
                                         .client = true});
    return fmt::format("    client-certificate-data: {}\n    client-key-data: {}\n",
                       kube::EncodeBase64(issued.certificate), kube::EncodeBase64(issued.key));
  };
  const auto write = [&](const std::string& name, const std::string& who) {
    return Write(options.dir + "/" + name + ".kubeconfig",
                 Kubeconfig(authority.certificate(), options.url, who));
  };
  RETURN_IF_ERROR(write("node", user("system:node:" + options.node, "system:nodes")), "kubeconfig");
  RETURN_IF_ERROR(write("bootstrap", fmt::format("    token: {}\n", kBootstrapToken)),
                  "kubeconfig");
  // Written last: a reader that sees it also sees the other files.
  RETURN_IF_ERROR(write("admin", user("admin", "system:masters")), "kubeconfig");
  return OkStatus();
}

}  // namespace splitlet::fake_api
