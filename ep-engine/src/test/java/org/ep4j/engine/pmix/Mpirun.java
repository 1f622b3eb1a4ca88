package org.ep4j.engine.pmix;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;

/** Runs {@link PmixMain} under Open MPI's launcher. */
final class Mpirun {
    /** Variables by which a launcher would be taken for another. */
    private static final List<String> OTHERS =
            List.of("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "EP_BOOTSTRAP_PORT");

    private static final String LONG = Guard.minutes(2).toSeconds() + "s";

    private Mpirun() {}

    /** True when its absence is a failure. */
    static boolean required() {
        return "1".equals(System.getenv("EP_REQUIRE_MPI"));
    }

    /** Skips the test when there is none; with {@code EP_REQUIRE_MPI=1} the test fails instead. */
    static void require() {
        boolean there = Arrays.stream(System.getenv("PATH").split(File.pathSeparator, -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "mpirun")));
        if (!there && required()) {
            throw new AssertionError("EP_REQUIRE_MPI is 1, but there is no mpirun in PATH (Debian: openmpi-bin)");
        }
        if (!there) {
            System.out.println("Skipped: no mpirun in PATH (Debian: openmpi-bin)");
        }
        assumeTrue(there, "no mpirun in PATH (Debian: openmpi-bin)");
    }

    record Ran(int code, List<String> said, String all) {}

    static Ran run(int ranks, Map<String, String> environment, List<String> options, String... arguments) {
        List<String> command = new ArrayList<>(List.of(
                "mpirun",
                "--allow-run-as-root",
                "--oversubscribe",
                "--bind-to",
                "none",
                "-n",
                Integer.toString(ranks)));
        command.addAll(options);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp"));
        command.add(System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")));
        command.add(PmixMain.class.getName());
        command.addAll(List.of(arguments));
        try {
            Path output = Files.createTempFile("ep4j-mpirun", ".txt");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(output.toFile());
            builder.environment().keySet().removeAll(OTHERS);
            // What the ranks wait for may take as long as the machine needs.
            builder.environment().putAll(Map.of("EP_SETUP_TIMEOUT", LONG, "EP_BOOTSTRAP_HEARTBEAT_TIMEOUT", LONG));
            builder.environment().putAll(environment);
            Process process = builder.start();
            boolean ended = process.waitFor(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS);
            if (!ended) {
                process.destroy();
            }
            String all = Files.readString(output, StandardCharsets.UTF_8);
            Files.delete(output);
            if (!ended) {
                throw new AssertionError("mpirun did not end; it said " + all);
            }
            List<String> said = all.lines()
                    .filter(line -> line.startsWith("said "))
                    .map(line -> line.substring("said ".length()))
                    .sorted()
                    .toList();
            return new Ran(process.exitValue(), said, all);
        } catch (IOException | InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
