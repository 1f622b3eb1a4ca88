package org.ep4j.topology;

import java.util.List;

/** Network interfaces that container runtimes, bridges and tunnels make, by the beginnings of their names. */
public final class VirtualInterfaces {
    private static final List<String> BEGINNINGS =
            List.of("docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "tun", "tap", "podman", "lxc");

    private VirtualInterfaces() {}

    /** True for an interface that leads to no other host, or there by way of another one. */
    public static boolean matches(String name) {
        return BEGINNINGS.stream().anyMatch(name::startsWith);
    }
}
