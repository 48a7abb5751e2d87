#!/usr/bin/env bash
# runpath.sh <folder>...: no library and no program in the folders has an empty entry in its RUNPATH, which would mean the
# current folder of whoever starts it.
set -euo pipefail

count=0
bad=0
while IFS= read -r file; do
    path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]/\2/p')
    count=$((count + 1))
    case ":$path:" in
        :: | *::*)
            if [[ -n $path ]]; then
                echo "$file: an empty entry in its RUNPATH: $path" >&2
                bad=$((bad + 1))
            fi
            ;;
    esac
done < <(find "$@" -maxdepth 1 -type f \( -name '*.so*' -o -perm -u+x \))
if [[ $count -eq 0 ]]; then
    echo "no libraries and no programs in $*" >&2
    exit 1
fi
echo "$count files, $bad with an empty entry"
[[ $bad -eq 0 ]]
