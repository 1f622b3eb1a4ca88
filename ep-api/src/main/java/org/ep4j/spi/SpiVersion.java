package org.ep4j.spi;

/**
 * Version of the SPI that a provider was compiled against.
 *
 * @param major providers of another major version do not run
 * @param minor providers of a newer minor version do not run
 */
public record SpiVersion(int major, int minor) {
    /** The SPI of this ep-api. */
    public static final SpiVersion CURRENT = new SpiVersion(1, 0);

    /**
     * Returns true if an ep-api of this version can run a provider that was compiled against version {@code provider}.
     */
    public boolean runs(SpiVersion provider) {
        return major == provider.major && provider.minor <= minor;
    }

    @Override
    public String toString() {
        return major + "." + minor;
    }
}
