#!/bin/sh
# Launches the compiler for a precompiled header, without ccache: the file holds paths of this checkout.
#
#   precompile.sh COMPILER -x c++-header ... -MF DEPENDENCIES ... -o HEADER.pch ...
#
# HEADER.pch.sum is what ccache knows the header by (CCACHE_PCH_EXTSUM): what it was made from. So checkouts share what
# is compiled with it, and ccache need not read 70 MB for each source.
set -eu

header='' dependencies='' before='' precompiles=''
for argument; do
  case $before in
    -x) [ "$argument" != c++-header ] || precompiles=1 ;;
    -o) header=$argument ;;
    -MF) dependencies=$argument ;;
  esac
  before=$argument
done
[ -n "$precompiles" ] || exec "$@"

rm -f "$header" "$header.sum"
"$@"
# TARGET: FILE FILE \
files=$(sed -e '1s/^[^:]*://' -e 's/\\$//' "$dependencies")
# shellcheck disable=SC2086  # one argument for each file; their names have no spaces
sha256sum $files >"$header.sums"
cut -d ' ' -f 1 "$header.sums" | sha256sum >"$header.sum"
rm "$header.sums"
