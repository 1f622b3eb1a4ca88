package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.ep4j.EpArgumentException;
import org.ep4j.EpConfigException;
import org.ep4j.EpException;
import org.ep4j.EpFailure;
import org.ep4j.EpMismatchException;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpResourceException;
import org.ep4j.EpTimeoutException;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.rank.RankMessage.Samples;
import org.ep4j.cli.rank.RankMessage.Validated;
import org.ep4j.cli.report.Figures;
import org.ep4j.cli.report.Wrapped;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

@Tag("verify")
final class CommandLineTest {
    @Test
    void everyCommandHasHelpWithDescriptionAndExitCodes() {
        CommandLine root = new CommandLine(new EpCommand());
        assertThat(root.getSubcommands())
                .containsKeys("demo", "bench", "tune", "conformance", "run", "generate-completion");
        for (String command : root.getSubcommands().keySet()) {
            Ran ran = Ran.ep(command, "--help");
            assertThat(ran.code()).as(command).isZero();
            assertThat(ran.out()).as(command).startsWith("Usage: ep " + command).contains("--help", "Exit codes:");
            assertThat(ran.err()).as(command).isEmpty();
        }
    }

    @Test
    void everyOptionAndParameterIsDescribed() {
        CommandLine root = new CommandLine(new EpCommand());
        root.getSubcommands().forEach((name, command) -> {
            assertThat(command.getCommandSpec().usageMessage().description())
                    .as(name)
                    .isNotEmpty();
            command.getCommandSpec()
                    .args()
                    .forEach(arg -> assertThat(String.join("", arg.description()))
                            .as("%s %s", name, arg.paramLabel())
                            .isNotBlank());
        });
    }

