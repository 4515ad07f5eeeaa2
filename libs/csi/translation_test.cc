#include "libs/csi/translation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/volume.pb.h"
#include "libs/csi/aws_id.h"
#include "libs/csi/names.h"
#include "libs/kube/codec.h"

namespace splitlet::csi {
namespace {

namespace core = k8s::io::api::core::v1;

template <class Object>
Object FromYaml(const std::string& yaml) {
  Object object;
  // A text that begins with a brace counts as JSON.
  const auto decoded =
      kube::DecodeInto("---\n" + yaml, "test.yaml", kube::Strictness::kStrict, object);
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  return object;
}

/// Sorted fields of the translated object: a map's order never matters.
std::string AsJson(const core::PersistentVolume& persistent) {
  return kube::ToJson(persistent, {.sorted = true});
}

struct Case {
  const char* name;
  const char* from;  // YAML
  const char* to;    // YAML, or the error after the prefix
};

void ExpectError(const Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "failed to translate in-tree pv to CSI: " + text);
}

const Case kPersistentVolumes[] = {
    {"aws: zone of a label, partition",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: us-east-1a}}, spec: "
     "{mountOptions: [noatime], awsElasticBlockStore: {volumeID: 'aws://us-east-1a/vol-1', "
     "partition: 1, readOnly: true, fsType: xfs}}}",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: us-east-1a}}, spec: "
     "{mountOptions: [noatime], csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1, readOnly: "
     "true, fsType: xfs, volumeAttributes: {partition: '1'}}, nodeAffinity: {required: "
     "{nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: "
     "In, values: [us-east-1a]}]}]}}}}"},
    {"aws: beta affinity in two terms, region becomes GA",
     "{metadata: {name: p}, spec: {awsElasticBlockStore: {volumeID: vol-1}, nodeAffinity: "
     "{required: {nodeSelectorTerms: [{matchExpressions: [{key: "
     "failure-domain.beta.kubernetes.io/zone, operator: In, values: [a]}, {key: "
     "failure-domain.beta.kubernetes.io/region, operator: In, values: [r]}]}, "
     "{matchExpressions: [{key: failure-domain.beta.kubernetes.io/zone, operator: NotIn, "
     "values: [b]}]}]}}}}",
     "{metadata: {name: p}, spec: {csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1, "
     "readOnly: false, volumeAttributes: {partition: '0'}}, nodeAffinity: {required: "
     "{nodeSelectorTerms: [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: "
     "In, values: [a]}, {key: topology.kubernetes.io/region, operator: In, values: [r]}]}, "
     "{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: NotIn, values: "
     "[b]}]}]}}}}"},
    {"aws: a label without a zone changes nothing",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: __}}, spec: "
     "{awsElasticBlockStore: {volumeID: vol-1}}}",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: __}}, spec: {csi: {driver: "
     "ebs.csi.aws.com, volumeHandle: vol-1, readOnly: false, volumeAttributes: {partition: "
     "'0'}}}}"},
    {"gce: no labels", "{metadata: {name: p}, spec: {gcePersistentDisk: {pdName: d}}}",
     "{metadata: {name: p}, spec: {csi: {driver: pd.csi.storage.gke.io, volumeHandle: "
     "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d, readOnly: false, volumeAttributes: "
     "{partition: ''}}}}"},
    {"gce: two zones of a region",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: "
     "europe-west1-c__europe-west1-b}}, spec: {gcePersistentDisk: {pdName: d, partition: 2}, "
     "accessModes: [ReadWriteMany]}}",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: "
     "europe-west1-c__europe-west1-b}}, spec: {accessModes: [ReadWriteOnce], csi: {driver: "
     "pd.csi.storage.gke.io, volumeHandle: "
     "projects/UNSPECIFIED/regions/europe-west1/disks/d, readOnly: false, volumeAttributes: "
     "{partition: '2'}}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: "
     "[{key: topology.gke.io/zone, operator: In, values: [europe-west1-b, "
     "europe-west1-c]}]}]}}}}"},
    {"gce: the beta label names the disk's zone, the GA label the affinity",
     "{metadata: {name: p, labels: {failure-domain.beta.kubernetes.io/zone: us-a1-a, "
     "topology.kubernetes.io/zone: us-b1-a}}, spec: {gcePersistentDisk: {pdName: d}}}",
     "{metadata: {name: p, labels: {failure-domain.beta.kubernetes.io/zone: us-a1-a, "
     "topology.kubernetes.io/zone: us-b1-a}}, spec: {csi: {driver: pd.csi.storage.gke.io, "
     "volumeHandle: projects/UNSPECIFIED/zones/us-a1-a/disks/d, readOnly: false, "
     "volumeAttributes: {partition: ''}}, nodeAffinity: {required: {nodeSelectorTerms: "
     "[{matchExpressions: [{key: topology.gke.io/zone, operator: In, values: "
     "[us-b1-a]}]}]}}}}"},
    {"gce: two regions",
     "{metadata: {labels: {topology.kubernetes.io/zone: us-b1-a__us-a1-a}}, spec: "
     "{gcePersistentDisk: {pdName: d}}}",
     "failed to get region from zones: multiple or no regions gotten from zones, got: "
     "map[us-a1:{} us-b1:{}]"},
    {"gce: no zone of its form",
     "{metadata: {labels: {topology.kubernetes.io/zone: us-a1-a__x}}, spec: "
     "{gcePersistentDisk: {pdName: d}}}",
     "failed to get region from zones: zone in unexpected format, expected: "
     "{locale}-{region}-{zone}, got: x"},
    {"azureDisk: attributes",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: z}}, spec: {azureDisk: "
     "{diskName: d, diskURI: /subscriptions/d, cachingMode: ReadOnly, fsType: ext4, kind: "
     "managed}}}",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: z}}, spec: {csi: {driver: "
     "disk.csi.azure.com, volumeHandle: /subscriptions/d, readOnly: false, fsType: ext4, "
     "volumeAttributes: {kind: Managed, cachingmode: ReadOnly, fstype: ext4}}}}"},
    {"azureDisk: shared", "{spec: {azureDisk: {diskURI: u, kind: Shared}}}",
     "kind(Shared) is not supported in csi migration"},
    {"azureFile: account of the secret, namespace of the claim, resource group",
     "{metadata: {name: pv1, annotations: {kubernetes.io/azure-file-resource-group: g}}, spec: "
     "{claimRef: {namespace: ns1}, azureFile: {secretName: azure-storage-account-acc-secret, "
     "shareName: s}}}",
     "{metadata: {name: pv1, annotations: {kubernetes.io/azure-file-resource-group: g}}, spec: "
     "{claimRef: {namespace: ns1}, csi: {driver: file.csi.azure.com, volumeHandle: "
     "g#acc#s#pv1#ns1, readOnly: false, volumeAttributes: {sharename: s}, nodeStageSecretRef: "
     "{name: azure-storage-account-acc-secret, namespace: ns1}}}}"},
    {"azureFile: a secret of another name, with its namespace",
     "{metadata: {name: pv1}, spec: {azureFile: {secretName: mysecret, shareName: s, "
     "secretNamespace: k}}}",
     "{metadata: {name: pv1}, spec: {csi: {driver: file.csi.azure.com, volumeHandle: "
     "'#mysecret#s#pv1#k', readOnly: false, volumeAttributes: {sharename: s}, "
     "nodeStageSecretRef: {name: mysecret, namespace: k}}}}"},
    {"azureFile: an empty namespace",
     "{metadata: {name: pv1}, spec: {claimRef: {namespace: ns1}, azureFile: {secretName: m, "
     "shareName: s, secretNamespace: ''}}}",
     "could not find a secret namespace in PersistentVolumeSource or ClaimRef"},
    {"cinder: the secret is dropped",
     "{metadata: {name: p}, spec: {cinder: {volumeID: c, fsType: ext4, secretRef: {name: x}}}}",
     "{metadata: {name: p}, spec: {csi: {driver: cinder.csi.openstack.org, volumeHandle: c, "
     "readOnly: false, fsType: ext4}}}"},
    {"portworx: both annotations, readOnly is dropped",
     "{metadata: {name: p, annotations: {openstorage.io/auth-secret-name: s, "
     "openstorage.io/auth-secret-namespace: ns}}, spec: {portworxVolume: {volumeID: w, "
     "readOnly: true}}}",
     "{metadata: {name: p, annotations: {openstorage.io/auth-secret-name: s, "
     "openstorage.io/auth-secret-namespace: ns}}, spec: {csi: {driver: pxd.portworx.com, "
     "volumeHandle: w, controllerPublishSecretRef: {name: s, namespace: ns}, "
     "nodeStageSecretRef: {name: s, namespace: ns}, nodePublishSecretRef: {name: s, namespace: "
     "ns}, controllerExpandSecretRef: {name: s, namespace: ns}, nodeExpandSecretRef: {name: s, "
     "namespace: ns}}}}"},
    {"portworx: one annotation",
     "{metadata: {name: p, annotations: {openstorage.io/auth-secret-name: s}}, spec: "
     "{portworxVolume: {volumeID: w}}}",
     "{metadata: {name: p, annotations: {openstorage.io/auth-secret-name: s}}, spec: {csi: "
     "{driver: pxd.portworx.com, volumeHandle: w}}}"},
    {"vsphere: zone and region in one term, a label is one value",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: a__b, "
     "topology.kubernetes.io/region: r}}, spec: {vsphereVolume: {volumePath: '[ds] v.vmdk', "
     "storagePolicyName: gold, storagePolicyID: x}}}",
     "{metadata: {name: p, labels: {topology.kubernetes.io/zone: a__b, "
     "topology.kubernetes.io/region: r}}, spec: {csi: {driver: csi.vsphere.vmware.com, "
     "volumeHandle: '[ds] v.vmdk', volumeAttributes: {storagepolicyname: gold}}, nodeAffinity: "
     "{required: {nodeSelectorTerms: [{matchExpressions: [{key: topology.csi.vmware.com/zone, "
     "operator: In, values: [a__b]}, {key: topology.csi.vmware.com/region, operator: In, "
     "values: [r]}]}]}}}}"},
};

