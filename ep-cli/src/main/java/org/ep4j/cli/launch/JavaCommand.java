package org.ep4j.cli.launch;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The command line that runs a class of this class path in another JVM. */
public final class JavaCommand {
    private static final int FIRST_WITH_NATIVE_ACCESS = 22;

    private JavaCommand() {}

    /**
     * {@code java} with this process's class path and options.
     *
     * @param options more JVM options; they win over the inherited ones
     * @param mainClass class to run
     * @param arguments its arguments
     */
    public static List<String> of(List<String> options, String mainClass, List<String> arguments) {
        List<String> command = new ArrayList<>();
        command.add(java());
        for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
            if (inherited(option)) {
                command.add(option);
            }
        }
        // Asked for by JDK 24 and later; the manifest attribute counts only with "java -jar".
        if (Runtime.version().feature() >= FIRST_WITH_NATIVE_ACCESS) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(options);
        command.add("-cp");
        command.add(System.getProperty("java.class.path", ""));
        command.add(mainClass);
        command.addAll(arguments);
        return List.copyOf(command);
    }

    /** Settings travel; agents and debuggers would fight over their port. */
    private static boolean inherited(String option) {
        return (option.startsWith("-D") || option.startsWith("-X") || option.startsWith("--add-"))
                && !option.startsWith("-Xrun")
                && !option.startsWith("-Xdebug")
                && !option.startsWith("-Xmx")
                && !option.startsWith("-Xms");
    }

    private static String java() {
        Path home = Path.of(System.getProperty("java.home", "."), "bin", "java");
        return Files.isExecutable(home) ? home.toString() : "java";
    }
}
