package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.ep4j.EpException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.cli.TrafficOptions.Modes;
import org.ep4j.cli.report.ProgressView;
import org.ep4j.cli.report.TuneCandidate;
import org.ep4j.cli.report.TuneReport;
import org.ep4j.cli.report.TuneReport.Trial;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.TunedSettings.Choice;
import org.ep4j.plan.TunedSettings.Shape;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The course of a search. Its benches are a script that writes times which depend on the settings, the mode and the seed. */
@Tag("verify")
final class TuneRunTest {
    private static final int TURNS = 3;
    private static final int LAST_SEED_OF_TRIALS = 3;

    /** A test puts commands in place of TIMES, which change variables or end the script. */
    private static final String SCRIPT = """
            echo "$@" >> "$(dirname "$0")/calls"
            sms=24 ll=132 bytes=2MiB mode=none seed=0 json=/dev/null
            for argument; do
              case $argument in
                -Dep.gpu.sms=*) sms=${argument#*=} ;;
                -Dep.gpu.low-latency.sms=*) ll=${argument#*=} ;;
                -Dep.host.non-temporal-bytes=*) bytes=${argument#*=} ;;
                --mode=*) mode=${argument#*=} ;;
                --seed=*) seed=${argument#*=} ;;
                --json=*) json=${argument#*=} ;;
              esac
            done
            dispatch=100 combine=200 low=20 chain=30 few=24 all=132 ranks=2 devices=2 mark=fingerprint
            TIMES
            high='{"operation": "ht.dispatch.bf16", "tokens": 4096, "gpuSlowestMicros": '$dispatch'},
              {"operation": "ht.combine.bf16", "tokens": 4096, "gpuSlowestMicros": '$combine'}'
            gpu='{"processors": '$all', "highThroughputSms": '$few', "lowLatencySms": '$all'}'
            low='{"operation": "ll.combine.exact", "tokens": 128, "gpuSlowestMicros": '$low'}'
            chains='{"operation": "ll.pair", "tokens": 128, "way": "graph", "periodMicros": '$chain'}'
            case $mode in
              ht) operations=$high chains= ;;
              ll) operations=$low ;;
              *) operations="$high, $low" ;;
            esac
            if ON_HOST; then
              rows='"tokens": 64, "operations": [{"operation": "ht.dispatch", "medianMicros": '$dispatch'}]'
            else
              rows='"runs": [{"askedSms": 0, "gpu": '$gpu', "operations": ['$operations'], "chains": ['$chains']}]'
            fi
            cat > "$json" <<END
            {"environment": {"device": "cuda", "$mark": {"device": "cuda", "model": "sm_90", "processors": $all,
              "ranks": $ranks, "hosts": 1, "devices": $devices, "backends": ["ipc-nvlink"]}}, $rows}
            END
            """;

    @TempDir
    private Path folder;

    private TuneReport run(boolean onHost, Modes mode, String times) throws IOException {
        return run(onHost, mode, 128, times);
    }

    private TuneReport run(boolean onHost, Modes mode, int lowLatencyTokens, String times) throws IOException {
        String script = SCRIPT.replace("ON_HOST", Boolean.toString(onHost)).replace("TIMES", times);
        Path file = Files.writeString(folder.resolve("bench.sh"), script);
        TuneRun.Spec spec = new TuneRun.Spec(
                onHost,
                mode,
                List.of("--ranks=2"),
                4,
                6,
                TURNS,
                1,
                new Shape(7168, 256, 8, 4096, lowLatencyTokens),
                options -> Stream.concat(Stream.of("/bin/sh", file.toString()), options.stream())
                        .toList());
        try (BenchTurns benches = new BenchTurns(BenchTurns.DEADLINE);
                ProgressView progress = ProgressView.of("tune", new PrintWriter(new StringWriter()))) {
            return new TuneRun(spec, benches, progress).run();
        }
    }

    private List<String> calls() throws IOException {
        return Files.readAllLines(folder.resolve("calls"));
    }

    /** The values of an argument in all calls that have it, or {@code -}. */
    private static List<String> values(List<String> calls, String argument) {
        Pattern pattern = Pattern.compile(Pattern.quote(argument) + "=(\\S+)");
        List<String> found = new ArrayList<>();
        for (String call : calls) {
            Matcher matcher = pattern.matcher(call);
            found.add(matcher.find() ? matcher.group(1) : "-");
        }
        return found;
    }

