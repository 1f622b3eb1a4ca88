package org.ep4j.engine.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.testing.Guard;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs {@link RingStress} by jcstress, in processes of their own, and what is wrong on purpose, which it must find. */
@Tag("all")
final class RingStressTest {
    private static final Pattern COUNTS =
            Pattern.compile("\\(Results: (\\d+) planned; (\\d+) passed, (\\d+) failed, 0 soft errs, 0 hard errs\\)");

    @TempDir
    private Path folder;

    @Test
    void commandsAreNeitherTornNorLostAndMutantRingsAreDetected() throws IOException, InterruptedException {
        String said = run("proxy\\.(Mutant)?RingStress\\.", 3);
        // Four tests and three mutants, each in the modes of the JVM that jcstress knows.
        Matcher last = COUNTS.matcher(said);
        List<MatchResult> counts = last.results().toList();
        assertThat(counts).as(said).isNotEmpty();
        MatchResult end = counts.get(counts.size() - 1);
        int planned = Integer.parseInt(end.group(1));
        assertThat(planned).as(said).isPositive().matches(count -> count % 7 == 0, "a multiple of 7");
        assertThat(Integer.parseInt(end.group(2)) + Integer.parseInt(end.group(3)))
                .as(said)
                .isEqualTo(planned);
        assertThat(said).doesNotContainPattern("FAILED[^\\n]*proxy\\.RingStress");
        for (String name : List.of("WordsInTheOtherOrder", "PhaseIgnored", "TailTooEarly")) {
            Pattern failed = Pattern.compile("FAILED[^\\n]*MutantRingStress\\." + name);
            String found = said;
            // A race needs two processors at the same time, which a busy machine may not have given.
            for (int iterations = 3; iterations <= 192 && !failed.matcher(found).find(); iterations *= 4) {
                found = run("proxy\\.MutantRingStress\\." + name, iterations);
            }
            assertThat(found).containsPattern(failed);
        }
    }

    /** What jcstress says of the tests whose names match, with so many iterations of each. */
    private String run(String tests, int iterations) throws IOException, InterruptedException {
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                "org.openjdk.jcstress.Main",
                "-t",
                tests));
        // One JVM for each test, with the JVM's own choice of compilers.
        command.addAll(List.of("-m", "quick", "-f", "1", "-fsm", "1", "-sc", "false", "-jvmArgs", "-Xmx256m"));
        command.addAll(List.of("-iters", Integer.toString(iterations), "-time", "300"));
        command.addAll(List.of("-r", folder.resolve("report").toString()));
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        boolean ended = process.waitFor(Guard.minutes(8).toSeconds(), TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        String said = Files.readString(output, UTF_8);
        assertThat(ended).as("jcstress has ended: %s", said).isTrue();
        return said;
    }
}
