package org.ep4j.doctor;

/**
 * A library that was found.
 *
 * @param library which
 * @param version digits with dots, as its file or package says; empty when neither says
 * @param path its file, links resolved
 */
public record FoundLibrary(KnownLibrary library, String version, String path) {
    /** Its version as numbers; {@link Version#UNKNOWN} when none is known. */
    Version number() {
        return Version.parse(version);
    }

    @Override
    public String toString() {
        return (version.isEmpty() ? "unknown version" : version) + " (" + path + ")";
    }
}