    private static List<String> candidates(TuneReport report, int trial) {
        return report.trials().get(trial).candidates().stream()
                .map(TuneCandidate::value)
                .toList();
    }

    @Test
    void theBestAcceptableValueIsMeasuredAgainAndChosen() throws Exception {
        TuneReport report = run(false, Modes.BOTH, """
                case $sms in 12) dispatch=150 ;; 32) dispatch=90 ;; 48) dispatch=70 combine=230 ;; esac
                case $ll in 132) ;; *) low=25 ;; esac
                """);
        assertThat(report.choices())
                .containsExactly(new Choice("ep.gpu.sms", "32", "ht.dispatch.bf16, 4096 tokens: 100.0 -> 90.0 us"));
        assertThat(report.trials()).extracting(Trial::setting).containsExactly("ep.gpu.sms", "ep.gpu.low-latency.sms");
        assertThat(candidates(report, 0)).containsExactly("12", "16", "32", "48");
        assertThat(candidates(report, 1)).containsExactly("33", "66", "99");
        assertThat(report.trials().get(0).confirmation().orElseThrow().rows()).hasSize(2);
        assertThat(report.trials().get(1).confirmation()).isEmpty();
        assertThat(report.fingerprint().text())
                .isEqualTo("cuda sm_90 with 132 multiprocessors, 2 ranks on 1 host and 2 GPUs, ipc-nvlink");
        assertThat(report.environment().path("device").asString()).isEqualTo("cuda");

        List<String> calls = calls();
        assertThat(calls).hasSize(1 + TURNS * (5 + 4 + 2)).allMatch(call -> call.startsWith("-Dep.tune=off "));
        assertThat(calls.get(0))
                .startsWith(
                        "-Dep.tune=off bench --ranks=2 --mode=both --no-validate --warmup=0 --iterations=1 --chain=none");
        List<String> trial = calls.subList(1, 1 + 5 * TURNS);
        assertThat(values(trial, "-Dep.gpu.sms"))
                .containsExactly("-", "12", "16", "32", "48", "48", "32", "16", "12", "-", "-", "12", "16", "32", "48");
        assertThat(values(trial, "--seed"))
                .startsWith("1", "1", "1", "1", "1", "2")
                .endsWith("3");
        assertThat(trial)
                .allMatch(call -> call.contains("--mode=ht --no-validate --warmup=4 --iterations=6 "))
                .noneMatch(call -> call.contains("--chain"));
        List<String> again = calls.subList(1 + 5 * TURNS, 1 + 7 * TURNS);
        assertThat(values(again, "--mode")).containsOnly("ht");
        assertThat(values(again, "--chain")).containsOnly("-");
        assertThat(values(again, "--seed")).containsExactly("4", "4", "5", "5", "6", "6");
        assertThat(values(again, "-Dep.gpu.sms")).containsExactly("-", "32", "32", "-", "-", "32");
        assertThat(values(again, "-Dep.gpu.low-latency.sms")).containsOnly("-");
        List<String> second = calls.subList(1 + 7 * TURNS, calls.size());
        assertThat(values(second, "--mode")).containsOnly("ll");
        assertThat(values(second, "--chain")).containsOnly("128");
        assertThat(values(second, "-Dep.gpu.low-latency.sms")).startsWith("-", "33", "66", "99", "99");
    }

    @Test
    void eachSettingIsConfirmedByItsOwnOperations() throws Exception {
        TuneReport report = run(false, Modes.BOTH, """
                case $sms in 16) combine=180 low=25 ;; esac
                case $ll in 66) chain=27 dispatch=120 ;; esac
                """);
        assertThat(report.choices())
                .containsExactly(
                        new Choice("ep.gpu.sms", "16", "ht.combine.bf16, 4096 tokens: 200.0 -> 180.0 us"),
                        new Choice(
                                "ep.gpu.low-latency.sms",
                                "66",
                                "chain of ll.pair, 128 tokens, graph: 30.0 -> 27.0 us"));
        List<String> calls = calls();
        assertThat(calls).hasSize(1 + TURNS * (5 + 2 + 4 + 2));
        List<String> last = calls.subList(1 + 11 * TURNS, calls.size());
        assertThat(values(last, "--mode")).containsOnly("ll");
        assertThat(values(last, "--chain")).containsOnly("128");
        assertThat(values(last, "-Dep.gpu.sms")).containsOnly("-");
        assertThat(values(last, "-Dep.gpu.low-latency.sms")).containsExactly("-", "66", "66", "-", "-", "66");
    }

