package org.ep4j.engine.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.ep4j.testing.Guard;

/**
 * Two network namespaces that two cables connect, as two hosts on two networks: the first host has the interfaces {@code a1} and
 * {@code a2} with the addresses 10.77.1.1 and 10.77.2.1, the second one {@code b1} and {@code b2} with 10.77.1.2 and 10.77.2.2.
 */
final class TwoHosts implements AutoCloseable {
    private final List<Process> holders = new ArrayList<>();

    /** Two hosts; skips the test where this user cannot make any. */
    static TwoHosts connected() {
        TwoHosts hosts = new TwoHosts();
        boolean made = false;
        try {
            for (int host = 0; host < 2; host++) {
                Process holder = start(List.of("unshare", "--net", "sh", "-c", "echo ready; exec cat"));
                hosts.holders.add(holder);
                boolean ready = new String(holder.getInputStream().readNBytes(6), UTF_8).equals("ready\n");
                assumeTrue(ready, "this user cannot make network namespaces (unshare --net)");
            }
            for (int cable = 1; cable <= 2; cable++) {
                hosts.connect(cable);
            }
            made = true;
            return hosts;
        } catch (IOException e) {
            assumeTrue(false, "no unshare, nsenter or ip: " + e.getMessage());
            throw new UncheckedIOException(e);
        } finally {
            if (!made) {
                hosts.close();
            }
        }
    }

    private void connect(int cable) throws IOException {
        String other = Long.toString(holders.get(1).pid());
        String problem =
                run(0, "ip", "link", "add", "a" + cable, "type", "veth", "peer", "name", "b" + cable, "netns", other);
        assumeTrue(problem.isEmpty(), "this system has no cables between network namespaces (veth): " + problem);
        for (int host = 0; host < 2; host++) {
            String name = (host == 0 ? "a" : "b") + cable;
            on(host, "ip", "address", "add", "10.77." + cable + "." + (host + 1) + "/24", "dev", name);
            on(host, "ip", "-6", "address", "add", "fe80::" + name + "/64", "dev", name, "nodad");
            on(host, "ip", "link", "set", name, "up");
            on(host, "ip", "link", "set", "lo", "up");
            // Replies may come by the other cable.
            on(host, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter");
            on(host, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/conf/" + name + "/rp_filter");
        }
        for (int host = 0; host < 2; host++) {
            int end = host;
            String name = (host == 0 ? "a" : "b") + cable;
            // The system notices the other end of the cable a moment later.
            Guard.until(name + " is up", () -> isUp(end, name));
        }
    }

    private boolean isUp(int host, String name) {
        try {
            return run(host, "sh", "-c", "ip link show " + name + " | grep -q 'state UP'")
                    .isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What starts a program on a host. */
    List<String> starter(int host) {
        return List.of(
                "nsenter", "--net", "--target", Long.toString(holders.get(host).pid()), "--");
    }

    /** Runs a program on a host; it must succeed. */
    void on(int host, String... command) throws IOException {
        String problem = run(host, command);
        if (!problem.isEmpty()) {
            throw new AssertionError(problem);
        }
    }

    /** What went wrong; empty when nothing did. */
    private String run(int host, String... command) throws IOException {
        List<String> all = new ArrayList<>(starter(host));
        all.addAll(List.of(command));
        Process process = start(all);
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        try {
            boolean ended = process.waitFor(10, TimeUnit.SECONDS);
            return ended && process.exitValue() == 0 ? "" : all + ": " + said;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static Process start(List<String> command) throws IOException {
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }

    /** Whether the host has a connection that is established, between two IPv4 addresses. */
    boolean connected(int host, String local, String remote) {
        Path table = Path.of("/proc/" + holders.get(host).pid() + "/net");
        try {
            // Sockets that could use IPv6 have their IPv4 addresses at the end.
            return List.of("tcp", "tcp6").stream()
                    .flatMap(name -> lines(table.resolve(name)).stream())
                    .map(line -> line.strip().split("\\s+", -1))
                    .anyMatch(fields -> fields[1].matches(".*" + hex(local) + ":\\p{XDigit}+")
                            && fields[2].matches(".*" + hex(remote) + ":\\p{XDigit}+")
                            && fields[3].equals("01"));
        } catch (UncheckedIOException e) {
            throw new AssertionError(e);
        }
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** As the kernel writes it on machines whose numbers begin with their last byte. */
    private static String hex(String address) {
        StringBuilder text = new StringBuilder();
        for (String part : address.split("\\.", -1)) {
            text.insert(0, String.format("%02X", Integer.parseInt(part)));
        }
        return text.toString();
    }

    @Override
    public void close() {
        holders.forEach(Process::destroyForcibly);
    }
}
