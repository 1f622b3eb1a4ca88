package org.ep4j.topology;

/** Vendor of a GPU. Constants may be added: keep a {@code default} where you switch over them. */
public enum GpuVendor {
    /** NVIDIA: device type {@code cuda}. */
    NVIDIA("cuda"),
    /** AMD: device type {@code hip}. */
    AMD("hip"),
    /** Another accelerator, or unknown: no device of ep4j. */
    OTHER("");

    private final String deviceType;

    GpuVendor(String deviceType) {
        this.deviceType = deviceType;
    }

    /** Type of {@link org.ep4j.Device} for GPUs of this vendor; empty if ep4j has none. */
    public String deviceType() {
        return deviceType;
    }
}
