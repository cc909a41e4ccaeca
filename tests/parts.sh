# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # `dev` sources this file and has the names that are not here
# The parts of `./dev test`. A part is declared once: its name, the run that it belongs to, what must be ready before it,
# the sources that it is made of, and words for people. The function part_NAME does the work. What has passed is
# remembered by a digest of those sources; docs/reference/tests.md is made of this table and of the seconds of a run.

part_names=()
declare -A part_run part_needs part_sources part_words
part() {  # NAME default|all NEEDS SOURCES WORDS
  part_names+=("$1")
  part_run[$1]=$2 part_needs[$1]=$3 part_sources[$1]=$4 part_words[$1]=$5
}

cpp="engine detectors tests zmq cmake CMakeLists.txt CMakePresets.json :!tests/python :!detectors/*.py"
part build   default "release"       "$cpp bindings"  "packages, virtual environment, release build with tests"
part style   default "release"       "."              "formatting, types, shell, include order; links and commands of the pages"
part cpp     default "release"       "$cpp"           "C++ tests; hardening of the programs"
part python  default "release"       "."              "Python and command-line tests, but the long ones"
part long    all     "release tools" "."              "the long tests: farms, kills, browsers, readers of others; C++ tests with all that they try"
part pages   all     "release"       "."              "every command and all Python of the pages"
part site    all     "setup"         ":*.md docs mkdocs.yml" "the pages as a site: every link, and the index names every page"
part alone   all     "setup"         "$cpp"           "each C++ source compiles by itself"
part asan    all     "setup"         "$cpp"           "C++ tests under the address and undefined-behaviour sanitizers"
part tsan    all     "setup"         "$cpp"           "C++ tests under the thread sanitizer"
part fuzz    all     "setup"         "$cpp"           "fuzz targets: corpora, and inputs of a fixed seed"
part card    all     "release"       "rtl anello $cpp" "the network card's core: lint and simulation"
part package all     "release"       "."              "C++ package: installed, found, used"
part wheel   all     "release"       "."              "wheel: built, installed, used"
part benches all     "release"       "$cpp bench"     "benchmarks, built"
part zmq     all     "release"       "$cpp"           "ZeroMQ over rings, where ./dev zmq has been"

# --- What must be ready before a part ---------------------------------------------------------------------------
declare -A is_ready
need() {  # setup | release | tools
  [[ -z ${is_ready[$1]:-} ]] || return 0
  "need_$1"
  is_ready[$1]=1
}

need_setup() {
  need_packages "${build_packages[@]}" "${test_packages[@]}" "${lint_packages[@]}"
  need_python dev
}

need_release() {
  local switches
  need setup
  mapfile -t switches < <(python_switches)
  configure release "${switches[@]}" -DANELLO_TESTS=ON
  must "$remedy_build" "build release with tests" build release
  link_extension
}

need_tools() {  # programs of others that read our files and look at our pages
  need_python readers
  want_prometheus
  want_chromium
}

# --- The parts --------------------------------------------------------------------------------------------------
part_build() { :; }  # all of it is what a part needs

