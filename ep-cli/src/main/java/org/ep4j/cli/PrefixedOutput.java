package org.ep4j.cli;

import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/** Prints the ranks' lines, each behind the rank's number; in colours on a terminal. */
final class PrefixedOutput implements LocalRanks.Output {
    private static final String[] COLOURS = {"cyan", "green", "yellow", "magenta", "blue", "red"};

    private final PrintWriter out;
    private final PrintWriter err;
    private final Ansi ansi;

    PrefixedOutput(CommandLine command) {
        this.out = command.getOut();
        this.err = command.getErr();
        this.ansi = command.getColorScheme().ansi();
    }

    @Override
    public synchronized void line(int rank, LocalRanks.Stream stream, String text) {
        PrintWriter writer = stream == LocalRanks.Stream.OUT ? out : err;
        writer.print(prefix(rank));
        writer.println(text);
        writer.flush();
    }

    private String prefix(int rank) {
        String plain = "[" + rank + "] ";
        return ansi.enabled() ? ansi.string("@|" + COLOURS[rank % COLOURS.length] + " " + plain + "|@") : plain;
    }
}
