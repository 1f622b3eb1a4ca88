package org.ep4j.topology;

/**
 * The switches between GPUs of one NVLink domain, merged into one.
 *
 * @param host index of the host that named it; in a domain of several hosts, the first
 * @param name such as {@code NVSwitch}
 */
public record GpuSwitch(int host, String name) implements Part {
    @Override
    public String label() {
        return name;
    }
}
