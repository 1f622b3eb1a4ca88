package org.ep4j.engine.pmix;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.ep4j.bootstrap.Bootstraps;
import org.ep4j.config.EpConfig;
import org.ep4j.spi.Bootstrap;
import org.ep4j.spi.MemberState;

/** A rank under a launcher. Prints one line for everything that it has seen. */
final class PmixMain {
    private static final Duration LONG = Duration.ofSeconds(40);

    private PmixMain() {}

    public static void main(String[] args) throws InterruptedException {
        switch (args[0]) {
            case "gather" -> gather(Integer.parseInt(args[1]));
            case "kill" -> kill();
            case "absent" -> absent();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static Bootstrap join() {
        return Bootstraps.fromEnvironment(System.getenv(), EpConfig.load());
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
    private static void kill() throws InterruptedException {
        try (Bootstrap group = join()) {
            group.barrier("meet", LONG);
            if (group.rank() == 1) {
                Runtime.getRuntime().halt(0);
            }
            long end = System.nanoTime() + LONG.toNanos();
            while (group.state(1) == MemberState.ALIVE && System.nanoTime() - end < 0) {
                Thread.sleep(5);
            }
            say(group.rank() + " sees " + group.state(1));
        }
    }

    /** Rank 1 does not join. */
    private static void absent() throws InterruptedException {
        if (System.getenv("PMIX_RANK").equals("1")) {
            // Longer than the others wait, and not much.
            Thread.sleep(4000);
            return;
        }
        try {
            join().close();
            say("joined");
        } catch (RuntimeException e) {
            say(e.getClass().getSimpleName() + " " + e.getMessage());
        }
    }

    private static void say(String line) {
        System.out.println("said " + line);
        System.out.flush();
    }
}
