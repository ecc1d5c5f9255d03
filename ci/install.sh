#!/usr/bin/env bash
# Downloads the archive of a release, compares it with its checksum, and puts the program on the path of later steps.
#
# SORTIE_RELEASES  where releases are: the archive is in $SORTIE_RELEASES/vVERSION
# SORTIE_VERSION   which one; the version of this checkout, if it is empty
# GITHUB_PATH      the file that the folder of the program is added to; without it, the folder is printed
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
version=${SORTIE_VERSION:-$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/Cargo.toml" | head -n 1)}
version=${version#v}
machine="$(uname -s)-$(uname -m)"
case "$machine" in
  Linux-x86_64 | Linux-aarch64) target=$(uname -m)-unknown-linux-musl ;;
  *)
    echo "::error title=sortie::there is no program for $machine"
    exit 2
    ;;
esac

name="sortie-$version-$target"
folder="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/sortie-$version"
mkdir -p "$folder"
for file in "$name.tar.gz" SHA256SUMS; do
  curl --fail --silent --show-error --location --retry 3 --output "$folder/$file" "$SORTIE_RELEASES/v$version/$file"
done
# A list without the archive would have nothing to compare, and that is no success.
if ! (cd "$folder" && grep -F "  $name.tar.gz" SHA256SUMS | sha256sum --check --strict --quiet); then
  echo "::error title=sortie::the archive does not have the checksum of the release"
  rm -f "$folder/$name.tar.gz"
  exit 2
fi
tar -xzf "$folder/$name.tar.gz" -C "$folder"
if [ -n "${GITHUB_PATH:-}" ]; then
  echo "$folder/$name" >> "$GITHUB_PATH"
else
  echo "$folder/$name"
fi
