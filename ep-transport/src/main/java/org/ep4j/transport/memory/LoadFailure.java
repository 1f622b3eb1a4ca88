package org.ep4j.transport.memory;

/** Why a library does not load. */
public final class LoadFailure {
    private LoadFailure() {}

    /** The first line of the message, without the colon before the lines that name every path JNA has tried. */
    public static String reason(Throwable e) {
        String first =
                String.valueOf(e.getMessage()).lines().findFirst().orElse("").strip();
        return first.endsWith(":") ? first.substring(0, first.length() - 1) : first;
    }
}
