package org.ep4j.engine.buffer;

import org.ep4j.EpArgumentException;

/** Messages about expert ids. */
public final class ExpertIds {
    private ExpertIds() {}

    /**
     * The refusal of an id that no expert has. Where the same bytes in the other order are an id, it asks for the byte order:
     * {@link java.nio.ByteBuffer} is big-endian by default.
     *
     * @param token index of the token
     * @param selection index in the token's top-k list
     * @param value the id
     * @param experts number of experts
     */
    public static EpArgumentException outOfRange(long token, long selection, long value, int experts) {
        long turned = value == (int) value ? Integer.reverseBytes((int) value) : Long.reverseBytes(value);
        boolean order = turned >= 0 && turned < experts;
        return new EpArgumentException(
                "topkIds[" + token + "][" + selection + "]",
                value,
                "-1 or in [0, " + experts + ")",
                "pass global expert ids (not local ids), or -1 for no selection"
                        + (order
                                ? "; is the buffer in ByteOrder.nativeOrder()? In the other byte order the value is "
                                        + turned
                                : ""));
    }

    /**
     * The refusal of more selections of an expert than there is room for.
     *
     * @param token index of the first token that selects the expert twice
     * @param most selections of one expert for which there is room
     */
    public static EpArgumentException duplicates(long token, long expert, int most) {
        return new EpArgumentException(
                "topkIds[" + token + "]",
                "a list with expert " + expert + " twice",
                "a list of different experts, because this expert has more than maxLowLatencyTokens = " + most
                        + " selections",
                "select each expert at most once for a token");
    }
}
