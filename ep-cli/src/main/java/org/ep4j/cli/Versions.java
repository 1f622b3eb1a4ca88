package org.ep4j.cli;

import java.util.Optional;
import picocli.CommandLine.IVersionProvider;

/** Version of this build, from the manifest of its jar. */
final class Versions implements IVersionProvider {
    static String ep4j() {
        return Optional.ofNullable(Versions.class.getPackage())
                .map(Package::getImplementationVersion)
                .orElse("(unpacked classes)");
    }

    @Override
    public String[] getVersion() {
        return new String[] {
            "ep4j " + ep4j(),
            "Java " + Runtime.version() + " (" + System.getProperty("java.vendor", "") + "), "
                    + System.getProperty("os.name", "") + " " + System.getProperty("os.arch", "")
        };
    }
}
