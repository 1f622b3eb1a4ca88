package org.ep4j.topology.read;

/** Builds {@code /sys} and {@code /proc} of a machine as Linux lays them out. */
final class SysTree {
    final MemoryTree files = new MemoryTree();

    /** NUMA nodes with eight processors each. */
    SysTree nodes(int count) {
        for (int i = 0; i < count; i++) {
            files.file("/sys/devices/system/node/node" + i + "/cpulist", i * 8 + "-" + (i * 8 + 7));
        }
        return this;
    }

    /** The kind of all processors, as {@code /proc/cpuinfo} has it. */
    SysTree processor(String vendor, int family, int model) {
        files.file(
                "/proc/cpuinfo",
                "processor\t: 0\nvendor_id\t: " + vendor + "\ncpu family\t: " + family + "\nmodel\t\t: " + model
                        + "\nmodel name\t: a processor\n\nprocessor\t: 1\nvendor_id\t: Other\n");
        return this;
    }

    /**
     * A PCI function.
     *
     * @param path below {@code /sys/devices}: {@code pci0000:00/0000:00:01.0/0000:01:00.0}
     * @param ids vendor, device and class: {@code 10de 2335 030200}
     */
    SysTree pci(String path, String ids, int numa) {
        return pci(path, ids, "15b3 0001", numa, "32.0 GT/s PCIe", 16);
    }

    /** A PCI function with ids of its subsystem, and with the link to what is above it. */
    SysTree pci(String path, String ids, String subsystem, int numa, String speed, int lanes) {
        String folder = "/sys/devices/" + path;
        String[] id = ids.split(" ", -1);
        String[] sub = subsystem.split(" ", -1);
        files.file(folder + "/vendor", "0x" + id[0] + "\n")
                .file(folder + "/device", "0x" + id[1] + "\n")
                .file(folder + "/class", "0x" + id[2] + "\n")
                .file(folder + "/subsystem_vendor", "0x" + sub[0] + "\n")
                .file(folder + "/subsystem_device", "0x" + sub[1] + "\n")
                .file(folder + "/numa_node", numa + "\n")
                .file(folder + "/max_link_speed", speed + "\n")
                .file(folder + "/max_link_width", lanes + "\n")
                .linked("/sys/bus/pci/devices/" + SysFiles.last(path), folder);
        boolean gpu = id[2].startsWith("03") || id[2].startsWith("12");
        if (gpu && (id[0].equals("10de") || id[0].equals("1002"))) {
            driver(path, id[0].equals("10de") ? "nvidia" : "amdgpu");
        }
        return this;
    }

    /** A port of a bridge, which a path goes through. */
    SysTree port(String path, int numa) {
        return pci(path, "1000 c030 060400", numa);
    }

    /** The driver of a PCI function. */
    SysTree driver(String path, String name) {
        files.linked("/sys/devices/" + path + "/driver", "/sys/bus/pci/drivers/" + name);
        return this;
    }

    /** A verbs device on a PCI function, with one port. */
    SysTree verbs(String name, String path, String layer, String rate) {
        String folder = "/sys/devices/" + path + "/infiniband/" + name;
        files.linked("/sys/class/infiniband/" + name, folder).linked(folder + "/device", "/sys/devices/" + path);
        return port(folder, layer, rate);
    }

    /** A scalable function of a PCI function, with its own verbs device and interface. */
    SysTree scalable(String name, String path, int number, String netdev, String rate) {
        String auxiliary = path + "/mlx5_core.sf." + number;
        files.linked("/sys/bus/auxiliary/devices/mlx5_core.sf." + number, "/sys/devices/" + auxiliary)
                .file("/sys/devices/" + auxiliary + "/sfnum", number + "\n");
        return verbs(name, auxiliary, "Ethernet", rate).net(netdev, auxiliary, 100_000);
    }

    /** A verbs device in software. */
    SysTree software(String name, String kind) {
        String folder = "/sys/devices/virtual/infiniband/" + name;
        files.linked("/sys/class/infiniband/" + name, folder).file(folder + "/node_type", kind + "\n");
        return port(folder, "Ethernet", "10 Gb/sec (4X)");
    }

    private SysTree port(String folder, String layer, String rate) {
        files.file(folder + "/ports/1/state", "4: ACTIVE\n")
                .file(folder + "/ports/1/link_layer", layer + "\n")
                .file(folder + "/ports/1/rate", rate + "\n")
                .file(folder + "/ports/1/lid", "0x0\n")
                .file(folder + "/ports/1/gids/0", "0000:0000:0000:0000:0000:0000:0000:0000\n");
        return this;
    }

    /** An entry of the GID table of a verbs device's port. */
    SysTree gid(String device, int index, String address, String type, String netdev) {
        String port = files.real("/sys/class/infiniband/" + device).orElseThrow() + "/ports/1";
        files.file(port + "/gids/" + index, address + "\n")
                .file(port + "/gid_attrs/types/" + index, type + "\n")
                .file(port + "/gid_attrs/ndevs/" + index, netdev + "\n");
        return this;
    }

    /** A network interface on a PCI function. */
    SysTree net(String name, String path, int megabits) {
        String folder = "/sys/devices/" + path + "/net/" + name;
        files.linked("/sys/class/net/" + name, folder)
                .linked(folder + "/device", "/sys/devices/" + path)
                .file(folder + "/type", "1\n")
                .file(folder + "/operstate", "up\n")
                .file(folder + "/mtu", "9000\n")
                .file(folder + "/dev_port", "0\n")
                .file(folder + "/speed", megabits + "\n");
        return this;
    }

    /** A node of KFD. */
    SysTree kfd(int node, String properties) {
        files.file(KfdNode.FOLDER + "/nodes/" + node + "/properties", properties);
        return this;
    }

    /** A way from one node of KFD to another, in {@code io_links} or {@code p2p_links}. */
    SysTree kfdLink(String kind, int from, int to, int type, int weight, int least, int most) {
        String folder = KfdNode.FOLDER + "/nodes/" + from + "/" + kind + "/" + to;
        files.file(
                folder + "/properties",
                "type " + type + "\nnode_from " + from + "\nnode_to " + to + "\nweight " + weight + "\nmin_bandwidth "
                        + least + "\nmax_bandwidth " + most + "\nflags 1\n");
        return this;
    }

    FileTree tree() {
        return files;
    }
}
