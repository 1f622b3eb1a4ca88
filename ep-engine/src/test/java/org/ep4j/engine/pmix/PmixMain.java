package org.ep4j.engine.pmix;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpConfig;
import org.ep4j.testing.Guard;

/** A rank under a launcher. Prints one line for everything that it has seen. */
final class PmixMain {
    private static final Duration LONG = Guard.minute();

    private PmixMain() {}

    public static void main(String[] args) throws IOException {
        switch (args[0]) {
            case "gather" -> gather(Integer.parseInt(args[1]));
            case "kill" -> kill();
            case "absent" -> absent(Path.of(args[1]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static Bootstrap join() {
        return Bootstrap.fromEnvironment(EpConfig.load());
    }

    /** Joins so often, one after another. */
    private static void gather(int times) {
        for (int time = 0; time < times; time++) {
            try (Bootstrap group = join()) {
                int rank = group.rank();
                List<byte[]> all = group.allGather("names", ("r" + rank + "t" + time).getBytes(UTF_8), LONG);
                group.barrier("meet", LONG);
                String joined =
                        all.stream().map(bytes -> new String(bytes, UTF_8)).collect(Collectors.joining(" "));
                say(rank + " of " + group.size() + ": " + joined);
            }
        }
    }

    /** Rank 1 dies as by a signal; the others notice. */
    private static void kill() {
        try (Bootstrap group = join()) {
            group.barrier("meet", LONG);
            if (group.rank() == 1) {
                Runtime.getRuntime().halt(0);
            }
            Guard.until("rank 1 is not alive", () -> group.state(1) != MemberState.ALIVE);
            say(group.rank() + " sees " + group.state(1));
        }
    }

    /**
     * Rank 1 does not join, and lives until the other has made a file. As {@link PmixBootstrapProvider}, but only the fence has
     * the short timeout of the configuration.
     */
    private static void absent(Path ended) throws IOException {
        if (System.getenv("PMIX_RANK").equals("1")) {
            Guard.until("the other has given up", () -> Files.exists(ended));
            return;
        }
        try {
            PmixSession session = PmixSession.open(PmixLibrary.load(), LONG);
            Bootstrap.over(session.rank(), session.size(), session, EpConfig.load())
                    .close();
            say("joined");
        } catch (RuntimeException e) {
            say(e.getClass().getSimpleName() + " " + e.getMessage());
        } finally {
            Files.createFile(ended);
        }
    }

    private static void say(String line) {
        System.out.println("said " + line);
        System.out.flush();
    }
}
