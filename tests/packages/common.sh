# shellcheck shell=bash
# Sourced by the tests of the Debian packages, which set `here`.

# shellcheck source=tests/servers/mirror.sh
source "${here:?}/../servers/mirror.sh"

die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# make_packages <cpack> <build folder> <folder>: the packages of a build tree.
make_packages() {
    (cd "$2" && "$1" --config CPackConfig.cmake -B "$3") >"$3/cpack.log" 2>&1 || {
        cat "$3/cpack.log"
        die "cpack failed"
    }

}

# in_clean_debian <folder> <script>: runs the script in a Debian 12 with nothing but apt in it, which is gone afterwards.
# The script finds the folder's files in /root/files.
in_clean_debian() {
    [[ $EUID -eq 0 ]] || die "a chroot needs root"
    mmdebstrap --quiet --mode=root --variant=apt --skip=cleanup --aptopt='Acquire::Check-Valid-Until "false"' \
        --customize-hook="mkdir \"\$1/root/files\" && cp -r \"$1/.\" \"\$1/root/files\"" \
        --customize-hook="cp \"$2\" \"\$1/root/script\" && chroot \"\$1\" bash /root/script" \
        bookworm /dev/null "$(mirror)"
}
