package org.ep4j.topology.read;

import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyException;

/**
 * Reads what {@code lstopo --of xml} writes, of hwloc 1, 2 and 3. The file lists every PCIe port, so host bridges can be
 * told apart and distances go down to {@code NODE}. NICs are devices of verbs, and cards that are made for RDMA without
 * verbs (Slingshot); plain network interfaces are left out, since a machine has many that carry no traffic of applications.
 */
final class HwlocXml {
    private HwlocXml() {}

    /**
     * Reads a text.
     *
     * @throws TopologyException if it is no such file, or broken, with line and reason
     */
    static Topology read(String source, String text) {
        XmlElement root = XmlFile.read(source, text);
        if (!root.name().equals("topology")) {
            throw root.wrong("the root element is " + Faults.quote(root.name())
                    + "; a topology of hwloc begins with <topology>, one of NCCL or RCCL with <system>");
        }
        String version = root.attribute("version").orElse("1");
        if (!version.matches("[123](\\..*)?")) {
            throw root.wrong("the version of the topology is " + Faults.quote(version)
                    + "; known versions are 1, 2 and 3 of hwloc");
        }
        if (root.children("object").isEmpty()) {
            throw root.wrong("there is no <object> in <topology>, so the file describes no machine");
        }
        return new HwlocTree(new HwlocFile(root, version.startsWith("3"))).topology();
    }
}
