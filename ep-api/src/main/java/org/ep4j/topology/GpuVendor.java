package org.ep4j.topology;

import org.apiguardian.api.API;

/** Who made a GPU. Constants may be added: keep a {@code default} where you switch over them. */
@API(status = API.Status.STABLE, since = "0.1")
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
