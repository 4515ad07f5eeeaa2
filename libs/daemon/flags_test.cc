#include "libs/daemon/flags.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "libs/base/mutate.h"
#include "libs/config/kubelet_config.h"
#include "libs/config/test_head.h"

namespace splitlet::daemon {
namespace {

using config::kHead;
using config::KubeletConfig;
using config::Reading;

KubeletConfig Loaded(const std::string& body, const std::string& path = "/etc/k/config.yaml") {
  auto config = KubeletConfig::Load(path, kHead + body, Reading::kLenient);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *config : KubeletConfig{};
}

StatusOr<CommandLine> Parse(std::vector<const char*> args) {
  args.insert(args.begin(), "splitlet-pleg");
  return ParseCommandLine("pleg", static_cast<int>(args.size()), args.data());
}

TEST(CommandLineFlags, BadOnesAreNamed) {
  const struct {
    const char* name;
    std::vector<const char*> args;
    const char* part;
  } kCases[] = {
      {"an unknown flag", {"--bogus"}, "--bogus"},
      {"a flag without its value", {"--config"}, "--config"},
      {"a word that is no flag", {"hello"}, "hello"},
      {"an unknown log format", {"--log-format", "xml"}, "--log-format"},
      {"an unknown log level", {"--log-level", "loud"}, "--log-level"},
      {"a relative run folder", {"--run-dir", "run"}, "--run-dir: \"run\" is not an absolute path"},
      {"a root directory with steps back",
       {"--root-dir", "/var/lib/../kubelet"},
       "--root-dir: \"/var/lib/../kubelet\" is not a clean path"},
      {"a root directory that ends in a slash", {"--root-dir", "/srv/"}, "not a clean path"},
      {"a relative root directory", {"--root-dir", "kubelet"}, "not an absolute path"},
      {"the root of everything", {"--root-dir", "/"}, "not a clean path"},
      {"the root directory where the state is",
       {"--root-dir", "/srv/a", "--state-dir", "/srv//a/"},
       "--root-dir: \"/srv/a\" is where --state-dir has its own"},
      {"the root directory among the marks",
       {"--root-dir", "/srv/a/pods/kubelet", "--state-dir", "/srv/a"},
       "is where --state-dir has its own"},
      {"no address", {"--node-ip", "a"}, "--node-ip: \"a\" is no IP address"},
      {"two addresses of a family", {"--node-ip", "10.0.0.1,10.0.0.2"}, "one of each family"},
      {"any address beside another", {"--node-ip", "::,10.0.0.2"}, "--node-ip: :: stands alone"},
      {"a relative kubeconfig", {"--kubeconfig", "k"}, "--kubeconfig: \"k\" is not an absolute"},
      {"a bootstrap without what it makes",
       {"--bootstrap-kubeconfig", "/b"},
       "--bootstrap-kubeconfig: needs --kubeconfig"},
      {"no place for keys", {"--cert-dir", ""}, "--cert-dir"},
      {"a cloud of old", {"--cloud-provider", "aws"}, "\"aws\" is not external or empty"},
      {"labels that only a cluster gives",
       {"--node-labels", "kubernetes.io/foo=bar,a=b,node-role.kubernetes.io/x=,x.k8s.io/y=z"},
       "--node-labels: kubernetes.io/foo: a node may not give itself this label of kubernetes.io "
       "or "
       "k8s.io; node-role.kubernetes.io/x: a node"},
      {"a label without a value", {"--node-labels", "a"}, "--node-labels: a: want key=value"},
      {"a label with a bad value", {"--node-labels", "a=b c"}, "--node-labels: a: "},
      {"an empty node name", {"--node-name", "  "}, "--node-name: empty hostname is invalid"},
      {"a node name with an underscore",
       {"--node-name", "a_b"},
       "--node-name: \"a_b\" may hold only a-z, 0-9, - and ."},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const auto line = Parse(c.args);
    ASSERT_FALSE(line.ok());
    EXPECT_NE(Message(line.status()).find(c.part), std::string::npos) << line.status();
    EXPECT_EQ(Message(line.status()).find('\n'), std::string::npos);
  }
}

TEST(CommandLineFlags, LinksToTheRootDirectoryAreFollowed) {
  const auto dir = std::filesystem::canonical(testing::TempDir()) / "flags-root-dir";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir / "disk");
  std::filesystem::create_directory_symlink(dir / "disk", dir / "link");
  std::filesystem::create_directory_symlink("/", dir / "all");
  const auto root_dir_for = [](const std::string& given) {
    const auto line = Parse({"--root-dir", given.c_str()});
    return line.ok() ? line->flags.root_dir : std::string(Message(line.status()));
  };
  const std::string disk = dir / "disk";
  EXPECT_EQ(root_dir_for(disk), disk);
  EXPECT_EQ(root_dir_for(dir / "link"), disk);
  EXPECT_EQ(root_dir_for(dir / "link/kubelet"), disk + "/kubelet") << "it is made later";
  EXPECT_EQ(root_dir_for("/none/kubelet"), "/none/kubelet");
  EXPECT_EQ(root_dir_for(dir / "all"), "flags: --root-dir: \"/\" is not a clean path");
  std::filesystem::remove_all(dir);
}

TEST(CommandLineFlags, LabelsOfTheNode) {
  const auto line = Parse({"--node-labels", "node.kubernetes.io/foo=bar,a=,kubernetes.io/arch=x",
                           "--kubeconfig", "/etc/k"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->flags.node_labels,
            (std::map<std::string, std::string>{
                {"a", ""}, {"kubernetes.io/arch", "x"}, {"node.kubernetes.io/foo", "bar"}}));
  EXPECT_EQ(line->flags.kubeconfig, "/etc/k");
  EXPECT_EQ(line->flags.cert_dir, "/var/lib/kubelet/pki");
}

TEST(CommandLineFlags, TheNodeNameIsLowerCaseAndTrimmed) {
  const auto line = Parse({"--node-name", " Node-A.Example "});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_EQ(line->flags.node_name, "node-a.example");
  EXPECT_EQ(line->flags.process, "pleg");
  const auto kubelet = Parse({"--hostname-override", "B"});
  ASSERT_TRUE(kubelet.ok()) << kubelet.status();
  EXPECT_EQ(kubelet->flags.node_name, "b");
  EXPECT_FALSE(line->print);
}

TEST(CommandLineFlags, ANodeHasOneAddressOrOneOfEachFamily) {
  const auto both = Parse({"--node-ip", "10.0.0.1,fd00::1"});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->flags.node_ips, (std::vector<std::string>{"10.0.0.1", "fd00::1"}));
  EXPECT_TRUE(Parse({"--node-ip", "::"}).ok());
  EXPECT_TRUE(Parse({})->flags.node_ips.empty());
}

TEST(CommandLineFlags, HelpAndVersionPrint) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(help.ok() && help->print);
  EXPECT_NE(help->print->find("--manifests"), std::string::npos);
  const auto version = Parse({"--version"});
  ASSERT_TRUE(version.ok() && version->print);
  EXPECT_EQ(*version->print, std::string("splitlet-pleg ") + Version() + "\n");
}

