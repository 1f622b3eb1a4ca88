package org.ep4j.backend.ibrc;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.ep4j.EpConfig;
import org.ep4j.config.ConfigKey;
import org.ep4j.config.EpKeys;
import org.ep4j.plan.offer.NicPath;
import org.ep4j.spi.Check;
import org.ep4j.topology.NicFamily;

/** How often and how long packets are sent again before their port counts as failed. */
final class Retries {
    /** Soft RoCE takes this number for without end, so a port would never fail. */
    private static final int ENDLESS_IN_SOFTWARE = 7;

    /** A wait may last four times as long as was asked for (InfiniBand specification, on timeouts of reliable connections). */
    private static final int SLACK = 4;

    private static final double UNIT_SECONDS = 4.096e-6;

    private Retries() {}

    /** The setting, as far as a NIC can follow it. */
    static int of(NicFamily family, EpConfig config) {
        int wanted = IbrcKeys.RETRIES.get(config);
        return endless(family, config) ? wanted - 1 : wanted;
    }

    static boolean endless(NicFamily family, EpConfig config) {
        return family == NicFamily.RXE && IbrcKeys.RETRIES.get(config) == ENDLESS_IN_SOFTWARE;
    }

    /** Longest time until a dead port of a NIC is found, in seconds. */
    static double longest(NicFamily family, EpConfig config) {
        return (of(family, config) + 1.0) * SLACK * UNIT_SECONDS * (1L << IbrcKeys.TIMEOUT.get(config));
    }

    private static String setting(ConfigKey<?> key, EpConfig config) {
        EpConfig.Setting setting = key.setting(config);
        return key.name() + " " + setting.text() + (setting.source().isEmpty() ? "" : " of " + setting.source());
    }

    /** Whether a dead port is found, and replaced, before calls end. */
    static Check check(List<NicPath> ports, EpConfig config) {
        double longest = ports.stream()
                .mapToDouble(port -> longest(port.nic().family(), config))
                .max()
                .orElse(0);
        Duration calls = EpKeys.TIMEOUT.get(config);
        String less = ports.stream()
                .filter(port -> endless(port.nic().family(), config))
                .map(NicPath::name)
                .collect(Collectors.joining(", "));
        String text = String.format(Locale.ROOT, "a dead port is found after %.1f s at most (", longest)
                + setting(IbrcKeys.TIMEOUT, config) + ", " + setting(IbrcKeys.RETRIES, config)
                + (less.isEmpty() ? "" : ", but 6 on " + less + ", because soft RoCE retries without limit at 7")
                + String.format(Locale.ROOT, "), calls end after %.1f s (", calls.toMillis() / 1e3)
                + EpKeys.TIMEOUT.name() + ")";
        return longest <= calls.toMillis() / 1e3
                ? Check.pass(IbrcProbe.RETRIES, text)
                : Check.warn(
                        IbrcProbe.RETRIES,
                        text + "; so calls fail before other ports take over",
                        "lower " + IbrcKeys.TIMEOUT.name()
                                + " (or NCCL_IB_TIMEOUT, if the value is from this variable), or raise "
                                + EpKeys.TIMEOUT.name());
    }
}
