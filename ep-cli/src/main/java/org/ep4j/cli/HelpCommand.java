package org.ep4j.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.ep4j.cli.plan.PlannedBackend;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.config.ConfigKey;
import org.ep4j.doctor.DoctorCode;
import org.ep4j.plan.NearestName;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;

/** {@code ep help}: explains a command, a setting or a check of doctor. */
@Command(
        name = "help",
        description = {
            "Explain a command, a setting, or a check of doctor.",
            "TOPIC is a command (bench), the word \"settings\" (lists every setting), a setting or a prefix of"
                    + " several settings (ep.timeout, EP_TIMEOUT, ep.nic), a variable of other software (NCCL_IB_HCA),"
                    + " or the code of a check (EP-MEM-001). Without TOPIC, the command prints the same as ./ep --help."
        },
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:success", "2:wrong usage, or there is no such topic", "5:an error inside ep4j"})
final class HelpCommand extends Subcommand {
    private static final String SETTINGS = "settings";

    /** Checks of devices and backends, one a line: the code, a blank and the title. Written by DoctorPageTest. */
    private static final String PROBE_CHECKS = "probe-checks.txt";

    @Parameters(
            paramLabel = "TOPIC",
            arity = "0..1",
            description = "A command, the word \"settings\", a setting, a variable, or the code of a check.")
    private Optional<String> topic = Optional.empty();

    @Override
    int run() {
        if (topic.isEmpty()) {
            root().usage(out());
            return ExitCodes.OK;
        }
        String name = topic.get().strip();
        CommandLine command = commands().get(name.toLowerCase(Locale.ROOT));
        if (command != null) {
            command.usage(out());
            return ExitCodes.OK;
        }
        Optional<String> text = name.equalsIgnoreCase(SETTINGS)
                ? Optional.of(overview())
                : Optional.ofNullable(checks().get(name.toUpperCase(Locale.ROOT)))
                        .or(() -> setting(name));
        out().print(text.orElseThrow(() -> unknown(name)));
        return ExitCodes.OK;
    }

    private static String overview() {
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.of(
                "",
                "ep4j reads a setting from -Dep.NAME=VALUE (EP_JAVA_OPTS), else from its environment variable, for"
                        + " example ep.nic.gid-index from EP_NIC_GID_INDEX. ./ep help NAME explains one setting."));
        text.append(System.lineSeparator());
        for (ConfigKey<?> key : PlannedBackend.allKeys()) {
            String name = key.name() + (key.defaultText().isEmpty() ? "" : " (" + key.defaultText() + ")");
            text.append(name).append(System.lineSeparator());
            text.append(Wrapped.of("    ", firstClause(key.help())));
        }
        return text.toString();
    }

    /** Returns the text up to the first semicolon or full stop, behind which the values are explained as a rule. */
    private static String firstClause(String help) {
        int end = Stream.of("; ", ". ")
                .mapToInt(help::indexOf)
                .filter(at -> at > 0)
                .min()
                .orElse(help.length());
        return help.substring(0, end);
    }

    private static Optional<String> setting(String name) {
        String wanted = plain(name).replaceAll("\\.+$", "");
        StringBuilder text = new StringBuilder();
        for (ConfigKey<?> key : PlannedBackend.allKeys()) {
            String own = plain(key.name());
            boolean variable = key.variables().stream().anyMatch(name::equalsIgnoreCase);
            if (own.equals(wanted) || own.startsWith(wanted + ".") || variable) {
                text.append(text.length() == 0 ? "" : System.lineSeparator()).append(text(key));
            }
        }
        return text.length() == 0 ? Optional.empty() : Optional.of(text.toString());
    }

    /** Returns the name of a setting or of its variable, in one form for both. */
    private static String plain(String name) {
        return name.toLowerCase(Locale.ROOT).replace('_', '.').replace('-', '.');
    }

    private static String text(ConfigKey<?> key) {
        StringBuilder text = new StringBuilder(key.name()).append(System.lineSeparator());
        text.append(Wrapped.of("    ", key.help()));
        text.append(Wrapped.of("    value:    ", key.format()));
        text.append(Wrapped.of("    default:  ", key.defaultText().isEmpty() ? "empty" : key.defaultText()));
        List<String> variables = new ArrayList<>();
        variables.add(key.environmentName());
        key.variables()
                .forEach(variable -> variables.add(variable
                        + key.difference(variable).map(how -> " (" + how + ")").orElse("")));
        text.append(Wrapped.of("    variable: ", String.join(", else ", variables)));
        if (key.agreed()) {
            text.append(Wrapped.of("    ", "This setting must have the same value on all ranks."));
        }
        return text.toString();
    }

    /** Returns the explanation of each check by its code. */
    private static Map<String, String> checks() {
        Map<String, String> texts = new LinkedHashMap<>();
        for (DoctorCode one : DoctorCode.values()) {
            texts.put(
                    one.code(),
                    Wrapped.of("", one.code() + ": " + one.title())
                            + Wrapped.of("    checks:      ", one.examines())
                            + Wrapped.of("    if it fails: ", one.why())
                            + Wrapped.of("    remedy:      ", one.remedy())
                            + Wrapped.of("    source:      ", one.source()));
        }
        probeChecks()
                .forEach(line -> texts.putIfAbsent(
                        line.substring(0, line.indexOf(' ')),
                        Wrapped.of("", line.replaceFirst(" ", ": "))
                                + Wrapped.of(
                                        "    ",
                                        "A check of a device or a backend: ./ep doctor --all prints the result of the check"
                                                + " on this machine, and how to fix a failure.")));
        return texts;
    }

    private static List<String> probeChecks() {
        try (InputStream in = HelpCommand.class.getResourceAsStream(PROBE_CHECKS)) {
            if (in == null) {
                throw new IllegalStateException(PROBE_CHECKS + " is missing from the command's jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(PROBE_CHECKS + " cannot be read from the command's jar", e);
        }
    }

    private ParameterException unknown(String name) {
        String upper = name.toUpperCase(Locale.ROOT);
        String answer = "there is no help for '" + name + "'; ";
        if (upper.startsWith("EP-")) {
            answer += "the nearest check is " + NearestName.of(upper, checks().keySet());
        } else if (upper.startsWith("EP.") || upper.startsWith("EP_")) {
            String key = name.toLowerCase(Locale.ROOT).replace('_', '.');
            List<String> known =
                    PlannedBackend.allKeys().stream().map(ConfigKey::name).toList();
            answer += "the nearest setting is " + NearestName.of(key, known);
        } else if (upper.contains("_")) {
            answer += "./ep plan --from-env shows what effect variables of other software have here";
        } else {
            answer += "the nearest command is "
                    + NearestName.of(name, commands().keySet())
                    + ", and ./ep help settings lists the settings";
        }
        return new ParameterException(spec.commandLine(), answer);
    }

    private Map<String, CommandLine> commands() {
        Map<String, CommandLine> commands = new TreeMap<>(root().getSubcommands());
        commands.values()
                .removeIf(command -> command.getCommandSpec().usageMessage().hidden());
        return commands;
    }

    private CommandLine root() {
        return spec.commandLine().getParent();
    }
}
