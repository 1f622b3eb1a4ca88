package org.ep4j.cli.rank;

import org.ep4j.cli.rank.WorkSpec.Wire;

/** Bytes of rows. */
final class Rows {
    private Rows() {}

    /** A row as a dispatch sends it: 2H, or H and one FP32 scale for each 128 channels. */
    static long wireBytes(WorkSpec spec, Wire wire) {
        return wire == Wire.FP8 ? spec.hidden() + 4L * ((spec.hidden() + 127) / 128) : bf16Bytes(spec);
    }

    /** 2H. */
    static long bf16Bytes(WorkSpec spec) {
        return 2L * spec.hidden();
    }
}