    @Test
    void helpOfTheRootListsTheCommandsButNotTheRankProcess() {
        Ran ran = Ran.ep("--help");
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).contains("demo", "bench", "conformance", "run", "generate-completion", "Exit codes:");
        assertThat(ran.out()).doesNotContain(RankCommand.NAME);
    }

    @Test
    void versionNamesEp4jAndJava() {
        Ran ran = Ran.ep("--version");
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).startsWith("ep4j ").contains("Java " + Runtime.version());
    }

    @Test
    void withoutACommandItSaysWhatItIsAndWhatToTry() {
        Ran ran = Ran.ep();
        assertThat(ran.code()).as(ran.err()).isZero();
        assertThat(ran.out())
                .startsWith("ep4j ")
                .contains("./ep demo", "./ep doctor", "./ep tune", "./ep help settings");
        assertThat(ran.out().lines()).hasSizeLessThanOrEqualTo(20).allMatch(line -> line.length() <= Wrapped.COLUMNS);
    }

    @Test
    void helpExplainsCommandsSettingsVariablesAndChecks() {
        assertThat(Ran.ep("help").out()).isEqualTo(Ran.ep("--help").out());
        assertThat(Ran.ep("help", "bench").out())
                .isEqualTo(Ran.ep("bench", "--help").out());
        assertThat(Ran.ep("help", "settings").out()).contains("ep.timeout (30s)", "ep.shm.dir", "ep.efa.provider");
        assertThat(Ran.ep("help", "ep.nic.gid-index").out())
                .startsWith("ep.nic.gid-index")
                .contains("value:    an integer from -1 to 1023", "default:  -1", "NCCL_IB_GID_INDEX");
        assertThat(Ran.ep("help", "EP_NIC_GID_INDEX").out())
                .isEqualTo(Ran.ep("help", "ep.nic.gid-index").out())
                .isEqualTo(Ran.ep("help", "nvshmem_ib_gid_index").out());
        assertThat(Ran.ep("help", "ep.bootstrap").out()).contains("ep.bootstrap.secret", "ep.bootstrap.port");
        assertThat(Ran.ep("help", "EP-MEM-001").out())
                .startsWith("EP-MEM-001: ")
                .contains("checks: ", "remedy: ");
        assertThat(Ran.ep("help", "ep-shm-002").out()).startsWith("EP-SHM-002: the system is 64-bit Linux");
        assertThat(Ran.ep("help", "BENCH").out())
                .isEqualTo(Ran.ep("help", "bench").out());
        assertThat(Ran.ep("help", "ep.").out()).isEqualTo(Ran.ep("help", "ep").out());
        for (String topic : List.of("settings", "ep", "EP-NIC-009")) {
            assertThat(Ran.ep("help", topic).out().lines())
                    .as(topic)
                    .isNotEmpty()
                    .allMatch(line -> line.length() <= Wrapped.COLUMNS);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "benhc, 'the nearest command is bench'",
        "rank, 'there is no help for'",
        "'', 'the nearest command is'",
        "NCCL_DEBUG, './ep plan --from-env'",
        "ep.timeuot, 'the nearest setting is ep.timeout'",
        "EP_NIC_MPA, 'the nearest setting is ep.nic.map'",
        "EP-SHM-999, 'the nearest check is EP-SHM-0'",
    })
    void helpForWhatDoesNotExistIsWrongUsage(String topic, String answer) {
        Ran ran = Ran.ep("help", topic);
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).startsWith("ep: ").contains(answer);
        assertThat(ran.out()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "benhc, 'ep bench'",
        "demos, 'ep demo'",
    })
    void aMisspeltCommandIsAnsweredWithTheNearestOne(String wrong, String right) {
        Ran ran = Ran.ep(wrong);
        assertThat(ran.code()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).contains(wrong, right);
        assertThat(ran.out()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench --ranks x",
                "bench --mode fast",
                "bench --dtype int4",
                "bench --layout random",
                "bench --topk 33",
                "bench --topk 0",
                "bench --topk 9 --experts 8",
                "bench --ranks 0",
                "bench --iterations 0",
                "bench --warmup -1",
                "bench --skew -1",
                "bench --skew NaN",
                "bench --tokens 0",
                "bench --ll-tokens 0",
                "bench --device gpu:x",
                "bench --hidden 100",
                "bench --ranks 2 --ranks 3",
                "tune --ranks 0",
                "tune --turns 2",
                "tune --turns 1001",
                "tune --iterations 0",
                "tune --warmup -1",
                "tune --tokens 0",
                "tune --ll-tokens 0",
                "tune --topk 33",
                "tune --mode fast",
                "tune --skew NaN",
                "tune --device gpu:x",
                "tune --forget --dry-run",
                "demo --iterations 0",
                "demo --hidden 8",
                "demo --warmup -1",
                "doctor --all --problems",
                "demo extra",
                "conformance --ranks 1",
                "conformance --rule (",
                "conformance --rule nothing-like-this",
                "run",
                "run -n 2",
                "run -n 0 -- true",
                "run -n 1 --master-port 70000 -- true",
                "plan --hosts 0",
                "plan --ranks-per-host -1",
                "plan --mode fast",
                "plan --gpu-links some",
                "plan --tokens 0",
                "plan --topk 9 --experts 8",
                "plan --expert-groups 8",
                "plan --expert-groups 8:9",
                "plan --expert-groups 3:1",
                "plan --file /nowhere/machine.xml",
                "plan --file pom.xml",
            })
    void wrongUsageEndsWithTwoAndSaysWhatIsWrong(String line) {
        Ran ran = Ran.ep(line.split(" ", -1));
        assertThat(ran.code()).as(ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err()).startsWith("ep: ").doesNotContain("\tat ");
    }

    @Test
    void aWrongValueIsNamedWithItsLimitAndTheFix() {
        Ran ran = Ran.ep("bench", "--topk", "33");
        assertThat(ran.err()).contains("--topk", "33", "[1, 32]", "at most 32");
    }

    @Test
    void verboseAddsTheStack() {
        assertThat(Ran.ep("--verbose", "bench", "--topk", "33").err()).contains("EpArgumentException", "\tat ");
        assertThat(Ran.ep("bench", "--topk", "33", "--verbose").err()).contains("EpArgumentException", "\tat ");
    }

    @Test
    void everyKindOfFailureHasItsExitCode() {
        assertThat(ExitCodes.of(new EpArgumentException("a", 1, "2", "3"))).isEqualTo(2);
        assertThat(ExitCodes.of(new EpConfigException("x"))).isEqualTo(2);
        assertThat(ExitCodes.of(new EpUnavailableException("x"))).isEqualTo(3);
        assertThat(ExitCodes.of(new EpResourceException("x"))).isEqualTo(3);
        EpFailure failure = EpFailure.builder("phase", 1).build();
        assertThat(ExitCodes.of(new EpTimeoutException("x", failure))).isEqualTo(4);
        assertThat(ExitCodes.of(new EpPeerLostException("x", failure))).isEqualTo(4);
        assertThat(ExitCodes.of(new EpMismatchException("x"))).isEqualTo(4);
        assertThat(ExitCodes.of(new ExitCodes.RankFailedException("x", 3))).isEqualTo(3);
        assertThat(ExitCodes.of(new EpException("x"))).isEqualTo(1);
        assertThat(ExitCodes.of(new IllegalStateException("x"))).isEqualTo(5);
    }

    @Test
    void oneWrongOperationMakesTheCommandFail() {
        Samples samples = new Samples("op", List.of(1L), List.of(1L), List.of(0L), 8, List.of());
        Figures right = Figures.of(List.of(samples), Map.of(), List.of(new Validated("op", 1, "")));
        Figures wrong = Figures.of(List.of(samples), Map.of(), List.of(new Validated("op", 1, "x[0] is 1, must be 2")));
        assertThat(ExitCodes.of(List.of(right, right))).isEqualTo(0);
        assertThat(ExitCodes.of(List.of(right, wrong))).isEqualTo(1);
    }

    @Test
    void theCompletionScriptKnowsEveryCommandAndIsValidShell() throws Exception {
        Ran ran = Ran.ep("generate-completion");
        assertThat(ran.code()).isZero();
        assertThat(ran.out())
                .contains("demo", "bench", "conformance", "run", "--ll-tokens", "complete -F _complete_ep");
        Process bash = new ProcessBuilder(List.of("bash", "-n"))
                .redirectErrorStream(true)
                .start();
        bash.getOutputStream().write(ran.out().getBytes(java.nio.charset.StandardCharsets.UTF_8));
        bash.getOutputStream().close();
        assertThat(new String(bash.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8))
                .isEmpty();
        assertThat(bash.waitFor()).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench --ranks 2 --json",
                "bench --ranks 2 --plot",
                "writes --json",
                "conformance --json",
                "tune --json"
            })
    void aFileThatCannotBeWrittenIsReportedBeforeTheWork(String command) {
        List<String> arguments = new ArrayList<>(List.of(command.split(" ", -1)));
        arguments.add("/no-such-folder/file");
        Ran ran = Ran.ep(arguments.toArray(String[]::new));
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).doesNotContain("PASS", "us ");
        assertThat(ran.err()).contains("cannot write /no-such-folder/file: there is no such folder");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "[]", "nothing", "{\"environment\":{\"format\":2},\"runs\":[]}"})
    void aFileThatBenchDidNotWriteIsRefused(String content, @TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("figures.json"), content);
        Ran ran = Ran.ep(
                "bench",
                "--from",
                file.toString(),
                "--plot-sms",
                folder.resolve("plot.png").toString());
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.USAGE);
        assertThat(ran.err())
                .contains("--from is " + file + ", must be a file that ./ep bench --json wrote on GPUs")
                .doesNotContain("Exception");
    }

    @ParameterizedTest
    @ValueSource(strings = {"bench", "conformance"})
    void aFolderIsNoFile(String command) {
        Ran ran = Ran.ep(command, "--ranks", "2", "--json", "/");
        assertThat(ran.code()).as(ran.out() + ran.err()).isEqualTo(ExitCodes.UNAVAILABLE);
        assertThat(ran.out()).doesNotContain("PASS");
        assertThat(ran.err()).contains("cannot write /: it is a folder");
    }
}
