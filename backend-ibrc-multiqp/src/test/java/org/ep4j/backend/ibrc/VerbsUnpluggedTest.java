package org.ep4j.backend.ibrc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpConfig;
import org.ep4j.doctor.Doctor;
import org.ep4j.doctor.DoctorInput;
import org.ep4j.spi.Check;
import org.ep4j.spi.ProbeReport;
import org.ep4j.testing.Guard;
import org.ep4j.topology.model.Nic;
import org.ep4j.topology.model.NicPort;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.Topologies;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * What the probe and opening say where something is missing: the code that docs/reference/doctor.md explains, and the remedy. In a guest
 * of ci/rdma-guest, as root; what it moves away is put back, and is the guest's own.
 */
@Tag("guest")
final class VerbsUnpluggedTest {
    private static final Path LIBRARY = Path.of("/usr/lib/x86_64-linux-gnu/libibverbs.so.1");
    private static final Path PROVIDERS = Path.of("/etc/libibverbs.d");

    @TestFactory
    Stream<DynamicTest> unplugged() {
        if (!VerbsScenarios.present()) {
            if ("1".equals(System.getenv("EP_REQUIRE_VERBS"))) {
                fail("EP_REQUIRE_VERBS is 1, but the ports rxe0 to rxe3 (two wires) are not here");
            }
            System.out.println("skipped: unplugging needs the ports rxe0 to rxe3");
            return Stream.empty();
        }
        Map<String, VerbsScenarios.Scenario> all = new LinkedHashMap<>();
        all.put("everything is there", VerbsUnpluggedTest::nothingIsMissing);
        all.put("devices, ports and GIDs are those of ibv_devinfo", VerbsUnpluggedTest::asIbvDevinfoSays);
        all.put("no libibverbs", VerbsUnpluggedTest::noLibrary);
        all.put("no provider", VerbsUnpluggedTest::noProvider);
        all.put("all ports down", VerbsUnpluggedTest::portsDown);
        all.put("a GID that cannot be used", VerbsUnpluggedTest::wrongGid);
        all.put("a port without an address", VerbsUnpluggedTest::noAddress);
        all.put("different MTUs at the ends", VerbsUnpluggedTest::differentMtus);
        all.put("too little locked memory", VerbsUnpluggedTest::littleLockedMemory);
        all.put("no right to the device files", VerbsUnpluggedTest::noRights);
        return all.entrySet().stream()
                .map(one -> dynamicTest(one.getKey(), () -> one.getValue().run()));
    }

    private static void nothingIsMissing() {
        ProbeReport report = UnpluggedRank.probe(Map.of());
        assertThat(report.checks())
                .filteredOn(check -> check.status() == Check.Status.FAIL)
                .isEmpty();
        assertThat(report.checks()).hasSize(9);
        assertThat(line(report, IbrcProbe.DEVICES)).contains("rxe0", "rxe1", "rxe2", "rxe3");
        assertThat(line(report, IbrcProbe.GID)).contains("GID index 1", "10.99.", "RoCE v2");
        assertThat(line(report, IbrcProbe.RETRIES)).contains("6 on rxe0:1", "retries without limit at 7");
        assertThat(line(report, IbrcProbe.ATOMICS)).contains("PASS not needed");
        assertThat(line(UnpluggedRank.probe(Map.of("ep.ibrc.counters", "atomic")), IbrcProbe.ATOMICS))
                .contains("PASS all devices");
        assertThat(line(report, IbrcProbe.DIRECT)).contains("every NIC reaches host memory directly");
    }

    /** The topology is what doctor, topo and plan show of NICs. */
    private static void asIbvDevinfoSays() throws IOException, InterruptedException {
        String text = output(List.of("ibv_devinfo", "-v"));
        TreeSet<String> expected = new TreeSet<>();
        TreeSet<String> active = new TreeSet<>();
        String device = "";
        String port = "";
        for (String line : text.lines().toList()) {
            Matcher hca = Pattern.compile("hca_id:\\s*(\\S+)").matcher(line);
            Matcher number = Pattern.compile("\\s+port:\\s*(\\d+)").matcher(line);
            Matcher gid = Pattern.compile("\\s+GID\\[\\s*(\\d+)\\]:\\s*(\\S+?),?\\s*(RoCE v\\d)?\\s*")
                    .matcher(line);
            if (hca.lookingAt()) {
                device = hca.group(1);
            } else if (number.lookingAt()) {
                port = device + ":" + number.group(1);
            } else if (line.contains("PORT_ACTIVE (")) {
                active.add(port);
            } else if (gid.matches()) {
                expected.add(port + " " + gid.group(1) + " " + gid.group(3));
            }
        }
        TreeSet<String> found = new TreeSet<>();
        TreeSet<String> up = new TreeSet<>();
        for (Nic nic : Topologies.live().nics()) {
            for (NicPort one : nic.ports()) {
                String name = nic.name() + ":" + one.number();
                one.gids().forEach(gid -> found.add(name + " " + gid.index() + " " + gid.type()));
                if (one.state() == NicPort.State.ACTIVE) {
                    up.add(name);
                }
            }
        }
        assertThat(active).contains("rxe0:1", "rxe1:1", "rxe2:1", "rxe3:1");
        assertThat(up).isEqualTo(active);
        assertThat(found).isEqualTo(expected);
    }

