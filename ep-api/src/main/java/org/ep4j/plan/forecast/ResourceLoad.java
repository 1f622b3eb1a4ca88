package org.ep4j.plan.forecast;

/**
 * What an operation asks of one thing that ranks share.
 *
 * @param resource what it is: {@code mlx5_0:1 of host-0, out}
 * @param bytes bytes that go through it
 * @param gigabytesPerSecond what it carries, after losses
 */
public record ResourceLoad(String resource, double bytes, double gigabytesPerSecond) {
    /** Time that it is busy. */
    public double micros() {
        return bytes / (gigabytesPerSecond * 1e3);
    }
}
