package org.ep4j.gpu.hip;

import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Version of HIP, whose first two numbers are ROCm's. */
record HipVersion(int major, int minor) {
    /** The oldest that ep4j calls: with it come HIPRTC's gfx942 and all calls of {@link HipRuntime}. */
    static final HipVersion OLDEST = new HipVersion(5, 7);

    /** {@code libhiprtc.so.6.4.60402}: ROCm names libraries by their version, and links to them. */
    private static final Pattern NAME = Pattern.compile(".*\\.so\\.(\\d{1,4})(?:\\.(\\d{1,4}))?(?:\\..*)?");

    /** From {@code HIP_VERSION} of {@code hip_version.h}: 10000000 * major + 100000 * minor + patch. */
    static HipVersion of(int number) {
        return new HipVersion(number / 10_000_000, number / 100_000 % 100);
    }

    /** From the name of a library's file, links followed before; empty when the name has none. */
    static Optional<HipVersion> of(Path file) {
        Matcher name = NAME.matcher(String.valueOf(file.getFileName()));
        return name.matches()
                ? Optional.of(new HipVersion(
                        Integer.parseInt(name.group(1)), name.group(2) == null ? 0 : Integer.parseInt(name.group(2))))
                : Optional.empty();
    }

    boolean isAtLeast(HipVersion other) {
        return major > other.major || (major == other.major && minor >= other.minor);
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