    private static void noLibrary() throws IOException, InterruptedException {
        String said = without(LIBRARY);
        assertThat(said)
                .contains("EP-IBR-002 FAIL libibverbs.so.1 is not installed -- apt-get install libibverbs1")
                .contains("EP-IBR-003 NOT_RUN", "EP-IBR-008 PASS")
                .contains("opening: a rank failed", "libibverbs.so.1 is not installed; apt-get install libibverbs1");
    }

    private static void noProvider() throws IOException, InterruptedException {
        String said = without(PROVIDERS);
        assertThat(said)
                .contains("EP-IBR-003 FAIL libibverbs sees no device", "ibverbs-providers")
                .contains("EP-IBR-004 NOT_RUN", "EP-IBR-008 PASS");
    }

    private static String without(Path file) throws IOException, InterruptedException {
        Path away = Path.of(file + ".away");
        VerbsScenarios.command("mv", file.toString(), away.toString());
        try {
            return process(List.of());
        } finally {
            VerbsScenarios.command("mv", away.toString(), file.toString());
        }
    }

    private static void portsDown() throws IOException, InterruptedException {
        link("down");
        try {
            ProbeReport report = UnpluggedRank.probe(Map.of());
            assertThat(line(report, IbrcProbe.NIC))
                    .contains("FAIL", "a port that is up", "bring a port of such a NIC up");
            assertThat(UnpluggedRank.open(Map.of())).contains("port rxe0:1 is not active", "bring this port up");
        } finally {
            link("up");
        }
        assertThat(UnpluggedRank.open(Map.of())).isEqualTo("went well");
    }

    private static void link(String state) throws IOException, InterruptedException {
        for (String end : List.of("rail0a", "rail0b", "rail1a", "rail1b")) {
            VerbsScenarios.command("ip", "link", "set", end, state);
        }
        String wanted = state.equals("up") ? "ACTIVE" : "DOWN";
        for (String name : List.of("rxe0", "rxe1", "rxe2", "rxe3")) {
            Guard.until(name + " is " + wanted, () -> state(name).contains(wanted));
        }
    }

