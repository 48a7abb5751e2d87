#!/usr/bin/env bash
# rootfs.sh <program> <folder>: puts into <folder> all that the program needs to run alone: itself, the libraries that
# it loads, the certificate authorities, a user, a place for its data.
set -euo pipefail

program=$1 root=$2
mkdir -p "$root"/{etc/ssl/certs,tmp,usr/bin,var/lib/postroom}
cp "$program" "$root/usr/bin/postroom"
# Names are resolved by libraries that glibc loads when it needs them, which no list of the program's has.
libraries=$(ldd "$program" | grep -o '/[^ ]*')
for library in $libraries "$(dirname "$(ldd "$program" | grep -o '/[^ ]*libc\.so\.6')")"/libnss_{dns,files}.so.2; do
    # Our own may come from a build folder; the program looks for them in ../lib.
    case $library in
        /lib* | /usr/lib*) folder=$(dirname "$library") ;;
        *) folder=/usr/lib ;;
    esac
    mkdir -p "$root$folder"
    cp -L "$library" "$root$folder"
done
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo 'postroom:x:10001:10001::/var/lib/postroom:/sbin/nologin' >"$root/etc/passwd"
echo 'postroom:x:10001:' >"$root/etc/group"
chmod 1777 "$root/tmp"
chown 10001:10001 "$root/var/lib/postroom"
