# Shared by ./ep and ./verify: finds a JDK and Maven, and reports what to install where one is missing. Sourced, not run.

ep_min_java=17

# Options of JVMs in emulated guests: hardly any code runs often enough there to be worth the time of the optimizing compiler, and the
# classes were verified where they were built and tested.
# shellcheck disable=SC2034
ep_guest_java_options="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"

# Classes of ./ep, loaded and linked, for the JVMs of a guest: an emulated processor takes seconds to load them.
ep_class_archive=target/on-verbs/ep.jsa

ep_fail() {
  echo "ep4j: $*" >&2
  exit 1
}

# Prints the feature release of the given java command ("17", "25"), or nothing where it does not run.
ep_java_feature() {
  local version
  version=$("$1" -version 2>&1 | sed -n 's/^[a-z]* version "\([^"]*\)".*/\1/p' | head -n 1) || return 0
  version=${version#1.}
  echo "${version%%[!0-9]*}"
}

# Sets EP_JAVA to the java command of JAVA_HOME, or else of PATH; empty where there is none.
ep_find_java() {
  EP_JAVA=
  if [ -n "${JAVA_HOME:-}" ]; then
    [ -x "$JAVA_HOME/bin/java" ] || ep_fail "JAVA_HOME is '$JAVA_HOME', which has no bin/java: correct or unset it."
    EP_JAVA=$JAVA_HOME/bin/java
  else
    EP_JAVA=$(command -v java || true)
  fi
}

ep_has_javac() {
  if [ -n "${JAVA_HOME:-}" ]; then
    [ -x "$JAVA_HOME/bin/javac" ]
  else
    command -v javac >/dev/null
  fi
}

ep_can_install() {
  [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null
}

# Installs the named packages; of "a|b|c" the first one that apt-get knows.
ep_install() {
  local log wanted name chosen packages=()
  log=$(mktemp)
  apt-get update -qq </dev/null >"$log" 2>&1 || true
  for wanted in "$@"; do
    chosen=
    for name in ${wanted//|/ }; do
      if apt-cache show "$name" >/dev/null 2>&1; then
        chosen=$name
        break
      fi
    done
    packages+=("${chosen:-${wanted%%|*}}")
  done
  echo "ep4j: installing ${packages[*]} ..." >&2
  if ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" \
    </dev/null >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    ep_fail "apt-get could not install ${packages[*]}."
  fi
  rm -f "$log"
  hash -r
}

# Sets EP_JAVA and requires it to be new enough.
ep_require_java() {
  local feature
  ep_find_java
  if [ -z "$EP_JAVA" ]; then
    ep_fail "no Java found: install a JDK $ep_min_java or newer (Debian: apt-get install maven openjdk-17-jdk-headless)," \
      "or point JAVA_HOME at one."
  fi
  feature=$(ep_java_feature "$EP_JAVA")
  if [ -z "$feature" ] || [ "$feature" -lt "$ep_min_java" ]; then
    ep_fail "$EP_JAVA is Java ${feature:-(unknown)}, but ep4j needs $ep_min_java or newer:" \
      "point JAVA_HOME at a newer JDK (Debian: apt-get install openjdk-17-jdk-headless)."
  fi
}

# Installs the other tools of tests, where that is possible: a compiler for the emulator of GPUs, and a launcher of MPI with PMIx and its
# headers. Tests without their tools are skipped, and report that.
ep_install_test_tools() {
  local missing=()
  command -v g++ >/dev/null || missing+=(g++)
  command -v mpirun >/dev/null || missing+=(openmpi-bin)
  [ -e /usr/share/doc/libpmix-dev ] || missing+=(libpmix2 libpmix-dev)
  if [ "${#missing[@]}" -gt 0 ] && ep_can_install; then
    ep_install "${missing[@]}"
  fi
}

# Prints the installed compiler and headers that the JNI libraries of ep-engine, ibrc-multiqp and efa are built with, a line each; nothing
# without a compiler, since headers alone build nothing.
ep_native_tools() {
  local tool
  command -v g++ >/dev/null || return 0
  echo g++
  for tool in /usr/include/infiniband/verbs.h /usr/include/rdma/fabric.h; do
    [ ! -e "$tool" ] || echo "$tool"
  done
}

# Installs the compiler and headers of the JNI libraries of ibrc-multiqp and efa, where that is possible; without them these backends
# report that they cannot run.
ep_install_nic_headers() {
  local missing=()
  command -v g++ >/dev/null || missing+=(g++)
  [ -e /usr/include/infiniband/verbs.h ] || missing+=(libibverbs-dev)
  [ -e /usr/include/rdma/fabric.h ] || missing+=(libfabric-dev)
  if [ "${#missing[@]}" -gt 0 ] && ep_can_install; then
    ep_install "${missing[@]}"
  fi
}

# Requires Node.js with npm, for the site of the documents. As root on Debian, it is installed.
ep_require_node() {
  if ! command -v npm >/dev/null && ep_can_install; then
    ep_install nodejs npm
  fi
  command -v npm >/dev/null || ep_fail "no npm found: the site is built with Node.js 18 or newer (Debian: apt-get install nodejs npm)."
}

# Requires the tools of a build: a JDK with javac, and Maven. As root on Debian, missing ones are installed.
ep_require_build_tools() {
  local missing=()
  ep_has_javac || missing+=("openjdk-17-jdk-headless|openjdk-21-jdk-headless|openjdk-25-jdk-headless|default-jdk-headless")
  command -v mvn >/dev/null || missing+=("maven")
  if [ "${#missing[@]}" -gt 0 ] && [ -z "${JAVA_HOME:-}" ] && ep_can_install; then
    ep_install "${missing[@]}"
  elif ! command -v mvn >/dev/null && ep_can_install; then
    ep_install maven
  fi
  if ! ep_has_javac; then
    ep_fail "no javac found${JAVA_HOME:+ in JAVA_HOME ($JAVA_HOME)}: ep4j is built with a JDK $ep_min_java or newer" \
      "(Debian: apt-get install maven openjdk-17-jdk-headless)."
  fi
  if ! command -v mvn >/dev/null; then
    ep_fail "no mvn found: install Maven 3.8 or newer (Debian: apt-get install maven openjdk-17-jdk-headless)."
  fi
  ep_require_java
}

# Writes the archive of the classes that a short run of ./ep uses here, where the processor is not emulated; without it, JVMs only start more
# slowly. From the project's root.
ep_write_class_archive() {
  mkdir -p "$(dirname "$ep_class_archive")"
  rm -f "$ep_class_archive"
  # Classes that were not verified are not archived for JVMs that verify.
  EP_JAVA_OPTS="$ep_guest_java_options -XX:+BytecodeVerificationRemote -XX:ArchiveClassesAtExit=$PWD/$ep_class_archive" \
    ./ep conformance --backend host-shm --ranks 2 --mode threads --rule '1\..*|3\.1|4\.1|6\.1' >/dev/null 2>&1 ||
    rm -f "$ep_class_archive"
}

# Lets JVMs of ./ep use the archive of these jars, where there is one.
ep_use_class_archive() {
  if [ "$ep_class_archive" -nt ep-cli/target/quick/build.stamp ]; then
    export EP_JAVA_OPTS="${EP_JAVA_OPTS:-} -XX:SharedArchiveFile=$PWD/$ep_class_archive"
  fi
}
