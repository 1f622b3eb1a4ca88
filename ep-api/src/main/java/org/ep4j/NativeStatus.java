package org.ep4j;

import java.io.Serializable;

/**
 * A status that a native library reported.
 *
 * @param code its number, as the library defines it
 * @param name its name or text, as the library gives it
 * @param vendorCode what the device's vendor adds to it; 0 where there is nothing
 */
public record NativeStatus(int code, String name, int vendorCode) implements Serializable {
    private static final long serialVersionUID = 1L;

    /** A status without a vendor's code. */
    public NativeStatus(int code, String name) {
        this(code, name, 0);
    }

    /** For example {@code transport retry counter exceeded (12), vendor error 0x81}. */
    @Override
    public String toString() {
        return name + " (" + code + ")"
                + (vendorCode == 0 ? "" : ", vendor error 0x" + Integer.toHexString(vendorCode));
    }
}
