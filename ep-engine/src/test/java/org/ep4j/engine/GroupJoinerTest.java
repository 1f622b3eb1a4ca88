package org.ep4j.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.Bootstrap;
import org.ep4j.Device;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfig;
import org.ep4j.EpException;
import org.ep4j.EpGroup;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpUnavailableException;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.GroupPlan;
import org.ep4j.spi.RankProfile.BackendProfile;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The device and the probes of a rank before it joins, and how joining fails. */
@Tag("verify")
final class GroupJoinerTest {
    private static final String BACKEND = "threads";

    private static BackendProfile joined(EpConfig.Builder config) {
        try (EpGroup group = EpGroup.join(Bootstrap.inProcess(1).get(0), config.build())) {
            return GroupPlan.of(group.plan()).profiles().get(0).backend(BACKEND).orElseThrow();
        }
    }

    /** The probe of the backend fails where it runs. */
    private static EpConfig.Builder config() {
        return EpConfig.builder(Map.of(), Map.of()).set("ep.threads.probed", "false");
    }

    @Test
    void aBackendThatMayBeUsedIsProbed() {
        assertThat(joined(config()).why()).contains("its probe failed", "probed");
        assertThat(joined(config().require(BACKEND)).why()).contains("its probe failed");
        assertThat(joined(EpConfig.builder(Map.of(), Map.of()))).matches(BackendProfile::usable);
    }

    @Test
    void anExcludedBackendIsNotProbedAndThePlanGivesTheReason() {
        BackendProfile excluded = joined(config().exclude(BACKEND));
        assertThat(excluded.usable()).isFalse();
        assertThat(excluded.why()).isEqualTo("not probed: excluded by ep.backend.exclude");
        assertThat(excluded.facts()).isEmpty();
    }

    @Test
    void aMissingRequiredBackendIsReportedThoughNothingWasProbed() {
        assertThatThrownBy(() -> joined(config().require("nothing-here")))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("backend nothing-here is not on the class path, which has: threads");
    }

    @Test
    void aRankThatLeavesWhileOthersJoinLeavesThemToJoinAgain() {
        List<Bootstrap> members = Bootstrap.inProcess(2);
        members.get(1).close();
        EpConfig alone = config().build();
        assertThatThrownBy(() -> EpGroup.join(members.get(0), alone))
                .isInstanceOfSatisfying(EpPeerLostException.class, e -> {
                    assertThat(e.failure().peer()).isEqualTo(1);
                    assertThat(e.recourse()).isEqualTo(EpException.Recourse.REJOIN);
                    assertThat(e).hasMessageContaining("rank 1 has left").hasCauseInstanceOf(EpPeerLostException.class);
                });
    }

    @ParameterizedTest
    @CsvSource({
        // setting, local rank, devices, meaning
        "cuda, 0, 8, cuda:0",
        "cuda, 3, 8, cuda:3",
        "cuda, 3, 3, cuda:0",
        "cuda, 7, 1, cuda:0",
        "cuda:5, 3, 8, cuda:5",
        "cuda:5, 3, 1, cuda:5",
        "host, 3, 1, host:0",
        "cuda, 3, 0, cuda:0",
        "cuda, x, 4, cuda:0",
        "cuda, '', 4, cuda:0",
    })
    void aDeviceTypeWithoutANumberIsTheDeviceOfTheLocalRank(String setting, String localRank, int count, String meant) {
        assertThat(GroupJoiner.device(setting, Map.of("LOCAL_RANK", localRank), count))
                .isEqualTo(Device.parse(meant));
    }

    @Test
    void theLocalRankIsReadFromTheVariablesOfLaunchers() {
        assertThat(GroupJoiner.device("cuda", Map.of(), 4).ordinal()).isZero();
        assertThat(GroupJoiner.device("cuda", Map.of("OMPI_COMM_WORLD_LOCAL_RANK", "2"), 4)
                        .ordinal())
                .isEqualTo(2);
        assertThat(GroupJoiner.device("cuda", Map.of("SLURM_LOCALID", "3", "PMI_LOCAL_RANK", "1"), 4)
                        .ordinal())
                .isEqualTo(3);
        assertThat(GroupJoiner.device("cuda", Map.of("SLURM_LOCALID", "3", "LOCAL_RANK", "1"), 4)
                        .ordinal())
                .isEqualTo(1);
    }

    @Test
    void aDeviceNumberThatIsNoNumberIsRefused() {
        assertThatThrownBy(() -> GroupJoiner.device("cuda:x", Map.of(), 4)).isInstanceOf(EpArgumentException.class);
    }

    @Test
    void theReasonOfAFailedJoinStaysWhenClosingFailsToo() {
        Bootstrap member = Bootstrap.inProcess(1).get(0);
        IllegalStateException closing = new IllegalStateException("close fails");
        Bootstrap failing = (Bootstrap) Proxy.newProxyInstance(
                GroupJoinerTest.class.getClassLoader(), new Class<?>[] {Bootstrap.class}, (self, method, arguments) -> {
                    Object result = method.invoke(member, arguments);
                    if (method.getName().equals("close")) {
                        throw closing;
                    }
                    return result;
                });
        EpConfig nothing = config().require("nothing-here").build();
        assertThatThrownBy(() -> EpGroup.join(failing, nothing))
                .isInstanceOf(EpUnavailableException.class)
                .hasMessageContaining("backend nothing-here is not on the class path")
                .hasSuppressedException(closing);
    }

    /** Joins a group of its own, and prints how that ended. */
    static final class Alone {
        private Alone() {}

        public static void main(String[] args) {
            try (EpGroup group = EpGroup.join(
                    Bootstrap.inProcess(1).get(0), EpConfig.builder().build())) {
                System.out.println("joined " + group.size());
            } catch (EpException e) {
                System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
    }

    private static String alone(Path folder, List<String> options) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"));
        command.add(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        command.addAll(options);
        command.add(Alone.class.getName());
        Path output = folder.resolve("output");
        Path errors = folder.resolve("errors");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectError(errors.toFile()).redirectOutput(output.toFile());
        // What joins here has the options and settings that are given here alone, and uses nothing that was measured.
        builder.environment()
                .keySet()
                .removeIf(name -> name.startsWith("EP_")
                        || List.of("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
                                .contains(name));
        builder.environment().put(EpKeys.TUNE.environmentName(), "off");
        Process process = builder.start();
        boolean ended;
        try {
            ended = process.waitFor(Guard.minute().toSeconds(), TimeUnit.SECONDS);
        } finally {
            process.destroyForcibly();
        }
        String all = Files.readString(output) + Files.readString(errors);
        assertThat(ended).as("ended in time: %s", all).isTrue();
        assertThat(process.exitValue()).as("%s", all).isZero();
        return Files.readString(output).strip();
    }

    /** JNA is to unpack its library into a file, which fails as a folder does from which nothing can be run. */
    @Test
    void whereJnaCannotStartTheErrorNamesItsFolderAndTheProperty(@TempDir Path folder) throws Exception {
        Path file = Files.createFile(folder.resolve("file"));
        assertThat(alone(folder, List.of("-Djna.tmpdir=" + file)))
                .startsWith("EpUnavailableException: host:0 cannot be used: ")
                .contains(
                        "JNA, through which ep4j calls native libraries",
                        "unpacked into " + file,
                        "-Djna.tmpdir=FOLDER");
        assertThat(alone(folder, List.of("-Djna.tmpdir=" + folder))).isEqualTo("joined 1");
    }
}
