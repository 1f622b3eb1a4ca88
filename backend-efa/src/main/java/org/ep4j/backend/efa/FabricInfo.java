package org.ep4j.backend.efa;

import java.util.HashMap;
import java.util.Map;

/**
 * One way of libfabric to reach others: a provider on a NIC.
 *
 * @param index in the list that it is from
 * @param provider full name, {@code tcp;ofi_rxm}
 * @param fabric network
 * @param domain what the provider calls the NIC
 * @param device the kernel's name of it, or the name of the domain where the provider names no device
 * @param vendor PCI id of the vendor, {@code 0x1d0f}; empty when unknown
 * @param address {@code ipv4:10.0.0.1}, {@code ipv6:fe80}, or empty
 * @param memoryMode {@code FI_MR_*} that the provider asks for
 * @param writes that fit into its queue
 * @param longestMessage bytes
 * @param gigabitsPerSecond 0 when unknown
 * @param deviceMemory true where it takes memory of GPUs ({@code FI_HMEM}), as it does only where it was asked for that
 */
record FabricInfo(
        int index,
        String provider,
        String fabric,
        String domain,
        String device,
        String vendor,
        String address,
        int memoryMode,
        int writes,
        long longestMessage,
        double gigabitsPerSecond,
        boolean deviceMemory) {
    /** {@code FI_MR_VIRT_ADDR}: peers give addresses and not offsets. */
    static final int VIRTUAL_ADDRESSES = 1 << 4;

    /** {@code FI_MR_ENDPOINT}: memory is registered for one endpoint. */
    static final int OF_ENDPOINT = 1 << 9;

    private static final String EFA_DIRECT = "efa-direct";

    /** Out of what {@link Libfabric#describe} gave. */
    static FabricInfo parse(int index, String lines) {
        Map<String, String> values = new HashMap<>();
        lines.lines().forEach(line -> {
            int at = line.indexOf('=');
            values.put(line.substring(0, at), line.substring(at + 1));
        });
        String fabric = values.getOrDefault("fabric", "");
        String domain = values.getOrDefault("domain", "");
        String device = values.getOrDefault("device", "");
        // EFA has two networks on the same NIC, one without the provider's own protocol.
        String provider = fabric.equals(EFA_DIRECT) ? EFA_DIRECT : values.getOrDefault("provider", "");
        return new FabricInfo(
                index,
                provider,
                fabric,
                domain,
                device.isEmpty() ? bare(domain) : device,
                values.getOrDefault("vendor", ""),
                values.getOrDefault("address", ""),
                Integer.parseInt(values.getOrDefault("mr_mode", "0")),
                (int) Math.min(Integer.MAX_VALUE, number(values, "tx_size")),
                Math.min(Long.MAX_VALUE >>> 1, number(values, "max_message")),
                number(values, "speed") / 1e9,
                number(values, "hmem") != 0);
    }

    private static long number(Map<String, String> values, String name) {
        long value = Long.parseUnsignedLong(values.getOrDefault(name, "0"));
        return value < 0 ? Long.MAX_VALUE : value;
    }

    /** The name of a NIC without what EFA puts behind it. */
    private static String bare(String domain) {
        return domain.endsWith("-rdm") ? domain.substring(0, domain.length() - 4) : domain;
    }

    /** The core provider: {@code tcp} of {@code tcp;ofi_rxm}. */
    String core() {
        return core(provider);
    }

    static String core(String provider) {
        int at = provider.indexOf(';');
        return at < 0 ? provider : provider.substring(0, at);
    }

    boolean virtualAddresses() {
        return (memoryMode & VIRTUAL_ADDRESSES) != 0;
    }

    boolean memoryOfEndpoint() {
        return (memoryMode & OF_ENDPOINT) != 0;
    }

    boolean linkLocal() {
        return address.equals("ipv6:fe80");
    }
}
