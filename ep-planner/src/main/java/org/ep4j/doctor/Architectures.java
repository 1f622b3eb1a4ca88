package org.ep4j.doctor;

import java.util.Map;

/**
 * From which version on a run-time compiler knows an architecture. HIPRTC: measured with 5.2.3 (gfx90a, gfx940), 5.7.1
 * (gfx942, too) and 6.4.3 (gfx950 and gfx1201, too); versions between a failure and a success are not known. NVRTC:
 * measured with 11.8 (35 to 90), 12.9 (50 to 121) and 13.0 (75 to 121); 12.8 brought 100 and 120 (CUDA release notes).
 */
final class Architectures {
    private record Known(Version last, Version first) {}

    private static final Map<String, Known> HIPRTC = Map.of(
            "gfx906", new Known(Version.of(0), Version.of(5, 2)),
            "gfx908", new Known(Version.of(0), Version.of(5, 2)),
            "gfx90a", new Known(Version.of(0), Version.of(5, 2)),
            "gfx940", new Known(Version.of(0), Version.of(5, 2)),
            "gfx942", new Known(Version.of(5, 3), Version.of(5, 7)),
            "gfx950", new Known(Version.of(5, 8), Version.of(6, 4)),
            "gfx1201", new Known(Version.of(5, 8), Version.of(6, 4)));

    private Architectures() {}

    /** What is known of a pair. */
    enum Answer {
        YES,
        NO,
        UNKNOWN
    }

    static Answer hiprtc(String architecture, Version version) {
        Known known = HIPRTC.get(architecture.replaceFirst(":.*", ""));
        if (known == null) {
            return Answer.UNKNOWN;
        }
        if (version.compareTo(known.first()) >= 0) {
            return Answer.YES;
        }
        return version.compareTo(known.last()) < 0 ? Answer.NO : Answer.UNKNOWN;
    }

    static Answer nvrtc(String architecture, Version version) {
        String digits = architecture.replaceFirst("^sm_", "").replaceFirst("[af]$", "");
        if (!digits.matches("[0-9]{1,4}")) {
            return Answer.UNKNOWN;
        }
        int number = Integer.parseInt(digits);
        if (number > 121) {
            return Answer.UNKNOWN;
        }
        if (number >= 100) {
            return version.atLeast(12, 9) ? Answer.YES : version.atLeast(12, 8) ? Answer.UNKNOWN : Answer.NO;
        }
        if (number < 75) {
            return version.atLeast(13) ? Answer.NO : Answer.YES;
        }
        return version.atLeast(11, 8) ? Answer.YES : Answer.UNKNOWN;
    }
}