TEST(CommandLineFlags, FlagsWinOverTheFileAndBothAgree) {
  KubeletConfig config = Loaded(
      "podLogsDir: /file\nstaticPodPath: /file-m\ncontainerRuntimeEndpoint: unix:///file.sock\n");
  auto given =
      Parse({"--log-dir", "/flag", "--manifests", "/m", "--runtime-endpoint", "unix:///flag.sock"});
  auto plain = Parse({});
  ASSERT_TRUE(given.ok() && plain.ok()) << given.status() << plain.status();
  KubeletConfig other = config;
  Reconcile(*given, config);
  EXPECT_EQ(config.pod_logs_dir, "/flag");
  EXPECT_EQ(config.static_pod_path, "/m");
  EXPECT_EQ(config.container_runtime_endpoint, "unix:///flag.sock");
  EXPECT_EQ(plain->flags.log_level, "info");
  Reconcile(*plain, other);
  EXPECT_EQ(plain->flags.log_dir, "/file");
  EXPECT_EQ(plain->flags.manifests, "/file-m");
  EXPECT_EQ(plain->flags.runtime_endpoint, "unix:///file.sock");
}

TEST(CommandLineFlags, TheFileSaysHowToLogWhereNoFlagDoes) {
  KubeletConfig file = Loaded("logging: {format: json, verbosity: 4}\n");
  auto plain = Parse({}), given = Parse({"--log-format", "text", "--log-level", "info"});
  ASSERT_TRUE(plain.ok() && given.ok());
  Reconcile(*plain, file);
  Reconcile(*given, file);
  EXPECT_EQ(plain->flags.log_format + " " + plain->flags.log_level, "json debug");
  EXPECT_EQ(given->flags.log_format + " " + given->flags.log_level, "text info");
  KubeletConfig usual = Loaded("logging: {verbosity: 2}\n");
  auto quiet = Parse({});
  ASSERT_TRUE(quiet.ok());
  Reconcile(*quiet, usual);
  EXPECT_EQ(quiet->flags.log_format + " " + quiet->flags.log_level, "text info");
}

TEST(ConfigFuzz, FlagsAreReadOrRefusedInOneLine) {
  const std::vector<std::string> corpus = {
      "--config", "--config=x",         "--node-name", "a.b",    "--run-dir", "/run", "--log-level",
      "debug",    "--http-address=1:2", "--version",   "--help", "-",         "--",   "=",
      ""};
  Random random(20260107);
  for (int i = 0; i < 5'000; ++i) {
    std::vector<std::string> words = {"splitlet-pleg"};
    for (size_t n = random.Below(5); n > 0; --n) {
      const std::string& from = corpus[random.Below(corpus.size())];
      words.push_back(random.Below(2) == 0 ? from : Mutate(from, corpus, {"\n", "-", "="}, random));
    }
    std::vector<const char*> args;
    for (const std::string& word : words) args.push_back(word.c_str());
    const auto line = ParseCommandLine("pleg", static_cast<int>(args.size()), args.data());
    if (line.ok()) continue;
    const std::string text(Message(line.status()));
    ASSERT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace splitlet::daemon