part_style() {
  check "C++ formatting" check_cpp_format
  check "Python: ruff check" .venv/bin/ruff check .
  check "Python: ruff format" .venv/bin/ruff format --check .
  check "Python: mypy --strict" .venv/bin/mypy anello detectors/*/ --exclude /tests/
  check "shell" check_shell
  check "include order of the engine" "$python" tests/check_include_order.py
  check "files that comments and pages name" "$python" tests/check_names.py
  check "unclear words in comments, messages and pages" "$python" tests/check_words.py
  check "the page: width and size of its JavaScript" "$python" tests/check_page.py
  check "links and commands of the pages" "$python" tests/check_docs.py
}

part_cpp() {
  check "hardening and search paths of the programs" "$python" tests/check_binaries.py build/release
  check "C++ tests" run_ctest release cpp
}

part_python() { check "Python and command-line tests" run_pytest python; }

part_long() {
  local -x ANELLO_LONG=1
  check "long Python and command-line tests" run_pytest long -m long
  check "C++ tests, all of what they try" run_ctest release long-cpp
}

part_pages() { check "every command of the pages" "$python" tests/check_docs.py --run; }

part_site() {
  need_python docs
  check "the site of the pages" make_site
}

part_alone() {
  configure dev -DANELLO_TESTS=ON
  check "each source compiles by itself" "$python" tests/check_sources_alone.py build/dev "$(jobs)"
}

part_asan() { sanitizer asan; }
part_tsan() { sanitizer tsan; }

fuzz_one() {  # TARGET: its corpus, then inputs made of it by a fixed seed; what a target finds goes to the build folder
  local found=build/fuzz/fixed/$1 corpus=tests/fuzz/corpus/${1%_fuzz}
  rm -rf "$found" && mkdir -p "$found"
  [[ -d $corpus ]] || corpus=""
  "build/fuzz/tests/fuzz/$1" -seed=1 -runs=10000 -artifact_prefix="build/fuzz/$1-" "$found" ${corpus:+"$corpus"}
}

fuzz_all() {  # two at a time; what a failing one says is shown whole
  export -f fuzz_one
  # shellcheck disable=SC2016 # the inner shell expands it
  find build/fuzz/tests/fuzz -name '*_fuzz' -printf '%f\n' | sort | xargs -P 2 -n 1 bash -c \
    'fuzz_one "$1" >"build/log/fuzz-$1.log" 2>&1 || { echo "$1 failed"; cat "build/log/fuzz-$1.log"; exit 1; }' _
}

part_fuzz() {
  build_fuzzers
  compgen -G 'build/fuzz/tests/fuzz/*_fuzz' >/dev/null || return 0
  check "fuzz targets: corpora, 10,000 inputs each" fuzz_all
}

part_card() { test_card; }
part_package() { check "C++ package: install, find, use" cpp_package; }
part_wheel() { check "wheel: build, install, use" wheel; }
part_zmq() { test_zmq; }

part_benches() {
  need_packages "${bench_packages[@]}"
  configure release -DANELLO_BENCH=ON
  check "build the benchmarks" build release
}

# --- What has passed, and how long it took -----------------------------------------------------------------------
# Of the files as they lie there, and of the tools that read them.
digest() {  # NAME
  {
    cat /etc/os-release
    c++ --version
    "$python" --version
    # shellcheck disable=SC2086 # a list of paths
    git ls-files -z --cached --others --exclude-standard -- ${part_sources[$1]} dev pyproject.toml requirements |
      sort -zu | xargs -0 sha256sum 2>/dev/null
  } | sha256sum
}

has_passed() { [[ -e build/log/passed/$1 && $(<"build/log/passed/$1") == "$(digest "$1")" ]]; }

declare -A was_run_before
note_earlier_runs() {
  local name
  for name in "${part_names[@]}"; do [[ ! -e build/log/ran/$name ]] || was_run_before[$name]=1; done
}

seconds_of() {  # NAME: what docs/reference/tests.md says, of the first time or of another
  awk -F'|' -v name="$1" -v column="${was_run_before[$1]:+6}" \
    'NF == 8 { part = $2; gsub(/[ `]/, "", part); if (part == name) seconds = $(column ? column : 5) + 0 ? $(column ? column : 5) : $6 }
     END { print int(seconds) }' docs/reference/tests.md
}

tell_plan() {  # NAME...: what will be done, for how long, and what will not
  local name seconds=0 passed=() left=()
  for name in "$@"; do
    if is_known_to_pass "$name"; then passed+=("$name"); else seconds=$((seconds + $(seconds_of "$name"))); fi
  done
  for name in "${part_names[@]}"; do [[ " $* " == *" $name "* ]] || left+=("$name"); done
  printf '  parts: %s; about %d min on two quiet cores\n' "$*" $(((seconds + 59) / 60))
  [[ ${#passed[@]} == 0 ]] || printf '  passed before on the same sources, so not run again (--again does): %s\n' "${passed[*]}"
  [[ ${#left[@]} == 0 ]] || printf '  left out (--all runs everything): %s\n' "${left[*]}"
}

outcome() {  # NAME N_FAILED_BEFORE: of its reports, or of its steps
  local reports
  mapfile -t reports < <(compgen -G "build/log/junit-$1.xml"; compgen -G "build/log/junit-$1-*.xml")
  if [[ ${#reports[@]} -gt 0 ]]; then "$python" tests/count_tests.py "${reports[@]}" | tail -n 1
  elif [[ ${#failed_steps[@]} == "$2" ]]; then echo "passed"; else echo "failed"; fi
}

summary=()
tell_part() {  # NAME OUTCOME SECONDS
  summary+=("$(printf '  %-8s %6d s  %s' "$1" "$3" "$2")")
}

run_part() {  # NAME
  local name=$1 begin=$SECONDS n_failed=${#failed_steps[@]} n_skipped_before=$n_skipped now need result
  rm -f "build/log/junit-$name.xml" "build/log/junit-$name"-*.xml "build/log/passed/$name"
  for need in ${part_needs[$name]}; do need "$need"; done
  now=$(digest "$name")  # of what is tested, whatever somebody edits meanwhile
  "part_$name"
  result=$(outcome "$name" "$n_failed")
  [[ ${#failed_steps[@]} == "$n_failed" ]] || result="FAILED: $result"
  [[ $n_skipped == "$n_skipped_before" ]] || result+=", not all of it: see \"skipped\" above"
  tell_part "$name" "$result" $((SECONDS - begin))
  printf '%s\t%s\t%s\t%d\t%s\t%s\n' "$name" "${part_run[$name]}" "${was_run_before[$name]:+again}" $((SECONDS - begin)) \
    "$result" "${part_words[$name]}" >>build/log/parts.tsv
  touch "build/log/ran/$name"
  # What failed, or was left out in part, is run again the next time.
  [[ ${#failed_steps[@]} != "$n_failed" || $n_skipped != "$n_skipped_before" ]] || echo "$now" >"build/log/passed/$name"
}

# --- The whole run ----------------------------------------------------------------------------------------------
is_repeated=1
is_known_to_pass() { [[ -z $is_repeated && -n ${was_run_before[$1]:-} ]] && has_passed "$1"; }

known() { [[ " ${part_names[*]} " == *" $1 "* ]]; }

choose_parts() {  # [--all] [--again] [--page] [NAME...] -> chosen, is_repeated, writes_page
  local name default=() wants_all="" wants_again=""
  chosen=() writes_page=""
  for name in "${part_names[@]}"; do [[ ${part_run[$name]} != default ]] || default+=("$name"); done
  for name in "$@"; do
    case $name in
      --all) wants_all=1 is_repeated="" ;;
      --again) wants_again=1 ;;
      --page) writes_page=1 ;;
      *) known "$name" || die "./dev test does not know $name" "its options are --all, --again and --page, its parts ${part_names[*]}" \
        "./dev test --all, or ./dev test cpp"
        chosen+=("$name") ;;
    esac
  done
  [[ -z $wants_again ]] || is_repeated=1
  [[ -z $wants_all ]] || chosen=("${part_names[@]}")
  [[ ${#chosen[@]} -gt 0 ]] || chosen=("${default[@]}")
}

tell_summary() {
  local reports
  printf '\n'
  printf '%s\n' "${summary[@]}"
  mapfile -t reports < <(compgen -G "build/log/junit-*.xml")
  [[ ${#reports[@]} == 0 ]] || "$python" tests/count_tests.py "${reports[@]}"
  [[ ! -s build/log/flaky.txt ]] || printf 'flaky, passed on second try: %s\n' "$(paste -sd' ' build/log/flaky.txt)"
}

run_tests() {  # what choose_parts takes
  local begin=$SECONDS name chosen writes_page
  choose_parts "$@"
  mkdir -p build/log/passed build/log/ran
  rm -f build/log/junit-*.xml build/log/flaky.txt build/log/parts.tsv
  note_earlier_runs
  tell_plan "${chosen[@]}"
  for name in "${chosen[@]}"; do
    if is_known_to_pass "$name"; then tell_part "$name" "passed before on the same sources" 0; else run_part "$name"; fi
  done
  tell_summary
  [[ -z $writes_page ]] || "$python" tests/parts_page.py build/log/parts.tsv docs/reference/tests.md
  verdict
  printf 'GOOD: %d parts passed in %d s\n' ${#chosen[@]} $((SECONDS - begin))
}
