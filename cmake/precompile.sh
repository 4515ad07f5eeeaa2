#!/bin/sh
# Launches the compiler for a precompiled header, in place of what launches it for sources:
#
#   precompile.sh LAUNCHER... COMPILER -x c++-header ... -MF DEPENDENCIES ... -o HEADER.gch ...
#
# An older HEADER.gch goes first: ccache takes one that is there for a part of what is compiled. HEADER.gch.sum is what
# ccache knows the header by (CCACHE_PCH_EXTSUM): what it was made from. The file itself holds paths, so that checkouts
# would share nothing, and ccache would read hundreds of megabytes for each source.
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