TEST(CsiTranslation, OfPersistentVolumes) {
  for (const auto& c : kPersistentVolumes) {
    SCOPED_TRACE(c.name);
    const auto persistent = FromYaml<core::PersistentVolume>(c.from);
    EXPECT_TRUE(IsTranslated(persistent.spec().persistent_volume_source()));
    const auto made = TranslatePersistentVolume(persistent);
    if (c.to[0] != '{') {
      ExpectError(made.status(), c.to);
      continue;
    }
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(AsJson(*made), AsJson(FromYaml<core::PersistentVolume>(c.to)));
  }
}

const Case kInlineVolumes[] = {
    {"aws", "{name: v, awsElasticBlockStore: {volumeID: vol-1}}",
     "{metadata: {name: ebs.csi.aws.com-vol-1}, spec: {accessModes: [ReadWriteOnce], "
     "volumeMode: Filesystem, csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1, readOnly: "
     "false, volumeAttributes: {partition: '0'}}}}"},
    {"gce, read-only", "{name: v, gcePersistentDisk: {pdName: d, readOnly: true}}",
     "{metadata: {name: pd.csi.storage.gke.io-d}, spec: {accessModes: [ReadOnlyMany], "
     "volumeMode: Filesystem, csi: {driver: pd.csi.storage.gke.io, volumeHandle: "
     "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d, readOnly: true, volumeAttributes: "
     "{partition: ''}}}}"},
    {"azureDisk, an empty caching mode",
     "{name: v, azureDisk: {diskName: d, diskURI: /subscriptions/d, kind: Managed, cachingMode: "
     "''}}",
     "{metadata: {name: /subscriptions/d}, spec: {accessModes: [ReadWriteOnce], volumeMode: "
     "Filesystem, csi: {driver: disk.csi.azure.com, volumeHandle: /subscriptions/d, readOnly: "
     "false, volumeAttributes: {kind: Managed}}}}"},
    {"azureDisk, shared", "{name: v, azureDisk: {diskURI: 'https://x', kind: Shared}}",
     "kind(Shared) is not supported in csi migration"},
    {"azureFile",
     "{name: v, azureFile: {secretName: azure-storage-account-acc-secret, shareName: s}}",
     "{metadata: {name: '#acc#s#v#ns2'}, spec: {accessModes: [ReadWriteMany], volumeMode: "
     "Filesystem, csi: {driver: file.csi.azure.com, volumeHandle: '#acc#s#v#ns2', readOnly: "
     "false, volumeAttributes: {sharename: s}, nodeStageSecretRef: {name: "
     "azure-storage-account-acc-secret, namespace: ns2}}}}"},
    {"cinder", "{name: v, cinder: {volumeID: c}}",
     "{metadata: {name: cinder.csi.openstack.org-c}, spec: {accessModes: [ReadWriteOnce], "
     "volumeMode: Filesystem, csi: {driver: cinder.csi.openstack.org, volumeHandle: c, "
     "readOnly: false}}}"},
    {"portworx, read-only", "{name: v, portworxVolume: {volumeID: w, readOnly: true}}",
     "{metadata: {name: pxd.portworx.com-w}, spec: {accessModes: [ReadOnlyMany], volumeMode: "
     "Filesystem, csi: {driver: pxd.portworx.com, volumeHandle: w}}}"},
    {"vsphere with a policy", "{name: v, vsphereVolume: {volumePath: p, storagePolicyName: gold}}",
     "{metadata: {name: csi.vsphere.vmware.com-p}, spec: {accessModes: [ReadWriteOnce], "
     "volumeMode: Filesystem, csi: {driver: csi.vsphere.vmware.com, volumeHandle: p, "
     "volumeAttributes: {storagepolicyname: gold}}}}"},
    {"aws, no volume id", "{name: v, awsElasticBlockStore: {volumeID: 'aws://z/disk-1'}}",
     "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume "
     "(aws://z/disk-1)"},
};

