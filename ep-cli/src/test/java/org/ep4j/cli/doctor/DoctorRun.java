package org.ep4j.cli.doctor;

import java.nio.file.Path;
import java.util.Map;

/** Lets tests of other packages see what doctor prints. */
public final class DoctorRun {
    private DoctorRun() {}

    /** What doctor prints of a recorded machine. */
    public static String text(Path root, Map<String, String> environment) {
        return DoctorText.of(Examination.recorded(root, environment), false);
    }
}
