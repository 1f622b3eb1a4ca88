package org.ep4j.cli;

import java.util.regex.Pattern;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;

/** Colours of what commands print: where the output is a terminal, and NO_COLOR is not set. */
final class Style {
    private static final Pattern GOOD = Pattern.compile("(?m)^\\[ok]");
    private static final Pattern WARNS = Pattern.compile("(?m)^\\[ ! ]");
    private static final Pattern FAILED = Pattern.compile("(?m)^\\[ x ]");

    private final Ansi ansi;

    private Style(Ansi ansi) {
        this.ansi = ansi;
    }

    /** Returns the style of a command, for which picocli looks at the terminal and the environment. */
    static Style of(CommandSpec spec) {
        return new Style(spec.commandLine().getColorScheme().ansi());
    }

    /** Text that says that all is well. */
    String good(String text) {
        return in(Ansi.Style.fg_green, text);
    }

    /** Text that says that something is wrong. */
    String bad(String text) {
        return in(Ansi.Style.fg_red, text);
    }

    /** Text with the marks of doctor, such as {@code [ok]}, at the beginning of lines. */
    String marks(String text) {
        String good = GOOD.matcher(text).replaceAll(in(Ansi.Style.fg_green, "[ok]"));
        String warns = WARNS.matcher(good).replaceAll(in(Ansi.Style.fg_yellow, "[ ! ]"));
        return FAILED.matcher(warns).replaceAll(in(Ansi.Style.fg_red, "[ x ]"));
    }

    private String in(Ansi.Style colour, String text) {
        return ansi.enabled() ? colour.on() + text + colour.off() : text;
    }
}
