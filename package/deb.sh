#!/usr/bin/env bash
# Builds the Debian package of the headers, libcairn-dev_VERSION_all.deb, in a folder: deb.sh FOLDER
set -euo pipefail
umask 022
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# The package only recommends zlib, so its cairn.pc does not require zlib.
meson setup "$work/build" "$top" --prefix=/usr -Dzlib=disabled
DESTDIR=$root meson install -C "$work/build"
version=$(PKG_CONFIG_PATH=$root/usr/share/pkgconfig pkg-config --modversion cairn)
install -D -m 644 "$top/LICENSE" "$root/usr/share/doc/libcairn-dev/copyright"
mkdir "$root/DEBIAN"
cat > "$root/DEBIAN/control" <<CONTROL
Package: libcairn-dev
Version: $version
Architecture: all
Section: libdevel
Maintainer: The authors of cairn <cairn@example.com>
Depends: libxsimd-dev
Recommends: libboost-dev, nlohmann-json3-dev, zlib1g-dev
Description: training steps with activation checkpointing, compiled by the C++ compiler
 cairn is a header-only C++20 library for training neural networks and differentiating programs on a CPU.
CONTROL
mkdir -p "$1"
dpkg-deb --root-owner-group --build "$root" "$1/libcairn-dev_${version}_all.deb"
