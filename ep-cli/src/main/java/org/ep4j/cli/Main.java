package org.ep4j.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import picocli.CommandLine;

/** Entry point of {@code ./ep}. */
public final class Main {
    private Main() {}

    /** Runs a command and ends the process with its exit code. */
    public static void main(String[] args) {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int code = run(out, err, args);
        out.flush();
        err.flush();
        System.exit(code);
    }

    /** Runs a command. */
    static int run(PrintWriter out, PrintWriter err, String... args) {
        CommandLine line = new CommandLine(new EpCommand());
        line.setOut(out);
        line.setErr(err);
        line.setExecutionExceptionHandler(new ErrorHandler());
        line.setParameterExceptionHandler(new UsageHandler());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        line.setUsageHelpLongOptionsMaxWidth(28);
        Optional.ofNullable(line.getSubcommands().get("generate-completion"))
                .ifPresent(completion -> completion
                        .getCommandSpec()
                        .usageMessage()
                        .description("Print a completion script for bash and zsh: source <(./ep generate-completion)"));
        try {
            return line.execute(args);
        } catch (OutOfMemoryError e) {
            err.println("ep: the heap of " + (Runtime.getRuntime().maxMemory() >> 20) + " MiB does not do: "
                    + e.getMessage() + "; give more with EP_JAVA_OPTS=-Xmx4g");
            err.flush();
            return ExitCodes.UNAVAILABLE;
        }
    }
}
