package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command of {@code ep}. */
@Command
abstract class Subcommand implements Callable<Integer> {
    private static final Pattern MARK = Pattern.compile("(?m)^\\[(?:ok| ! | x )]");
    private static final Map<String, Ansi.Style> MARKS =
            Map.of("[ok]", Ansi.Style.fg_green, "[ ! ]", Ansi.Style.fg_yellow, "[ x ]", Ansi.Style.fg_red);

    @Spec
    CommandSpec spec = CommandSpec.create();

    /** Runs the command, and returns its exit code. */
    abstract int run();

    @Override
    public final Integer call() {
        int code = run();
        out().flush();
        return code;
    }

    /** Returns the standard output of the command. */
    PrintWriter out() {
        return spec.commandLine().getOut();
    }

    /** Returns text in a colour, where the output is a terminal and NO_COLOR is not set. */
    String coloured(Ansi.Style colour, String text) {
        Ansi ansi = spec.commandLine().getColorScheme().ansi();
        return ansi.enabled() ? colour.on() + text + colour.off() : text;
    }

    /** Returns text with colours for the marks of doctor, such as {@code [ok]}, at the beginning of lines. */
    String colouredMarks(String text) {
        return MARK.matcher(text)
                .replaceAll(mark -> coloured(MARKS.getOrDefault(mark.group(), Ansi.Style.reset), mark.group()));
    }
}
