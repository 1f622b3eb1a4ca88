package org.ep4j.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.ep4j.EpException;
import org.ep4j.topology.Printable;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/** Prints the message of a failure; the stack only where it helps: on request, and for errors of ep4j's own. */
final class ErrorHandler implements IExecutionExceptionHandler {
    @Override
    public int handleExecutionException(Exception failure, CommandLine command, ParseResult parsed) {
        EpCommand root = command.getCommandSpec().root().userObject() instanceof EpCommand ep ? ep : new EpCommand();
        report(failure, root.verbose(), command.getErr(), command);
        return ExitCodes.of(failure);
    }

    private static void report(Exception failure, boolean verbose, PrintWriter err, CommandLine command) {
        boolean expected = failure instanceof EpException;
        String text = expected ? String.valueOf(failure.getMessage()) : failure.toString();
        err.println(command.getColorScheme().errorText("ep: " + Printable.text(text)));
        if (verbose || !expected) {
            StringWriter stack = new StringWriter();
            failure.printStackTrace(new PrintWriter(stack));
            err.print(Printable.text(stack.toString()));
        }
        err.flush();
    }
}