TEST(CsiTranslation, OfVolumesInAPodsSpec) {
  for (const auto& c : kInlineVolumes) {
    SCOPED_TRACE(c.name);
    const auto volume = FromYaml<core::Volume>(c.from);
    EXPECT_TRUE(IsTranslated(volume.volume_source()));
    const auto made = TranslateInline(volume, "ns2");
    if (c.to[0] != '{') {
      ExpectError(made.status(), c.to);
      continue;
    }
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(AsJson(*made), AsJson(FromYaml<core::PersistentVolume>(c.to)));
  }
}

TEST(CsiTranslation, OtherVolumesAreNotTranslated) {
  EXPECT_FALSE(IsTranslated(FromYaml<core::Volume>("{name: v, rbd: {image: i}}").volume_source()));
  EXPECT_FALSE(TranslateInline(FromYaml<core::Volume>("{name: v, emptyDir: {}}"), "ns").ok());
  EXPECT_FALSE(TranslatePersistentVolume({}).ok());
}

TEST(CsiTranslation, OneGceModeRemains) {
  using Modes = std::vector<std::string>;
  const struct {
    Modes before, after;
  } kCases[] = {
      {{"ReadWriteMany"}, {"ReadWriteOnce"}},
      {{"ReadOnlyMany", "ReadWriteOnce"}, {"ReadWriteOnce"}},
      {{"ReadOnlyMany"}, {"ReadOnlyMany"}},
      {{"ReadOnlyMany", "ReadWriteMany"}, {"ReadWriteOnce"}},
      {{"ReadWriteOncePod"}, {"ReadWriteOncePod"}},
      {{}, {}},
  };
  for (const auto& c : kCases) {
    auto persistent = FromYaml<core::PersistentVolume>("{spec: {gcePersistentDisk: {pdName: d}}}");
    for (const auto& mode : c.before) persistent.mutable_spec()->add_access_modes(mode);
    const auto made = TranslatePersistentVolume(persistent);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_THAT(made->spec().access_modes(), testing::ElementsAreArray(c.after));
  }
}