    @Test
    void aSettingThatDoesNotGainAgainKeepsItsDefault() throws Exception {
        TuneReport report = run(false, Modes.BOTH, """
                case $sms in 16) combine=180 ;; esac
                case $ll in 66) [ $seed -gt %d ] || chain=27 ;; esac
                """.formatted(LAST_SEED_OF_TRIALS));
        assertThat(report.trials().get(1).confirmation()).isPresent();
        assertThat(report.choices())
                .containsExactly(new Choice("ep.gpu.sms", "16", "ht.combine.bf16, 4096 tokens: 200.0 -> 180.0 us"));
    }

    @Test
    void aGainThatDoesNotComeAgainIsNotKept() throws Exception {
        TuneReport report = run(false, Modes.HT, """
                case $sms in 32) [ $seed -gt %d ] || dispatch=90 ;; esac
                """.formatted(LAST_SEED_OF_TRIALS));
        TuneCandidate confirmation = report.trials().get(0).confirmation().orElseThrow();
        assertThat(confirmation.value()).isEqualTo("32");
        assertThat(confirmation.acceptable()).isFalse();
        assertThat(report.choices()).isEmpty();
        assertThat(report.text()).contains("The gain was not confirmed: the default is best.");
    }

    @Test
    void aLossInTheConfirmationIsNotKept() throws Exception {
        TuneReport report = run(false, Modes.BOTH, """
                case $sms in 32) dispatch=90; [ $seed -le %d ] || combine=206 ;; esac
                """.formatted(LAST_SEED_OF_TRIALS));
        assertThat(report.choices()).isEmpty();
        assertThat(report.text().replaceAll("\\s+", " "))
                .contains("most in ht.combine.bf16, 4096 tokens (ratio 1.030)");
    }

    @Test
    void nothingIsMeasuredAgainWhereNoValueIsAcceptable() throws Exception {
        TuneReport report = run(false, Modes.BOTH, "");
        assertThat(report.trials()).allMatch(trial -> trial.confirmation().isEmpty());
        assertThat(report.choices()).isEmpty();
        assertThat(calls()).hasSize(1 + TURNS * (5 + 4));
    }

    @Test
    void eachModeTunesOnlyItsOwnSetting() throws Exception {
        TuneReport low = run(false, Modes.LL, "");
        assertThat(low.trials()).extracting(Trial::setting).containsExactly("ep.gpu.low-latency.sms");
        assertThat(values(calls(), "--mode")).containsOnly("ll");
        List<String> counted = calls().subList(1, calls().size());
        assertThat(values(counted, "--chain")).containsOnly("128");
        assertThat(TuneRun.keys(false, Modes.LL)).containsExactly(EpKeys.LOW_LATENCY_SMS);
        assertThat(TuneRun.keys(false, Modes.HT)).containsExactly(EpKeys.GPU_SMS);
        assertThat(TuneRun.keys(true, Modes.HT)).containsExactly(EpKeys.HOST_NON_TEMPORAL_BYTES);
    }

    @Test
    void moreTokensThanChainsMayHaveAreMeasuredWithoutChains() throws Exception {
        run(false, Modes.LL, 512, "");
        assertThat(values(calls(), "--chain")).contains("512");
        Files.delete(folder.resolve("calls"));
        run(false, Modes.LL, 513, "");
        assertThat(values(calls(), "--chain")).containsOnly("none");
    }

    @Test
    void ranksThatShareAGpuShareItsMultiprocessors() throws Exception {
        assertThat(candidates(run(false, Modes.HT, "few=12 all=40"), 0)).containsExactly("6", "8", "16", "24");
        assertThat(candidates(run(false, Modes.HT, "few=12 all=40 devices=1"), 0))
                .containsExactly("6", "8", "16");
        assertThat(candidates(run(false, Modes.HT, "few=12 all=60 ranks=5"), 0))
                .as("three of five ranks share one of two GPUs: 20 for each")
                .containsExactly("6", "8", "16");
        assertThat(candidates(run(false, Modes.HT, "few=1 all=1 devices=1"), 0)).isEmpty();
    }

