package org.ep4j.cli;

import java.util.concurrent.Callable;
import org.ep4j.cli.plan.ForecastPage;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code ep forecast-page}: writes a page of the documents. */
@Command(
        name = "forecast-page",
        hidden = true,
        description = "Print docs/planning/forecast-accuracy.md: the forecast model against published measurements.")
final class ForecastPageCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli. */
    ForecastPageCommand() {}

    @Override
    public Integer call() {
        spec.commandLine().getOut().print(ForecastPage.markdown());
        spec.commandLine().getOut().flush();
        return ExitCodes.OK;
    }
}
