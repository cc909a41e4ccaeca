#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the command-line tools of spead2 (https://spead2.readthedocs.io, LGPL-3: run as programs of their own, never
# linked) from the source distribution that the Python package index has, in build/peers: spead2_recv, spead2_send.
#   bench/peers/build_spead2.sh PYTHON
set -euo pipefail
python=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=4.5.1
sha256=699f18f749f71875733b759038984628af8f6088042da77f34203f8d28046b1f
folder=$PWD/build/peers
tools=(spead2_recv spead2_send)

installed() {
  local tool
  for tool in "${tools[@]}"; do [[ -x $folder/bin/$tool ]] || return 1; done
  [[ $(cat "$folder/bin/version" 2>/dev/null) == "$version" ]]
}

make_venv() {  # meson, and what spead2's meson.build asks of Python
  [[ -x $folder/venv/bin/meson ]] && return
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --disable-pip-version-check meson ninja jinja2 pycparser packaging
}

# Not by `pip download`, which builds a package to know what it is called, and so would compile all of it for nothing.
unpack_source() {
  local archive=$folder/spead2-$version.tar.gz
  [[ -e $archive ]] || "$folder/venv/bin/python" bench/peers/get_source.py spead2 "$version" "$sha256" "$archive"
  tar -xzf "$archive" -C "$folder"
}

build_tools() {  # no ibverbs: it needs a network card that has them
  local source=$folder/spead2-$version tool
  PATH="$folder/venv/bin:$PATH"
  [[ -e $source/build/build.ninja ]] ||
    meson setup "$source/build" "$source" --buildtype=release -Dibv=disabled -Dmlx5dv=disabled -Dunit_test=disabled -Dcuda=disabled -Dgdrapi=disabled
  ninja -C "$source/build" "${tools[@]/#/src/}"
  mkdir -p "$folder/bin"
  for tool in "${tools[@]}"; do cp "$source/build/src/$tool" "$folder/bin/"; done
  echo "$version" >"$folder/bin/version"
}

installed && exit
mkdir -p "$folder"
make_venv
unpack_source
build_tools