    @Test
    void numbersOfMultiprocessorsStayWithinTheGpu() throws Exception {
        TuneReport small = run(false, Modes.BOTH, "few=2 all=4");
        assertThat(candidates(small, 0)).containsExactly("3", "4");
        assertThat(candidates(small, 1)).containsExactly("2", "3");
        TuneReport tiny = run(false, Modes.BOTH, "few=1 all=1");
        assertThat(candidates(tiny, 0)).isEmpty();
        assertThat(candidates(tiny, 1)).isEmpty();
        assertThat(tiny.choices()).isEmpty();
        assertThat(tiny.text()).contains("there is no other value to try");
    }

    @Test
    void theHostHasOneSettingInTheModesThatAreAskedFor() throws Exception {
        TuneReport report = run(true, Modes.BOTH, """
                case $bytes in 8MiB) dispatch=95 ;; 32MiB) dispatch=93 ;; 512KiB) dispatch=101 ;; esac
                """);
        assertThat(report.trials()).extracting(Trial::setting).containsExactly("ep.host.non-temporal-bytes");
        assertThat(report.trials().get(0).usual()).isEqualTo("2MiB");
        assertThat(candidates(report, 0)).containsExactly("512KiB", "8MiB", "32MiB");
        assertThat(report.choices())
                .containsExactly(
                        new Choice("ep.host.non-temporal-bytes", "32MiB", "ht.dispatch, 64 tokens: 100.0 -> 93.0 us"));
        List<String> calls = calls();
        assertThat(calls).hasSize(1 + TURNS * (4 + 2)).noneMatch(call -> call.contains("--chain"));
        assertThat(values(calls, "--mode")).containsOnly("both");
    }

    @Test
    void aMachineThatChangesIsNotTuned() {
        assertThatThrownBy(() -> run(false, Modes.HT, "[ $seed -lt 2 ] || devices=1"))
                .isInstanceOf(EpException.class)
                .hasMessageContainingAll("changed during the measurement", "2 GPUs", "1 GPU,", "nothing is kept");
    }

    @Test
    void aMachineThatChangesDuringTheConfirmationIsNotTuned() throws Exception {
        String gain = "[ $sms != 32 ] || dispatch=90\n";
        assertThat(run(false, Modes.HT, gain).choices()).isNotEmpty();
        assertThatThrownBy(() ->
                        run(false, Modes.HT, gain + "[ $seed -le %d ] || devices=1".formatted(LAST_SEED_OF_TRIALS)))
                .isInstanceOf(EpException.class)
                .hasMessageContainingAll("changed during the measurement", "2 GPUs", "1 GPU,", "nothing is kept");
    }

    @Test
    void aBenchThatFailsIsNamedWithItsSettingAndItsLastLines() {
        assertThatThrownBy(() -> run(false, Modes.HT, "case $sms in 48) echo no room; exit 3 ;; esac"))
                .isInstanceOf(RankFailedException.class)
                .hasMessageContainingAll(
                        "ep.gpu.sms=48: bench in turn 1 of 3 ended with exit code 3; its last lines:", "no room");
        assertThatThrownBy(() -> run(false, Modes.HT, "echo no GPU; exit 3"))
                .isInstanceOf(RankFailedException.class)
                .hasMessageContainingAll(
                        "the defaults: the bench before the first turn ended with exit code 3", "no GPU")
                .satisfies(e -> assertThat(ExitCodes.of(e)).isEqualTo(ExitCodes.UNAVAILABLE));
    }

    @Test
    void aBenchThatDoesNotSayWhereItRanIsAnError() {
        assertThatThrownBy(() -> run(false, Modes.HT, "mark=nothing"))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("did not report environment.fingerprint");
        assertThatThrownBy(() -> run(false, Modes.HT, "few=0"))
                .isInstanceOf(EpException.class)
                .hasMessageContaining("did not report runs[0].gpu.highThroughputSms");
    }
}
