package org.ep4j.topology.read;

import org.ep4j.topology.Topology;
import org.ep4j.topology.TopologyException;

/**
 * Reads what NCCL and RCCL write with {@code NCCL_TOPO_DUMP_FILE} and take with {@code NCCL_TOPO_FILE}: the syntax of
 * {@code graph/xml.cc}. Templates of cloud providers hold PCI devices and neither {@code gpu} nor {@code net} elements; their
 * GPUs and NICs are told by class code.
 */
final class NcclXml {
    private NcclXml() {}

    /**
     * Reads a text.
     *
     * @throws TopologyException if it is no such file, or broken, with line and reason
     */
    static Topology read(String source, String text) {
        return read(source, text, true);
    }

    /**
     * Reads a text whose speeds of NICs are not used, so that those which cannot be read are not warned of.
     *
     * @throws TopologyException if it is no such file, or broken, with line and reason
     */
    static Topology readWithoutRates(String source, String text) {
        return read(source, text, false);
    }

    private static Topology read(String source, String text, boolean rates) {
        XmlElement system = XmlFile.read(source, text);
        if (!system.name().equals("system")) {
            throw system.wrong("the root element is " + Faults.quote(system.name())
                    + "; a topology of NCCL or RCCL begins with <system>, one of hwloc with <topology>");
        }
        String version = system.value("version");
        if (!version.equals("1") && !version.equals("2")) {
            throw system.wrong("the version of the topology is " + Faults.quote(version)
                    + "; known versions are 1 (NCCL) and 2 (RCCL)");
        }
        if (system.children("cpu").isEmpty()) {
            throw system.wrong("there is no <cpu> in <system>, so the file describes no machine");
        }
        return new NcclTree(system, rates).topology();
    }
}