TEST(CsiTranslation, IdsOfEbsVolumes) {
  const struct {
    const char *from, *to, *error;
  } kCases[] = {
      {"vol-1", "vol-1", ""},
      {"disk-1", "disk-1", ""},
      {"AWS://z/vol-1", "AWS://z/vol-1", ""},
      {"aws:///vol-1", "vol-1", ""},
      {"aws://us-east-1a/vol-1/", "vol-1", ""},
      {"aws://z/vol%2d1?a=%zz#f", "vol-1", ""},
      {"aws://vol-1", "", "Invalid format for AWS volume (aws://vol-1)"},
      {"aws://z/vol-1/x", "", "Invalid format for AWS volume (aws://z/vol-1/x)"},
      {"aws://z/vol%", "",
       "Invalid disk name (aws://z/vol%): parse \"aws://z/vol%\": invalid URL "
       "escape \"%\""},
      {"aws://z:x/vol-1", "",
       "Invalid disk name (aws://z:x/vol-1): parse \"aws://z:x/vol-1\": "
       "invalid port \":x\" after host"},
      {"aws://a b/vol-1", "",
       "Invalid disk name (aws://a b/vol-1): parse \"aws://a b/vol-1\": "
       "invalid character \" \" in host name"},
      {"aws://z/v\n", "",
       "Invalid disk name (aws://z/v\n): parse \"aws://z/v\\n\": net/url: "
       "invalid control character in URL"},
      {"aws://z/vol-1#%x", "",
       "Invalid disk name (aws://z/vol-1#%x): parse "
       "\"aws://z/vol-1#%x\": invalid URL escape \"%x\""},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.from);
    const auto id = EbsVolumeId(c.from);
    EXPECT_EQ(id.ok() ? *id : "", c.to);
    EXPECT_EQ(Message(id.status()), c.error);
  }
}

}  // namespace
}  // namespace splitlet::csi
