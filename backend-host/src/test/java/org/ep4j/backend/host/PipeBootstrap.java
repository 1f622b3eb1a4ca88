package org.ep4j.backend.host;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.Bootstrap.MemberState;
import org.ep4j.EpFailure;
import org.ep4j.EpPeerLostException;
import org.ep4j.EpTimeoutException;

/**
 * A member in a process of its own: it asks over its standard output, and the test that started it answers over its standard
 * input. The test can so stop, or kill, a member at an exact step.
 */
final class PipeBootstrap implements Bootstrap {
    private final int rank;
    private final int size;
    private final BufferedReader answers;
    private final PrintStream questions;

    PipeBootstrap(int rank, int size) {
        this.rank = rank;
        this.size = size;
        this.answers = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        this.questions = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public synchronized List<byte[]> allGather(String tag, byte[] mine, Duration deadline) {
        questions.println("GATHER " + tag + " " + deadline.toMillis() + " x" + base64(mine));
        String[] words = ask().split(" ", -1);
        switch (words[0]) {
            case "ALL" -> {
                List<byte[]> all = new ArrayList<>();
                for (int i = 1; i < words.length; i++) {
                    all.add(Base64.getDecoder().decode(words[i].substring(1)));
                }
                return all;
            }
            case "LOST" ->
                throw new EpPeerLostException(
                        "member " + words[1] + " is lost",
                        EpFailure.builder(tag, Integer.parseInt(words[1])).build());
            default ->
                throw new EpTimeoutException(
                        "no answer to " + tag, EpFailure.builder(tag, -1).build());
        }
    }

    private String ask() {
        try {
            String line = answers.readLine();
            if (line == null) {
                throw new IllegalStateException("the test that started this process is gone");
            }
            return line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Reports something to the test. */
    synchronized void say(String text) {
        questions.println("SAY " + text.replace('\n', ' '));
    }

    static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    @Override
    public MemberState state(int member) {
        return MemberState.ALIVE;
    }

    @Override
    public long stateChanges() {
        return 0;
    }

    @Override
    public Bootstrap subgroup(String name, List<Integer> ranks) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
