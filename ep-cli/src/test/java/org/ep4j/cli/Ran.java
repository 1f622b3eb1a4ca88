package org.ep4j.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** One run of the command, in this JVM. */
record Ran(int code, String out, String err) {
    static Ran ep(String... args) {
        return of(new CommandLine(new EpCommand()), args);
    }

    /** Runs the command with {@code own} in place of the subcommand of its class. */
    static Ran with(Subcommand own, String... args) {
        IFactory factory = new IFactory() {
            @Override
            public <K> K create(Class<K> type) throws Exception {
                return type.isInstance(own)
                        ? type.cast(own)
                        : CommandLine.defaultFactory().create(type);
            }
        };
        return of(new CommandLine(new EpCommand(), factory), args);
    }

    private static Ran of(CommandLine line, String... args) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int code = Main.configured(line, new PrintWriter(out), new PrintWriter(err))
                .execute(args);
        return new Ran(code, out.toString(), err.toString());
    }
}
