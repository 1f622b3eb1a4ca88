package org.ep4j.cli.doctor;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.doctor.DoctorCode;

/** Writes {@code docs/reference/doctor.md} from {@link DoctorCode} and from the lists of codes in the Javadoc of probes. */
final class DoctorPage {
    private static final String CODE = "EP-[A-Z0-9]+-[0-9]{3}";
    private static final Pattern LISTED = Pattern.compile("<li>\\{@code (" + CODE + ")} ([^\n]+)");
    private static final Pattern CONSTANT =
            Pattern.compile("/\\*\\* ([^*]+?)\\.? \\*/\\s+(?:private )?static final String \\w+ = \"(" + CODE + ")\"");
    private static final Pattern LITERAL = Pattern.compile("\"(" + CODE + ")\"");
    private static final Map<String, String> OTHERS = Map.of(
            "EP-HOST-001", "the host device exists",
            "EP-HOST-002", "native libraries can be called",
            "EP-PLAN-001", "the planner can use the backend for a machine that is given only as a description");

    private DoctorPage() {}

    static String text(Path repository) {
        StringBuilder text = new StringBuilder("""
                # Checks of the doctor

                `./ep doctor` shows what works on this machine, what needs fixing, and how to fix it. `./ep doctor --all` shows every check.
                Checks have codes that are never reused, and one of these results:

                | result | meaning |
                |---|---|
                | PASS | as it should be |
                | WARN | works, but slower or less safely than it could |
                | FAIL | a backend cannot be used |
                | NOT RUN | not checked; with a remedy if you can make the check possible |
                | not applicable | for hardware that this machine or device does not have; one line for each reason |

                A device or backend that the settings do not name (`ep.device`, `ep.backend.require`, `ep.backend.prefer`) and that others
                stand in for is reported, but its warnings and failures do not change the exit code.

                `./ep doctor --root DIR` examines a recording of another machine; `--env FILE` adds the environment of a process there (the
                output of `env`, or a copy of `/proc/PID/environ`). The following commands make a recording. Run them in the shell or container
                that the job runs in, because limits and mounts are those of the process that reads them. As root they also record the PCI
                configuration that some checks need. NVLinks, libraries and `/dev` are not recorded.

                ```bash
                (cd / && out=$(mktemp -d) && {
                  find sys/bus/pci/devices sys/class/{infiniband,cxi,net,kfd,iommu} -type l
                  find sys/devices -type l \\( -name driver -o -name device -o -name iommu_group -o -name physfn -o -name master \\
                    -o -name 'lower_*' \\)
                  find sys/devices -type f \\( -name class -o -name vendor -o -name device -o -name 'subsystem_*' \\
                    -o -name numa_node -o -name 'max_link_*' -o -name config -o -name uevent -o -name product_name \\
                    -o -path '*/net/*/type' -o -path '*/net/*/operstate' -o -path '*/net/*/speed' -o -path '*/net/*/mtu' \\
                    -o -path '*/net/*/dev_port' -o -path '*/node/node*/cpulist' -o -path '*/kfd/topology/*' \\
                    -o -path '*/net/*/bonding/*' -o -path '*/infiniband/*' \\) -not -path '*counters/*'
                  find sys/kernel/iommu_groups -name type
                  find sys/module/{nvidia,nvidia_peermem,efa_nv_peermem} -maxdepth 1 -type f
                  find sys/kernel/mm/{hugepages,transparent_hugepage,memory_peers} sys/kernel/memory_peers sys/memory_peers -type f
                  find proc/driver/nvidia/{version,params,gpus} -type f
                  ls var/run/nvidia-topologyd/virtualTopology.xml sys/class/dmi/id/sys_vendor etc/nccl.conf
                  ls "${NCCL_TOPO_FILE#/}"
                  ls proc/{cmdline,cpuinfo,meminfo,mounts} proc/self/{limits,mounts,status} proc/sys/kernel/{hostname,osrelease}
                  ls proc/net/{route,fib_trie,if_inet6,vlan/config}
                  ls "boot/config-$(uname -r)"
                } 2>/dev/null | xargs cp -P --parents -t "$out" 2>/dev/null
                cp -L --parents -t "$out" etc/{os-release,nccl.conf} "${NCCL_TOPO_FILE#/}" 2>/dev/null
                tar czf /tmp/machine.tar.gz -C "$out" . && rm -r "$out")
                ```

                Unpack the archive on any machine and give the folder to `./ep topo --file DIR` or `./ep doctor --root DIR`.

                ## Codes

                | code | passes when |
                |---|---|
                """);
        for (DoctorCode code : DoctorCode.values()) {
            text.append("| [")
                    .append(code.code())
                    .append("](#")
                    .append(anchor(code))
                    .append(") | ");
            text.append(code.title()).append(" |\n");
        }
        for (DoctorCode code : DoctorCode.values()) {
            text.append("\n## ").append(code.code()).append("\n\n");
            text.append("**").append(code.title()).append(".**\n\n");
            text.append("- Checks: ").append(code.examines()).append(".\n");
            text.append("- If it fails: ").append(code.why()).append(".\n");
            text.append("- Remedy: ").append(code.remedy()).append(".\n");
            text.append("- Source: ").append(code.source()).append(".\n");
        }
        text.append(
                "\n## Codes of devices, backends and plans\n\nDevices and backends report these about themselves.\n\n| code | meaning |\n|---|---|\n");
        probes(repository)
                .forEach((code, meaning) -> text.append("| ")
                        .append(code)
                        .append(" | ")
                        .append(meaning)
                        .append(" |\n"));
        return text.toString().replaceAll("\\{@code ([^}]*)}", "`$1`");
    }

    /** Checks of devices and backends for {@code ./ep help CODE}: a line each, with the code, a blank and what it is about. */
    static String probeChecks(Path repository) {
        StringBuilder text = new StringBuilder();
        probes(repository).forEach((codes, meaning) -> {
            for (String code : codes.split("[^A-Z0-9-]+", -1)) {
                text.append(code).append(' ').append(meaning).append('\n');
            }
        });
        return text.toString().replaceAll("\\{@(?:code|link) ([^}]*)}", "$1");
    }

    private static String anchor(DoctorCode code) {
        return code.code().toLowerCase(Locale.ROOT);
    }

    private static Map<String, String> probes(Path repository) {
        Map<String, String> found = new TreeMap<>(OTHERS);
        for (Path source : sources(repository)) {
            String text = read(source);
            LISTED.matcher(text)
                    .results()
                    .forEach(code -> found.put(code.group(1), code.group(2).strip()));
            CONSTANT.matcher(text).results().forEach(code -> found.putIfAbsent(code.group(2), lower(code.group(1))));
        }
        return found;
    }

    private static String lower(String sentence) {
        return sentence.substring(0, 1).toLowerCase(Locale.ROOT) + sentence.substring(1);
    }

    /** Every code that a source names. */
    static Set<String> used(Path repository) {
        Set<String> found = new TreeSet<>();
        sources(repository)
                .forEach(source -> LITERAL.matcher(read(source)).results().forEach(code -> found.add(code.group(1))));
        return found;
    }

    private static List<Path> sources(Path repository) {
        List<Path> found = new ArrayList<>();
        try (Stream<Path> modules = Files.list(repository)) {
            for (Path module : modules.sorted().toList()) {
                Path main = module.resolve("src/main/java");
                if (Files.isDirectory(main)) {
                    try (Stream<Path> files = Files.walk(main)) {
                        files.filter(file -> file.toString().endsWith(".java"))
                                .sorted()
                                .forEach(found::add);
                    }
                }
            }
            return found;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
