package org.ep4j.cli.soak;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Consumer;
import org.ep4j.EpUnavailableException;

/** Problems and stacks in the folder of the logs. */
final class Findings {
    private final Path folder;
    private final Consumer<Problem> listener;

    Findings(Path folder, Consumer<Problem> listener) {
        this.folder = folder;
        this.listener = listener;
    }

    void note(Problem problem) {
        append("problems.txt", problem.toString());
        listener.accept(problem);
    }

    void stacks(int round, String who, String text) {
        append("stacks-round-" + round + ".txt", who + "\n" + text);
    }

    private void append(String name, String text) {
        try {
            Files.writeString(folder.resolve(name), text + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new EpUnavailableException("cannot write to " + folder + ": " + e + "; make room there", e);
        }
    }
}
