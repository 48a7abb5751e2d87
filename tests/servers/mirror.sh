# shellcheck shell=bash
# Sourced by whatever unpacks another Debian.

# The mirror that this machine's own packages come from.
mirror() {
    local codename
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016  # expanded by apt-get
    apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' |
        awk -v release="$codename" '$1 == release && $2 == "main" && !found++ { print $3 }'
}
