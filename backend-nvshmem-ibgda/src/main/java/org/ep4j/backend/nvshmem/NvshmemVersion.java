package org.ep4j.backend.nvshmem;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.ep4j.topology.read.NvshmemFolders;

/** A version of NVSHMEM as NVIDIA numbers its releases. */
record NvshmemVersion(int major, int minor, int patch) implements Comparable<NvshmemVersion> {
    /** The first with several RC queue pairs to a peer; what ep4j calls is there. */
    static final NvshmemVersion OLDEST = new NvshmemVersion(3, 3, 9);

    /** The first whose initialisation takes a CUDA device. */
    private static final NvshmemVersion WITH_DEVICE = new NvshmemVersion(3, 5, 0);

    private static final int NEXT_MAJOR = 4;

    /** Reads the version of the headers in a folder; empty if they do not state it. */
    static Optional<NvshmemVersion> of(Path include) {
        try {
            String text = Files.readString(include.resolve(NvshmemFolders.VERSION));
            return number(text, "MAJOR")
                    .flatMap(major -> number(text, "MINOR")
                            .flatMap(minor ->
                                    number(text, "PATCH").map(patch -> new NvshmemVersion(major, minor, patch))));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Optional<Integer> number(String text, String part) {
        Matcher found = Pattern.compile("#define\\s+NVSHMEM_VENDOR_" + part + "_VERSION\\s+([0-9]{1,5})\\b")
                .matcher(text);
        return found.find() ? Optional.of(Integer.parseInt(found.group(1))) : Optional.empty();
    }

    /** Returns true if structures and calls are those that ep4j knows. */
    boolean known() {
        return compareTo(OLDEST) >= 0 && major < NEXT_MAJOR;
    }

    /** Returns true if the arguments of the initialisation have a CUDA device: {@code nvshmemx_init_args_v2}. */
    boolean initTakesDevice() {
        return compareTo(WITH_DEVICE) >= 0;
    }

    @Override
    public int compareTo(NvshmemVersion other) {
        int first = Integer.compare(major, other.major);
        int second = first != 0 ? first : Integer.compare(minor, other.minor);
        return second != 0 ? second : Integer.compare(patch, other.patch);
    }

    @Override
    public String toString() {
        return major + "." + minor + "." + patch;
    }
}
