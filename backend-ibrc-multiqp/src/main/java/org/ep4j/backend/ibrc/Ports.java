package org.ep4j.backend.ibrc;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import org.ep4j.Device;
import org.ep4j.DeviceMemory;
import org.ep4j.EpConfig;
import org.ep4j.plan.offer.FlowLimits;
import org.ep4j.spi.ExposedMemory;
import org.ep4j.topology.model.Topology;
import org.ep4j.topology.read.FileTree;
import org.ep4j.topology.read.LinuxTopology;
import org.ep4j.transport.memory.Resources;

/** The ports of this rank, open, with their devices. */
final class Ports implements AutoCloseable {
    private final List<LocalPort> ports = new ArrayList<>();
    private final Map<String, NicDevice> devices = new LinkedHashMap<>();

    /** Opens ports by name, {@code mlx5_0:1}; their indexes follow the names' order. */
    static Ports open(SortedSet<String> names, Topology topology, EpConfig config) {
        Ports opened = new Ports();
        try {
            for (String name : names) {
                String device = device(name);
                int number = name.equals(device) ? 1 : Integer.parseInt(name.substring(device.length() + 1));
                if (!opened.devices.containsKey(device)) {
                    opened.devices.put(device, NicDevice.open(device, limits(device, topology, config)));
                }
                opened.ports.add(LocalPort.open(opened.opened(device), number, topology, config));
            }
            return opened;
        } catch (RuntimeException | Error e) {
            opened.close();
            throw e;
        }
    }

    /** The NICs of this machine as they are now. Libraries of GPUs, which take time to find, know nothing of NICs. */
    static Topology topology() {
        return LinuxTopology.read("this machine", FileTree.of(Path.of("/")), System.getenv());
    }

    private static FlowLimits limits(String device, Topology topology, EpConfig config) {
        return FlowLimits.of(LocalPort.family(device, topology)).with(config);
    }

    /** Device of a port by name. */
    static String device(String port) {
        int colon = port.lastIndexOf(':');
        return colon < 0 ? port : port.substring(0, colon);
    }

    private NicDevice opened(String name) {
        NicDevice device = devices.get(name);
        if (device == null) {
            throw new IllegalStateException("device " + name + " is not open");
        }
        return device;
    }

    List<LocalPort> list() {
        return ports;
    }

    List<NicDevice> devices() {
        return List.copyOf(devices.values());
    }

    int index(String name) {
        for (int i = 0; i < ports.size(); i++) {
            if (ports.get(i).record().name().equals(name)) {
                return i;
            }
        }
        throw new IllegalStateException("port " + name + " is not open");
    }

    /**
     * Registers memory with every device.
     *
     * @param resources gives it back
     * @return the keys, by index of the port
     */
    Keys register(ExposedMemory memory, Access access, Resources resources) {
        Map<String, NicDevice.Registration> done = new LinkedHashMap<>();
        for (NicDevice device : devices.values()) {
            NicDevice.Registration registration = device.register(memory, access);
            resources.add(registration::close);
            done.put(device.name(), registration);
        }
        List<Integer> local = new ArrayList<>();
        List<Integer> remote = new ArrayList<>();
        for (LocalPort port : ports) {
            NicDevice.Registration registration = done.get(port.device().name());
            if (registration == null) {
                throw new IllegalStateException("device " + port.device().name() + " is not open");
            }
            local.add(registration.localKey());
            remote.add(registration.remoteKey());
        }
        return new Keys(local, remote);
    }

    /** Registers words of this process. */
    Keys registerWords(long address, long bytes, Resources resources) {
        return register(ExposedMemory.of(DeviceMemory.of(address, bytes, Device.HOST)), Access.WORDS, resources);
    }

    /**
     * Keys of memory, by index of the port.
     *
     * @param local for requests of this rank
     * @param remote for requests of others
     */
    record Keys(List<Integer> local, List<Integer> remote) {
        Keys {
            local = List.copyOf(local);
            remote = List.copyOf(remote);
        }
    }

    @Override
    public void close() {
        devices.values().forEach(NicDevice::close);
        devices.clear();
    }
}
