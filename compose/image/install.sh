#!/usr/bin/env bash
# install-packages NAME...: installs Debian packages, and removes caches and lists afterwards.
set -euo pipefail

apt-get update -q
apt-get install -q -y --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /var/log/apt /var/log/dpkg.log