    private static String state(String name) {
        try {
            return Files.readString(Path.of("/sys/class/infiniband", name, "ports/1/state"), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void wrongGid() {
        for (String index : List.of("0", "200", "1023")) {
            Map<String, String> settings = Map.of("ep.nic.gid-index", index);
            assertThat(line(UnpluggedRank.probe(settings), IbrcProbe.GID))
                    .contains(
                            "FAIL",
                            "GID index " + index,
                            index.equals("0") ? "link-local" : "empty",
                            "ep.nic.gid-index");
        }
        assertThat(UnpluggedRank.open(Map.of("ep.nic.gid-index", "0")))
                .contains("rxe0:1", "GID index 0", "ep.nic.gid-index");
        assertThat(UnpluggedRank.open(Map.of("ep.nic.gid-index", "1023"))).contains("ep.nic.gid-index is 1023", "rxe");
    }

    /** The others do without it; what the settings leave out is not missed. */
    private static void noAddress() throws IOException, InterruptedException {
        VerbsScenarios.command("ip", "addr", "del", "10.99.1.1/24", "dev", "rail1a");
        try {
            ProbeReport report = UnpluggedRank.probe(Map.of());
            assertThat(line(report, IbrcProbe.GID))
                    .contains("WARN not used: rxe2:1 GID index 0", "used: rxe0:1 GID index 1");
            assertThat(report.facts()).containsEntry(IbrcOffer.PORTS, "rxe0:1,rxe1:1,rxe3:1");
            ProbeReport without = UnpluggedRank.probe(Map.of("ep.nic.exclude", "rxe2"));
            assertThat(line(without, IbrcProbe.GID)).contains("PASS").doesNotContain("rxe2");
            assertThat(line(UnpluggedRank.probe(Map.of("ep.nic.include", "rxe2")), IbrcProbe.GID))
                    .contains("FAIL rxe2:1 GID index 0");
            assertThat(line(UnpluggedRank.probe(Map.of("ep.nic.exclude", "rxe")), IbrcProbe.NIC))
                    .contains("FAIL the settings exclude all usable ports (rxe0:1", "): ep.nic.exclude = rxe");
        } finally {
            VerbsScenarios.command("ip", "addr", "add", "10.99.1.1/24", "dev", "rail1a");
        }
    }

    /** Both ends take the smaller one; nothing has to be set, and the doctor reports it. */
    private static void differentMtus() throws IOException, InterruptedException {
        VerbsScenarios.command("ip", "link", "set", "rail0b", "mtu", "1500");
        try {
            assertThat(UnpluggedRank.open(Map.of())).isEqualTo("went well");
            assertThat(doctor("EP-NIC-008"))
                    .contains("WARN 1024 bytes: rxe1:1; 4096 bytes: rxe0:1, rxe2:1, rxe3:1 -- run ip link set");
        } finally {
            VerbsScenarios.command("ip", "link", "set", "rail0b", "mtu", "4200");
        }
    }

    private static String doctor(String code) {
        EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();
        DoctorInput input = new DoctorInput(
                Topologies.live(),
                FileTree.of(Path.of("/")),
                Map.of(),
                config,
                Map.of(),
                List.of(),
                new DoctorInput.Need(1, 1 << 20),
                Optional.empty(),
                IbrcKeys.all(),
                Optional.empty());
        return Doctor.examine(input).stream()
                .filter(check -> check.code().equals(code))
                .map(UnpluggedRank::line)
                .findFirst()
                .orElse("no " + code);
    }

    private static void littleLockedMemory() throws IOException, InterruptedException {
        String said = process(List.of("prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set", "-ipc_lock"));
        assertThat(said)
                .contains("EP-IBR-008 WARN the process may lock at most 64 KiB of memory -- ulimit -l unlimited")
                .contains("opening: a rank failed", "ibv_reg_mr of ", "error 12")
                .contains("; the process may lock at most 64 KiB of memory: raise the limit (ulimit -l unlimited");
    }

    /** Root without the right to pass over rights, and not the owner: so it reads its own jars all the same. */
    private static void noRights() throws IOException, InterruptedException {
        VerbsScenarios.command("sh", "-c", "chown 65534 /dev/infiniband/uverbs* && chmod 600 /dev/infiniband/uverbs*");
        try {
            String said = process(List.of("setpriv", "--bounding-set", "-dac_override,-dac_read_search"));
            assertThat(said)
                    .contains("EP-IBR-003 FAIL no device can be used: rxe0: ")
                    .containsAnyOf("error 13 (Permission denied)", "error 2 (No such file or directory)")
                    .contains("read and write access to /dev/infiniband/uverbs*")
                    .contains("opening: a rank failed", "ibv_open_device of rxe0");
        } finally {
            VerbsScenarios.command("sh", "-c", "chown 0 /dev/infiniband/uverbs* && chmod 666 /dev/infiniband/uverbs*");
        }
    }

    private static String line(ProbeReport report, String code) {
        return report.checks().stream()
                .filter(check -> check.code().equals(code))
                .map(UnpluggedRank::line)
                .findFirst()
                .orElse("no " + code);
    }

    /** What {@link UnpluggedRank} prints in a process that is started by {@code before}. */
    private static String process(List<String> before) throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(before);
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // Extracted libraries of other processes are not looked at.
        Path cache = Files.createTempDirectory(Path.of("/tmp"), "unplugged");
        words.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-Dorg.bytedeco.javacpp.cachedir=" + cache,
                "-cp",
                System.getProperty("java.class.path"),
                UnpluggedRank.class.getName()));
        return output(words);
    }

    private static String output(List<String> words) throws IOException, InterruptedException {
        Path file = Files.createTempFile(Path.of("/tmp"), "unplugged", ".txt");
        Process process = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectOutput(file.toFile())
                .start();
        if (!process.waitFor(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        return Files.readString(file, StandardCharsets.UTF_8);
    }
}
