package org.ep4j.engine.pmix;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

/** Structures and numbers of {@code pmix_common.h}. A test compares them with the header where it is installed. */
final class PmixStructures {
    /** {@code sizeof(pmix_proc_t)}: name of the job, 255 characters and a zero, then the rank. */
    static final int PROC_BYTES = 260;

    static final int PROC_RANK = 256;

    /** {@code sizeof(pmix_value_t)}: type, then a union whose largest member has three words. */
    static final int VALUE_BYTES = 32;

    static final int VALUE_DATA = 8;

    /** {@code sizeof(pmix_info_t)}: key, 511 characters and a zero, then flags, then a value. */
    static final int INFO_BYTES = 552;

    static final int INFO_VALUE = 520;

    static final short BOOL = 1;
    static final short STRING = 3;
    static final short UINT32 = 14;

    /** {@code PMIX_GLOBAL}. */
    static final byte GLOBAL = 3;

    /** {@code PMIX_RANK_WILDCARD}. */
    static final int ANY_RANK = -2;

    static final String JOB_SIZE = "pmix.job.size";
    static final String COLLECT_DATA = "pmix.collect";

    private PmixStructures() {}

    static Memory proc() {
        return zeroed(PROC_BYTES);
    }

    /** Another member of the same job. */
    static Memory proc(Pointer own, int rank) {
        Memory proc = new Memory(PROC_BYTES);
        proc.write(0, own.getByteArray(0, PROC_RANK), 0, PROC_RANK);
        proc.setInt(PROC_RANK, rank);
        return proc;
    }

    static int rank(Pointer proc) {
        return proc.getInt(PROC_RANK);
    }

    /** A value that is text; {@code text} must live as long as it. */
    static Memory value(Memory text) {
        Memory value = zeroed(VALUE_BYTES);
        value.setShort(0, STRING);
        value.setPointer(VALUE_DATA, text);
        return value;
    }

    /** Text with its zero. */
    static Memory text(byte[] ascii) {
        Memory memory = zeroed(ascii.length + 1);
        memory.write(0, ascii, 0, ascii.length);
        return memory;
    }

    /** The attribute that makes a fence bring what all members have put. */
    static Memory collectData() {
        Memory info = zeroed(INFO_BYTES);
        byte[] key = COLLECT_DATA.getBytes(US_ASCII);
        info.write(0, key, 0, key.length);
        info.setShort(INFO_VALUE, BOOL);
        info.setByte(INFO_VALUE + VALUE_DATA, (byte) 1);
        return info;
    }

    private static Memory zeroed(int bytes) {
        Memory memory = new Memory(bytes);
        memory.clear();
        return memory;
    }
}
