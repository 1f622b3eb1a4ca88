package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import org.ep4j.Bootstrap;
import org.ep4j.EpConfig;

/** A rank in a process of its own: joins with torchrun's variables and does what its standard input says. */
final class RankMain {
    private RankMain() {}

    public static void main(String[] args) throws IOException {
        try (var commands = new BufferedReader(new InputStreamReader(System.in, UTF_8))) {
            Bootstrap member = join();
            System.out.println("joined " + member.rank());
            String line = commands.readLine();
            while (line != null && !line.equals("return")) {
                System.out.println(answer(member, line));
                line = commands.readLine();
            }
        }
    }

    private static Bootstrap join() {
        try {
            return Bootstrap.fromEnvironment(EpConfig.load());
        } catch (RuntimeException e) {
            System.out.println("failed " + e);
            throw e;
        }
    }

    private static String answer(Bootstrap member, String line) {
        String[] words = line.split(" ", -1);
        try {
            switch (words[0]) {
                case "gather" -> {
                    List<byte[]> parts = member.allGather(words[1], words[2].getBytes(UTF_8), Ranks.LONG);
                    return "gathered "
                            + parts.stream().map(p -> new String(p, UTF_8)).toList();
                }
                case "state" -> {
                    return "state " + member.state(Integer.parseInt(words[1]));
                }
                case "close" -> {
                    member.close();
                    return "closed";
                }
                default -> {
                    return "unknown " + Arrays.toString(words);
                }
            }
        } catch (RuntimeException e) {
            return "failed " + e.getClass().getSimpleName() + " " + e.getMessage();
        }
    }
}
