package org.ep4j.plan.forecast;

/**
 * The load of an operation on one resource that ranks share.
 *
 * @param resource what it is: {@code mlx5_0:1 of host-0, out}
 * @param bytes bytes that go through it
 * @param gigabytesPerSecond what it carries, after losses
 */
public record ResourceLoad(String resource, double bytes, double gigabytesPerSecond) {
    /** Time for which the resource is busy, in microseconds. */
    public double micros() {
        return bytes / (gigabytesPerSecond * 1e3);
    }
}
