package org.ep4j.cli;

import java.nio.file.Files;
import java.nio.file.Path;

/** Finds the root of the sources. */
public final class Repository {
    private Repository() {}

    /** The folder that holds the modules. */
    public static Path root() {
        Path folder = Path.of("").toAbsolutePath();
        while (!Files.exists(folder.resolve("ep-bom/pom.xml"))) {
            folder = folder.getParent();
            if (folder == null) {
                throw new IllegalStateException("run from inside the repository, not from "
                        + Path.of("").toAbsolutePath());
            }
        }
        return folder;
    }
}
