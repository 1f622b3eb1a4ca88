package org.ep4j.backend.host;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;
import org.ep4j.Bootstrap;
import org.ep4j.EpEngine;
import org.ep4j.EpException;
import org.ep4j.EpPeerLostException;
import org.ep4j.testing.Guard;

/** Ranks in processes of their own, which run {@link RankMain}. Closing kills what still runs. */
final class RankProcesses implements AutoCloseable {
    /** How one rank ended: all that it said, and its exit status. */
    record End(List<String> said, int exit) {}

    private final List<Process> processes = new ArrayList<>();
    private final List<Thread> relays = new ArrayList<>();
    private final List<List<String>> said = new ArrayList<>();
    private final List<Bootstrap> members;
    private final BiPredicate<Integer, String> kill;

    private RankProcesses(int ranks, BiPredicate<Integer, String> kill) {
        this.members = Bootstrap.inProcess(ranks);
        this.kill = kill;
    }

    /**
     * Starts.
     *
     * @param kill true when a rank is to be killed in place of taking part in the exchange of this tag
     */
    static RankProcesses start(int ranks, Path folder, String scenario, BiPredicate<Integer, String> kill)
            throws IOException {
        RankProcesses all = new RankProcesses(ranks, kill);
        for (int rank = 0; rank < ranks; rank++) {
            Process process = new ProcessBuilder(command(rank, ranks, folder, scenario))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            all.processes.add(process);
            all.said.add(new CopyOnWriteArrayList<>());
            int member = rank;
            Thread relay = new Thread(() -> all.relay(member), "relay of rank " + rank);
            relay.setDaemon(true);
            relay.start();
            all.relays.add(relay);
        }
        return all;
    }

    private static List<String> command(int rank, int ranks, Path folder, String scenario) {
        List<String> words = new ArrayList<>();
        words.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // Newer JDKs warn about native calls that nobody allowed; what this process may do, its children may.
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(argument -> argument.startsWith("--enable-native-access"))
                .forEach(words::add);
        words.addAll(List.of("-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path")));
        words.add(RankMain.class.getName());
        words.addAll(List.of(Integer.toString(rank), Integer.toString(ranks), folder.toString(), scenario));
        return words;
    }

    private void relay(int rank) {
        Process process = processes.get(rank);
        Bootstrap member = members.get(rank);
        try (BufferedReader questions = process.inputReader(StandardCharsets.US_ASCII);
                PrintStream answers = new PrintStream(process.getOutputStream(), true, StandardCharsets.US_ASCII)) {
            String line;
            while ((line = questions.readLine()) != null) {
                String[] words = line.split(" ", 4);
                if (words[0].equals("SAY")) {
                    said.get(rank).add(line.substring(4));
                } else if (kill.test(rank, words[1])) {
                    process.destroyForcibly();
                    break;
                } else {
                    answers.println(answer(member, words[1], words[2], words[3]));
                }
            }
        } catch (IOException e) {
            said.get(rank).add("pipe: " + e);
        } finally {
            // Ranks that end well stay members until all have ended, so that only the dead one can be missed.
            if (waitFor(process) != 0) {
                EpEngine.installed().declareDead(member, "its process ended with " + process.exitValue());
            }
        }
    }

    private static String answer(Bootstrap member, String tag, String millis, String bytes) {
        try {
            return "ALL "
                    + member
                            .allGather(
                                    tag,
                                    Base64.getDecoder().decode(bytes.substring(1)),
                                    Duration.ofMillis(Long.parseLong(millis)))
                            .stream()
                            .map(b -> "x" + PipeBootstrap.base64(b))
                            .collect(Collectors.joining(" "));
        } catch (EpPeerLostException e) {
            return "LOST " + e.failure().peer();
        } catch (EpException e) {
            return "LATE";
        }
    }

    /** Waits until a rank has said something. */
    void awaitSaid(int rank, String text) {
        Guard.until("rank " + rank + " says " + text, () -> said.get(rank).contains(text));
    }

    void kill(int rank) {
        processes.get(rank).destroyForcibly();
        waitFor(processes.get(rank));
    }

    /** Waits for all. */
    List<End> join() throws InterruptedException {
        List<End> ends = new ArrayList<>();
        for (int rank = 0; rank < processes.size(); rank++) {
            int exit = waitFor(processes.get(rank));
            relays.get(rank).join(Guard.minute().toMillis());
            ends.add(new End(List.copyOf(said.get(rank)), exit));
        }
        return ends;
    }

    private static int waitFor(Process process) {
        try {
            if (!process.waitFor(Guard.minutes(5).toSeconds(), TimeUnit.SECONDS)) {
                throw new AssertionError("process " + process.pid() + " does not end");
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        processes.forEach(Process::destroyForcibly);
        members.forEach(Bootstrap::close);
    }
}
