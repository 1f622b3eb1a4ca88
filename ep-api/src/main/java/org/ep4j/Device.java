package org.ep4j;

import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Names one device of this machine, printed as {@code host:0} or {@code cuda:3}.
 *
 * @param type kind of device: {@code host}, {@code cuda} or {@code hip}
 * @param ordinal index among the devices of its type that this process sees, from 0
 */
public record Device(String type, int ordinal) {
    // Before HOST, whose constructor needs it.
    private static final Pattern TYPE = Pattern.compile("[a-z][a-z0-9-]{0,31}");

    /** The processor and its memory. */
    public static final Device HOST = new Device("host", 0);

    /** Checks both parts. */
    public Device {
        if (!TYPE.matcher(type).matches() || ordinal < 0) {
            throw new EpArgumentException(
                    "device", type + ":" + ordinal, "a type of [a-z0-9-] and an ordinal >= 0", "use host:0 or cuda:1");
        }
    }

    /**
     * Reads {@code cuda:3}; a type alone means ordinal 0.
     *
     * @throws EpArgumentException when the text is neither
     */
    public static Device parse(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        int colon = lower.indexOf(':');
        try {
            return colon < 0
                    ? new Device(lower, 0)
                    : new Device(lower.substring(0, colon), Integer.parseInt(lower.substring(colon + 1)));
        } catch (NumberFormatException e) {
            throw new EpArgumentException("device", text, "TYPE or TYPE:ORDINAL", "use host:0 or cuda:1", e);
        }
    }

    /** Returns a GPU of NVIDIA. */
    public static Device cuda(int ordinal) {
        return new Device("cuda", ordinal);
    }

    /** Returns a GPU of AMD. */
    public static Device hip(int ordinal) {
        return new Device("hip", ordinal);
    }

    /** Returns true for every device but the host's processor. */
    public boolean isGpu() {
        return !type.equals(HOST.type);
    }

    @Override
    public String toString() {
        return type + ":" + ordinal;
    }
}
