package org.ep4j.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;

/** The reference of commands is what the commands say. */
@Tag("verify")
final class CommandsPageTest {
    @Test
    void thePageListsEveryCommandWithItsOptions() throws IOException {
        CommandSpec ep = new CommandLine(new EpCommand()).getCommandSpec();
        StringBuilder text = new StringBuilder("""
                # Commands

                `./ep` builds what it needs when it is called for the first time. `EP_JAVA_OPTS` holds options for the JVM, such as
                `-Dep.timeout=5s`. `source <(./ep generate-completion)` completes commands and options in bash and zsh.

                | option of every command | meaning |
                |---|---|
                """);
        ep.options().forEach(option -> row(text, option));
        exitCodes(text, ep);
        ep.subcommands().forEach((name, command) -> command(text, name, command.getCommandSpec()));
        GeneratedPage.check("docs/reference/cli.md", text.toString());
        assertThat(text).contains("## ./ep demo");
    }

    private static void command(StringBuilder text, String name, CommandSpec command) {
        if (command.usageMessage().hidden()) {
            return;
        }
        text.append("\n## ./ep ").append(name).append("\n\n");
        text.append(joined(command.usageMessage().description())).append("\n");
        List<OptionSpec> own = command.options().stream()
                .filter(option ->
                        !option.inherited() && !option.usageHelp() && !option.versionHelp() && !option.hidden())
                .toList();
        if (!own.isEmpty() || !command.positionalParameters().isEmpty()) {
            text.append("\n| option | meaning |\n|---|---|\n");
            for (PositionalParamSpec argument : command.positionalParameters()) {
                text.append("| `" + argument.paramLabel() + "` | " + cell(argument.description()) + " |\n");
            }
            own.forEach(option -> row(text, option));
        }
        if (!command.usageMessage().exitCodeList().isEmpty()) {
            exitCodes(text, command);
        }
    }

    private static void exitCodes(StringBuilder text, CommandSpec command) {
        text.append("\n| exit code | meaning |\n|---|---|\n");
        command.usageMessage()
                .exitCodeList()
                .forEach((code, meaning) -> text.append("| " + code + " | " + meaning.replace("|", "\\|") + " |\n"));
    }

    private static void row(StringBuilder text, OptionSpec option) {
        String names = String.join("`, `", option.names());
        String value = option.arity().max() == 0 ? "" : " " + option.paramLabel();
        text.append("| `" + names + value + "` | " + cell(option.description()) + " |\n");
    }

    private static String cell(String[] description) {
        return joined(description).replace("|", "\\|");
    }

    private static String joined(String[] lines) {
        return String.join(" ", lines).replace("%n", " ").replaceAll(" +", " ").strip();
    }
}
