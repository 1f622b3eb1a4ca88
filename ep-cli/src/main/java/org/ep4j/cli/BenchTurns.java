package org.ep4j.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.ep4j.EpException;
import org.ep4j.EpUnavailableException;
import org.ep4j.cli.ExitCodes.RankFailedException;
import org.ep4j.config.EpKeys;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Benches of several variants in turns, each in a process of its own. A bench that takes too long is ended. If this process ends,
 * its bench is ended, too, unless this process is killed: a bench does not notice that.
 */
final class BenchTurns implements AutoCloseable {
    /** Longest time of one bench, which is far more than a useful one takes. */
    static final Duration DEADLINE = Duration.ofHours(1);

    /** Longer than a bench gives its own ranks to end. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static final int LAST_LINES = 20;

    private final Duration deadline;
    private final Path scratch;
    private final Path json;
    private final Path log;

    /**
     * Program whose benches are measured.
     *
     * @param name for messages
     * @param command what runs it, before the arguments
     * @param reports what its benches wrote with {@code --json}, one for each turn
     */
    record Variant(String name, List<String> command, List<JsonNode> reports) {
        static Variant of(String name, List<String> command) {
            return new Variant(name, List.copyOf(command), new ArrayList<>());
        }
    }

    /**
     * Makes a folder for temporary files.
     *
     * @param deadline of each process
     */
    BenchTurns(Duration deadline) {
        this.deadline = deadline;
        try {
            scratch = Files.createTempDirectory("ep-turns-");
        } catch (IOException e) {
            throw new EpUnavailableException("cannot create a folder for temporary files: " + e, e);
        }
        json = scratch.resolve("bench.json");
        log = scratch.resolve("output");
    }

    /**
     * Runs one bench of each variant in every turn: in the order of the list in the first, third, ... turn, in the reverse order
     * in the others.
     *
     * @param arguments of a bench, without {@code --seed} and {@code --json}
     * @param seed of the first turn; it increases by one with each turn
     * @param measured is called after each bench, with its turn and its variant for people
     * @throws RankFailedException when a bench failed, with its last lines
     */
    void measure(List<Variant> variants, List<String> arguments, int turns, long seed, Consumer<String> measured) {
        List<Variant> order = new ArrayList<>(variants);
        for (int turn = 0; turn < turns; turn++) {
            String place = "turn " + (turn + 1) + " of " + turns;
            for (Variant variant : order) {
                variant.reports().add(bench(variant, arguments, seed + turn, "bench in " + place));
                measured.accept(place + ", " + variant.name());
            }
            Collections.reverse(order);
        }
    }

    /**
     * Runs one bench and returns what it wrote.
     *
     * @param what it is, for messages
     */
    JsonNode bench(Variant variant, List<String> arguments, long seed, String what) {
        List<String> bench = new ArrayList<>(arguments);
        bench.addAll(List.of("--seed=" + seed, "--json=" + json));
        run(variant, bench, what);
        try {
            JsonNode report = JsonMapper.shared().readTree(json.toFile());
            RankJob.remove(json);
            return report;
        } catch (JacksonException e) {
            throw failure(variant, what + " wrote no JSON (" + e.getOriginalMessage() + ")", ExitCodes.RANK_FAILED);
        }
    }

    /** Runs a command of a variant; without the settings of {@code ./ep tune}, unless {@code EP_TUNE} is set. */
    void run(Variant variant, List<String> arguments, String what) {
        List<String> command = new ArrayList<>(variant.command());
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        // For the script ep: the options of the JVMs that are started here.
        builder.environment().put("EP_JAVA_OPTS", String.join(" ", LocalRanks.inheritedOptions()));
        // A build without ./ep tune has the defaults, and so has the other one.
        builder.environment().putIfAbsent(EpKeys.TUNE.environmentName(), "off");
        try {
            Process process = builder.start();
            if (!endsInTime(process)) {
                throw failure(
                        variant,
                        what + " took more than " + deadline.toSeconds() + " s and was stopped",
                        ExitCodes.RANK_FAILED);
            }
            int code = process.exitValue();
            if (code != ExitCodes.OK) {
                throw failure(
                        variant,
                        what + " ended with exit code " + code,
                        // 1 is for what a comparison finds, and what scripts end with for any reason.
                        code > ExitCodes.CHECK_FAILED && code <= ExitCodes.INTERNAL ? code : ExitCodes.RANK_FAILED);
            }
        } catch (IOException e) {
            throw new EpUnavailableException(
                    "cannot start " + variant.name() + ": " + e.getMessage()
                            + "; check that the program exists and may be executed",
                    e);
        }
    }

    private boolean endsInTime(Process process) {
        Thread hook = new Thread(
                () -> {
                    LocalRanks.end(List.of(process), GRACE);
                    close();
                },
                "ep-bench-end");
        try {
            Runtime.getRuntime().addShutdownHook(hook);
            return process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EpException("interrupted while waiting for a bench", e);
        } finally {
            if (process.isAlive()) {
                LocalRanks.end(List.of(process), GRACE);
            }
            LocalRanks.removeHook(hook);
        }
    }

    private RankFailedException failure(Variant variant, String what, int exitCode) {
        String output;
        try {
            List<String> lines =
                    new String(Files.readAllBytes(log), UTF_8).lines().toList();
            output = "its last lines:\n"
                    + String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
        } catch (IOException e) {
            output = "its output cannot be read: " + e;
        }
        return new RankFailedException(variant.name() + ": " + what + "; " + output, exitCode);
    }

    /** Removes temporary files. */
    @Override
    public void close() {
        List.of(json, log, scratch).forEach(RankJob::remove);
    }
}
