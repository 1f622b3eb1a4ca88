package org.ep4j.backend.efa;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.ep4j.EpConfig;
import org.ep4j.transport.memory.JniLibrary;
import org.ep4j.transport.memory.Resources;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A process that is killed leaves the memory of its shm endpoints in {@code /dev/shm}, named by its number, its user and a count
 * over all endpoints. A later process of the same number comes to the same names, and finds in them its own number: the owner
 * seems to live, and libfabric refuses the name.
 */
@Tag("verify")
final class LeftNamesTest {
    private static final Path FOLDER = Path.of("/dev/shm");
    private static final String REQUIRE = "EP_TCK_REQUIRE";

    /** Of what was left; libfabric looks at its head alone. */
    private static final int HEAD_BYTES = 4096;

    private static final int LEFT = 3;

    private final EpConfig config = EpConfig.builder(Map.of(), Map.of()).build();

    @Test
    void anEndpointPassesOverNamesThatAKilledProcessLeft() throws IOException, JniLibrary.Missing {
        FabricLibrary.JNI.load();
        try (FabricList list = FabricList.all(false);
                Resources resources = new Resources()) {
            Optional<FabricInfo> shm = list.infos().stream()
                    .filter(info -> info.core().equals(Providers.SHM))
                    .findFirst();
            if (shm.isEmpty()) {
                String reason = "libfabric " + FabricLibrary.version() + " has no provider shm here";
                String required = System.getenv().getOrDefault(REQUIRE, "");
                assertThat(required.split(",", -1)).as(reason).doesNotContain(EfaProvider.ID);
                System.out.println("skipped: names that a killed process left: " + reason);
                abort(reason);
            }
            Set<Path> before = own();
            open(list, shm.orElseThrow(), resources);
            Path first = added(before);
            List<Path> left = new ArrayList<>();
            try {
                for (int i = 1; i <= LEFT; i++) {
                    Path name = after(first, i);
                    left.add(name);
                    leave(first, name);
                }
                before = own();
                open(list, shm.orElseThrow(), resources);
                assertThat(added(before)).isEqualTo(after(first, LEFT + 1));
            } finally {
                for (Path name : left) {
                    Files.deleteIfExists(name);
                }
            }
        }
        assertThat(own()).isEmpty();
    }

    private void open(FabricList list, FabricInfo shm, Resources resources) {
        FabricDomain domain = FabricDomain.open(list, shm, NicProfile.of(shm, config), -1, resources);
        long endpoint = domain.endpoint(16);
        resources.add(() -> Libfabric.closeEndpoint(endpoint));
    }

    /** What this process has there. */
    private static Set<Path> own() throws IOException {
        String number = ProcessHandle.current().pid() + ":";
        try (Stream<Path> all = Files.list(FOLDER)) {
            return all.filter(path -> path.getFileName().toString().startsWith(number))
                    .collect(Collectors.toSet());
        }
    }

    private static Path added(Set<Path> before) throws IOException {
        Set<Path> now = own();
        now.removeAll(before);
        assertThat(now).as("names of an endpoint").hasSize(1);
        return now.iterator().next();
    }

    private static Path after(Path name, int count) {
        String[] parts = name.getFileName().toString().split(":", -1);
        return FOLDER.resolve(parts[0] + ":" + parts[1] + ":" + (Integer.parseInt(parts[2]) + count));
    }

    private static void leave(Path from, Path name) throws IOException {
        Files.createFile(name);
        try (InputStream in = Files.newInputStream(from);
                RandomAccessFile out = new RandomAccessFile(name.toFile(), "rw")) {
            out.write(in.readNBytes(HEAD_BYTES));
            out.setLength(Files.size(from));
        }
    }
}
