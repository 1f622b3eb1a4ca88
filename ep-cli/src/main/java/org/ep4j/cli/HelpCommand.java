package org.ep4j.cli;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.ep4j.cli.plan.PlannedBackend;
import org.ep4j.cli.report.Wrapped;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.config.NearestName;
import org.ep4j.doctor.DoctorCode;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ep help}: explains a command, a setting or a check of doctor. */
@Command(
        name = "help",
        description = {
            "Explain a command, a setting, or a check of doctor.",
            "TOPIC is a command (bench), settings (all of them in a line or two each), a setting or what names of settings begin with"
                    + " (ep.timeout, EP_TIMEOUT, ep.nic), a variable of other software (NCCL_IB_HCA), or the code of a check"
                    + " (EP-MEM-001). Without TOPIC: what ./ep --help prints."
        })
final class HelpCommand implements Callable<Integer> {
    private static final String SETTINGS = "settings";

    @Parameters(
            paramLabel = "TOPIC",
            arity = "0..1",
            description = "A command, settings, a setting, or the code of a check.")
    private Optional<String> topic = Optional.empty();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    /** Made by picocli. */
    HelpCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        if (topic.isEmpty()) {
            root().usage(out);
            return ExitCodes.OK;
        }
        String name = topic.get();
        CommandLine command = root().getSubcommands().get(name);
        if (command != null) {
            command.usage(out);
            return ExitCodes.OK;
        }
        Optional<String> text =
                name.equals(SETTINGS) ? Optional.of(overview()) : check(name).or(() -> setting(name));
        out.print(text.orElseThrow(() -> unknown(name)));
        out.flush();
        return ExitCodes.OK;
    }

    private String overview() {
        StringBuilder text = new StringBuilder();
        text.append(Wrapped.of(
                "",
                "A setting is taken from -Dep.NAME=VALUE (EP_JAVA_OPTS), else from the environment variable of the same name:"
                        + " ep.nic.gid-index is EP_NIC_GID_INDEX. ./ep help NAME says more of one."));
        text.append(System.lineSeparator());
        for (ConfigKey<?> key : settings()) {
            String name = key.name() + (key.defaultText().isEmpty() ? "" : " (" + key.defaultText() + ")");
            text.append(name).append(System.lineSeparator());
            text.append(Wrapped.of("    ", firstClause(key.help())));
        }
        return text.toString();
    }

    /** Settings of ep4j, then those of each backend that is installed. */
    private static List<ConfigKey<?>> settings() {
        List<ConfigKey<?>> all = new ArrayList<>(EpKeys.all());
        PlannedBackend.all().forEach(backend -> all.addAll(backend.keys()));
        return all;
    }

    /** Up to the first semicolon or full stop, where the values are explained as a rule. */
    private static String firstClause(String help) {
        int end = Stream.of("; ", ". ")
                .mapToInt(help::indexOf)
                .filter(at -> at > 0)
                .min()
                .orElse(help.length());
        return help.substring(0, end);
    }

    private Optional<String> setting(String name) {
        String wanted = name.toLowerCase(Locale.ROOT).replace('_', '.').replace('-', '.');
        StringBuilder text = new StringBuilder();
        for (ConfigKey<?> key : settings()) {
            String own = key.name().replace('-', '.');
            if (own.equals(wanted)
                    || own.startsWith(wanted + ".")
                    || key.variables().contains(name)) {
                text.append(text.length() == 0 ? "" : System.lineSeparator()).append(text(key));
            }
        }
        return text.length() == 0 ? Optional.empty() : Optional.of(text.toString());
    }

    private static String text(ConfigKey<?> key) {
        StringBuilder text = new StringBuilder(key.name()).append(System.lineSeparator());
        text.append(Wrapped.of("    ", key.help()));
        text.append(Wrapped.of("    value:    ", key.format()));
        text.append(Wrapped.of("    default:  ", key.defaultText().isEmpty() ? "empty" : key.defaultText()));
        List<String> variables = new ArrayList<>();
        variables.add(key.environmentName());
        key.variables().forEach(variable -> {
            ConfigKey.Reading reading = key.readings().get(variable);
            variables.add(variable + (reading == null ? "" : " (" + reading.text() + ")"));
        });
        text.append(Wrapped.of("    variable: ", String.join(", else ", variables)));
        if (key.agreed()) {
            text.append(Wrapped.of("    ", "It must be the same on all ranks."));
        }
        return text.toString();
    }

    private static Optional<String> check(String name) {
        String code = name.toUpperCase(Locale.ROOT);
        return Arrays.stream(DoctorCode.values())
                .filter(one -> one.code().equals(code))
                .findFirst()
                .map(one -> Wrapped.of("", one.code() + ": " + one.title())
                        + Wrapped.of("    looks at: ", one.looksAt())
                        + Wrapped.of("    why:      ", one.why())
                        + Wrapped.of("    remedy:   ", one.remedy())
                        + Wrapped.of("    source:   ", one.source()));
    }

    private ParameterException unknown(String name) {
        String upper = name.toUpperCase(Locale.ROOT);
        String answer = "there is no help for " + name;
        if (upper.startsWith("EP-")) {
            answer += ": docs/reference/doctor.md explains the checks of devices and backends, and lists all codes";
        } else if (upper.startsWith("EP.") || upper.startsWith("EP_")) {
            String asKey = name.toLowerCase(Locale.ROOT).replace('_', '.');
            answer += "; the nearest setting is "
                    + NearestName.of(
                            asKey, settings().stream().map(ConfigKey::name).toList());
        } else {
            answer += "; the nearest command is "
                    + NearestName.of(name, commands())
                    + ", and ./ep help settings lists the settings";
        }
        return new ParameterException(spec.commandLine(), answer);
    }

    private List<String> commands() {
        return root().getSubcommands().entrySet().stream()
                .filter(entry ->
                        !entry.getValue().getCommandSpec().usageMessage().hidden())
                .map(Map.Entry::getKey)
                .toList();
    }

    private CommandLine root() {
        return spec.commandLine().getParent();
    }
}
