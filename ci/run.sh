#!/usr/bin/env bash
# Runs the attacks, and writes what came of them: a folder with reports, a summary of the job, and annotations.
#
# The exit code of the run goes to the output `code`, so that the reports are kept before the job fails.
#
# SORTIE_RUN       what to play, as words of a command line
# SORTIE_AGENT, SORTIE_TARGET, SORTIE_GATE, SORTIE_BASELINE, SORTIE_FAIL_ON
#                  values of the options that are called like that; an empty one is left out
set -euo pipefail

# Words are split at spaces and nothing else happens to them: no shell reads what somebody wrote into an input.
read -r -a words <<< "${SORTIE_RUN:---library}"
option() { if [ -n "$2" ]; then words+=("$1" "$2"); fi; }
option --agent "${SORTIE_AGENT:-}"
option --target "${SORTIE_TARGET:-}"
option --gate "${SORTIE_GATE:-}"
option --against "${SORTIE_BASELINE:-}"
option --fail-on "${SORTIE_FAIL_ON:-}"

# What an agent says stands in the report, and must not be taken for a command to the build.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
code=0
sortie run "${words[@]}" --run-dir sortie-run > sortie-run.txt || code=$?
cat sortie-run.txt
echo "::$token::"

# The options that judge a run are given again, so that every report says the same.
judged=()
if [ -n "${SORTIE_BASELINE:-}" ]; then judged+=(--against "$SORTIE_BASELINE"); fi
if [ -n "${SORTIE_FAIL_ON:-}" ]; then judged+=(--fail-on "$SORTIE_FAIL_ON"); fi
report() { sortie report sortie-run "${judged[@]}" --format "$1" --out "$2" || [ $? -ne 2 ]; }
if [ -f sortie-run/run.json ]; then
  mv sortie-run.txt sortie-run/report.txt
  report sarif sortie-run/report.sarif
  report junit sortie-run/junit.xml
  report html sortie-run/report.html
  report markdown sortie-run/report.md
  cat sortie-run/report.md >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
  # One annotation for each finding: `exploited (…): SRT-001 …` becomes an error of the job.
  sed -n 's/^\(exploited\|partial\)[^:]*: \(.*\)$/::error title=sortie: \1::\2/p' sortie-run/report.txt
  echo "sarif=sortie-run/report.sarif" >> "${GITHUB_OUTPUT:-/dev/null}"
else
  rm -f sortie-run.txt
fi
case $code in
  0 | 1) ;;
  3) echo "::error title=sortie::undecided: a case errored, was skipped or never happened" ;;
  *) echo "::error title=sortie::the run did not start or was ended (exit code $code)" ;;
esac
echo "code=$code" >> "${GITHUB_OUTPUT:-/dev/null}"
