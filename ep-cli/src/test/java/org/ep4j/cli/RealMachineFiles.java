package org.ep4j.cli;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Files of real machines beside the repository. They are not part of this project. */
public final class RealMachineFiles {
    private static final Path FOLDER = Path.of("../../shared/topologies");

    private RealMachineFiles() {}

    /** The folder; without it the test is skipped, and says so. A file that is missing in it is a failure. */
    public static Path required() {
        boolean there = Files.isDirectory(FOLDER);
        if (!there) {
            System.out.println("Skipped: no folder " + FOLDER + " with files of real machines");
        }
        assumeTrue(there, "no folder " + FOLDER + " with files of real machines");
        return FOLDER;
    }
}
