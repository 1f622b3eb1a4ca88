package org.ep4j.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.ep4j.EpException;
import org.ep4j.topology.model.Printable;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

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

    static int run(PrintWriter out, PrintWriter err, String... args) {
        return configured(new CommandLine(new EpCommand()), out, err).execute(args);
    }

    /** Sets up the command line of {@code ./ep}; settings reach only the subcommands that it has. */
    static CommandLine configured(CommandLine line, PrintWriter out, PrintWriter err) {
        line.setOut(out);
        line.setErr(err);
        line.setExecutionExceptionHandler((failure, command, parsed) -> reportFailure(failure, command));
        line.setParameterExceptionHandler(Main::reportUsage);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setUsageHelpAutoWidth(true);
        line.setUsageHelpLongOptionsMaxWidth(28);
        Optional.ofNullable(line.getSubcommands().get("generate-completion"))
                .ifPresent(completion -> completion
                        .getCommandSpec()
                        .usageMessage()
                        .description("Print a completion script for bash and zsh: source <(./ep generate-completion)"));
        return line;
    }

    /** Prints the message of a failure; the stack only where it helps: on request, and for errors of ep4j's own. */
    private static int reportFailure(Exception failure, CommandLine command) {
        EpCommand root = command.getCommandSpec().root().userObject() instanceof EpCommand ep ? ep : new EpCommand();
        PrintWriter err = command.getErr();
        boolean expected = failure instanceof EpException;
        String text = expected ? String.valueOf(failure.getMessage()) : failure.toString();
        err.println(command.getColorScheme().errorText("ep: " + Printable.text(text)));
        if (root.verbose() || !expected) {
            StringWriter stack = new StringWriter();
            failure.printStackTrace(new PrintWriter(stack));
            err.print(Printable.text(stack.toString()));
        }
        err.flush();
        return ExitCodes.of(failure);
    }

    /** Prints what is wrong with the arguments, the nearest right ones and where the help is; not the whole help. */
    private static int reportUsage(ParameterException failure, String[] args) {
        CommandLine command = failure.getCommandLine();
        PrintWriter err = command.getErr();
        err.println(command.getColorScheme().errorText("ep: " + Printable.text(String.valueOf(failure.getMessage()))));
        UnmatchedArgumentException.printSuggestions(failure, err);
        if (failure instanceof UnmatchedArgumentException
                && command.getCommandSpec().userObject() instanceof RunCommand
                && !List.of(args).contains("--")) {
            err.println("put -- before the command and its arguments: ep run -n 2 -- java -cp app.jar Main");
        }
        err.println("see: ep " + path(command) + "--help");
        err.flush();
        return ExitCodes.USAGE;
    }

    private static String path(CommandLine command) {
        String full = command.getCommandSpec().qualifiedName(" ");
        int blank = full.indexOf(' ');
        return blank < 0 ? "" : full.substring(blank + 1) + " ";
    }
}
