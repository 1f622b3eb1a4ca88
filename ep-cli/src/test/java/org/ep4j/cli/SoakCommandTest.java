package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.ep4j.tck.Capability;
import org.ep4j.tck.TckSubject;
import org.ep4j.tck.soak.Fault;
import org.ep4j.tck.soak.SoakRequest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Tag("verify")
final class SoakCommandTest {
    @TempDir
    private Path folder;

    @Test
    void runsRoundsAndWritesTheReport() throws Exception {
        Path json = folder.resolve("soak.json");
        Ran ran = Ran.ep(
                "soak",
                "--device",
                "host",
                "--ranks",
                "3",
                "--faults",
                "none,kill",
                "--rounds",
                "2",
                "--seed",
                "12",
                "--json",
                json.toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isZero();
        assertThat(ran.out())
                .contains("soak of host-shm on host: 3 ranks, faults none,kill, first seed 12", "PASSED, 2 rounds in ");
        JsonNode root = JsonMapper.shared().readTree(json.toFile());
        assertThat(root.path("passed").asBoolean()).isTrue();
        assertThat(root.path("rounds").asInt()).isEqualTo(2);
        assertThat(root.path("exchanges").asInt()).isGreaterThan(80);
        assertThat(root.path("wrong_row").asInt(-1)).isZero();
    }

    private static void refused(int code, String message, String... arguments) {
        Ran ran = Ran.ep(arguments);
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(code);
        assertThat(ran.err()).contains(message);
    }

    @Test
    void refusesWrongArgumentsBeforeARankStarts() {
        refused(
                ExitCodes.USAGE,
                "--faults is explode, must be all, or some of none,slow,pause,close,full,port-down,kill,double-kill,stop,partition,reset",
                "soak",
                "--faults",
                "kill,explode");
        refused(
                ExitCodes.USAGE,
                "ranks is 4, must be >= 5 for the fault double-kill",
                "soak",
                "--ranks",
                "4",
                "--faults",
                "double-kill");
        refused(ExitCodes.USAGE, "rounds is 0, must be >= 1", "soak", "--rounds", "0");
        refused(ExitCodes.USAGE, "--duration", "soak", "--duration", "soon");
        refused(ExitCodes.USAGE, "jobs is 0, must be >= 1", "soak", "--rounds", "1", "--jobs", "0");
        refused(ExitCodes.USAGE, "ep.timeot", "soak", "--rounds", "1", "--set", "ep.timeot=3s");
        refused(ExitCodes.UNAVAILABLE, "no-such is not on the class path", "soak", "--backend", "no-such");
        refused(
                ExitCodes.UNAVAILABLE,
                "there is no such folder",
                "soak",
                "--rounds",
                "1",
                "--json",
                folder.resolve("none/x.json").toString());
    }

    private static SoakRequest request(TckSubject subject) {
        return new SoakRequest(subject, 3, List.of(Fault.NONE, Fault.SLOW), OptionalLong.of(9), Optional.empty(), 1, 2);
    }

    @Test
    void theCommandThatRepeatsARoundMeansTheSameInAShell() {
        TckSubject plain = TckSubject.of("host-shm", "host");
        assertThat(SoakCommand.repeat(request(plain), 5, Map.of()))
                .isEqualTo(
                        "./ep soak --backend host-shm --device host --ranks 3 --faults none,slow --rounds 1 --seed 5");
        TckSubject special = plain.with(Map.of("ep.shm.dir", "/tmp/a b'c", "ep.timeout", "3s"))
                .without(Capability.RECOVER);
        assertThat(SoakCommand.repeat(request(special), 5, Map.of("EP_TCK_PATIENCE", "4")))
                .startsWith("EP_TCK_PATIENCE=4 ./ep soak ")
                .endsWith(" --seed 5 --set 'ep.shm.dir=/tmp/a b'\\''c' --set ep.timeout=3s --without RECOVER");
    }
}
