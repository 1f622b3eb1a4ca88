package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.List;
import org.ep4j.topology.Printable;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.UnmatchedArgumentException;

/** Tells what was wrong with the arguments, the nearest right ones and where the help is; not the whole help. */
final class UsageHandler implements IParameterExceptionHandler {
    @Override
    public int handleParseException(ParameterException failure, String[] args) {
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
