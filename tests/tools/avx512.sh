#!/usr/bin/env bash
# Runs test programs on an emulated AVX-512 processor: avx512.sh KERNEL PROGRAM...
# Bochs emulates the processor and boots Linux from a CD. The first process runs the programs, which print on a serial
# port. The suite `learning` is left out, because training takes too long in an emulator, which needs two hundred times
# as long as this processor.
set -euo pipefail
kernel=$(realpath "$1")
mapfile -t programs < <(realpath "${@:2}")
kept=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../kept")
folder=$(mktemp -d) bochs= reader=
# Bochs survives all other signals.
trap 'for p in $bochs $reader; do kill -KILL "$p" || true; done; rm -rf "$folder"' EXIT
cd "$folder"

mkdir -p root/tmp disc
cp -L "${programs[@]}" root
mkdir root/tests && cp -r "$kept" root/tests  # the programs read ../../tests/kept
ldd /bin/dash "${programs[@]}" | grep -o '/[^ ]* (' | cut -d' ' -f1 | sort -u | xargs cp -L --parents -t root
cp --parents /bin/dash root
# LD_BIND_NOW makes the loader find all functions before main. To find a function at its first call, the loader would
# save registers with XSAVEC, and Bochs 2.7 may refuse to restore what it has saved in this way.
cat >root/init <<END
#!/bin/dash
export LD_BIND_NOW=1 OPENBLAS_NUM_THREADS=1
for program in ${programs[*]##*/}; do
  /\$program --report_level=short --color_output=no --run_test='!learning' 2>&1
  echo "\$program ended with \$?"
done
echo the end
read forever
END
chmod +x root/init
(cd root && find . | cpio --quiet -oH newc) >disc/initrd
cp "$kernel" disc/linux
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 disc
# Bochs 2.7 reports a wrong size for XSAVEC and XSAVES. Linux would therefore disable AVX.
cat >disc/isolinux.cfg <<'END'
default linux
label linux
kernel linux
append initrd=initrd console=ttyS0 quiet mitigations=off clearcpuid=xsavec,xsaves rdinit=/init
END
xorriso -as mkisofs -quiet -o cd.iso -b isolinux.bin -no-emul-boot -boot-load-size 4 -boot-info-table disc
cat >bochsrc <<'END'
cpu: model=corei7_skylake_x, ips=100000000
megs: 1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=cd.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial
display_library: term
log: log
END
echo continue >commands  # Bochs of Debian starts in its debugger
TERM=xterm bochs -q -f bochsrc -rc commands </dev/null >screen 2>&1 &
bochs=$!
# Bochs draws the cursor on a terminal of its own, and waits until its output is read.
until grep -qs '^Bochs connected' screen || ! kill -0 "$bochs" 2>/dev/null || ((SECONDS > 300)); do sleep 0.1; done
cat "$(sed -n 's/^Bochs connected to screen "\(.*\)"/\1/p' screen)" >/dev/null &
reader=$!
until grep -qs '^the end' serial || ! kill -0 "$bochs" 2>/dev/null || ((SECONDS > 20000)); do sleep 1; done

tr -d '\r' <serial | tee printed
sum() { sed -n "s/$1/\1/p" printed | awk '{ n += $1 } END { print n + 0 }'; }
passed=$(sum '^ *\([0-9]*\) test cases* out of [0-9]* passed')
failed=$(($(sum '^Running \([0-9]*\) test cases*.*') - passed))
(($(grep -c ' ended with 0$' printed) == ${#programs[@]} || failed > 0)) || failed=1
echo "$passed passed, $failed failed"
((failed == 0))
