package org.ep4j.plan;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.planner.PlanFromFile;
import com.google.common.collect.Lists;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.ep4j.EpPath;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A JVM with nothing but ep-planner and its dependencies plans, and examines, a described machine. */
@Tag("verify")
final class StandalonePlannerTest {
    private static final String PROGRAM =
            PlanFromFile.class.getName().replace('.', '/').concat(".class");

    @TempDir
    private Path folder;

    @Test
    void aPlanNeedsNothingButThePlannerOnTheClassPath() throws IOException, InterruptedException, URISyntaxException {
        Path topology = folder.resolve("machine.xml");
        Path printed = folder.resolve("printed");
        Path errors = folder.resolve("errors");
        copy("/org/ep4j/topology/read/nccl-instinct.xml", topology);
        copy("/" + PROGRAM, folder.resolve("classes").resolve(PROGRAM));
        List<String> classPath =
                new ArrayList<>(List.of(folder.resolve("classes").toString()));
        for (Class<?> one : List.of(EpPath.class, GroupPlan.class, Lists.class)) {
            classPath.add(Path.of(one.getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString());
        }

        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        String.join(File.pathSeparator, classPath),
                        PlanFromFile.class.getName(),
                        topology.toString())
                .redirectOutput(printed.toFile())
                .redirectError(errors.toFile())
                .start();
        try {
            assertThat(process.waitFor(1, TimeUnit.MINUTES))
                    .as(() -> read(printed) + read(errors))
                    .isTrue();
        } finally {
            process.destroyForcibly();
        }

        assertThat(process.exitValue()).as(() -> read(printed) + read(errors)).isZero();
        assertThat(read(printed)).isEqualToNormalizingNewlines("""
                0 backends on the class path
                rank 0 (host-0, pid 0, hip:0) nics cxi0:1: nearest (PHB), shared by 3 ranks
                rank 1 (host-0, pid 0, hip:1) nics cxi0:1: nearest (PHB), shared by 3 ranks
                rank 2 (host-0, pid 0, hip:2) nics cxi0:1: nearest (PHB), shared by 3 ranks
                rank 3 (host-1, pid 0, hip:0) nics cxi0:1: nearest (PHB), shared by 3 ranks
                rank 4 (host-1, pid 0, hip:1) nics cxi0:1: nearest (PHB), shared by 3 ranks
                rank 5 (host-1, pid 0, hip:2) nics cxi0:1: nearest (PHB), shared by 3 ranks
                hybrid: loads and stores within a domain, NICs between domains
                0->1 1->0 3->4 4->3: links          MAPPED        path est. 127 GB/s, 1.2 us
                    not taken: nics: staged through host memory (staged paths are chosen last), 8.5 us a row against 1.3 us
                0->2 2->0 3->5 5->3: links          MAPPED        path est. 32 GB/s, 1.2 us
                    not taken: nics: staged through host memory (staged paths are chosen last), 8.5 us a row against 1.7 us
                0->3 0->4 0->5 1->3 1->4 1->5 2->3 2->4 and 10 more: nics           HOST_POSTED   path est. 8 GB/s, 4.7 us, \
                12 lanes, staged through host memory since there is no better path
                    not taken: links: no GPU link joins these hosts (use NICs)
                1->2 2->1 4->5 5->4: links          MAPPED        path est. 32 GB/s, 2.4 us
                    not taken: nics: staged through host memory (staged paths are chosen last), 8.5 us a row against 3.8 us
                WARN EP-TOPO-001 line 18: speed 200000000 Mb/s of "cxi0" is too high, so it is read as kb/s, 200000 Mb/s
                WARN EP-NIC-003 PHB: GPU0 to cxi0, GPU1 to cxi0, GPU2 to cxi0
                WARN EP-NIC-007 cxi0: no write with immediate data and no verbs: libfabric only
                """);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static void copy(String resource, Path to) throws IOException {
        Files.createDirectories(Objects.requireNonNull(to.getParent()));
        try (InputStream in = Objects.requireNonNull(StandalonePlannerTest.class.getResourceAsStream(resource))) {
            Files.copy(in, to);
        }
    }
}
