package org.ep4j.topology.read;

/**
 * Limits for files that describe a machine, since such files come from other people. A description beyond one of them
 * is refused before memory is taken for it, or the value beyond it counts as unknown; 64 MiB of heap are enough for that. The largest NVLink domain has 576 GPUs.
 */
public final class Limits {
    /** Largest number of bytes of a file with text. A matrix of 1,024 columns has 6 million. */
    public static final int TEXT = 8 << 20;

    /** Largest number of characters of a line of text. A row of 1,024 columns has 10 thousand. */
    public static final int LINE = 64 << 10;

    /** Largest number of lines of a text. {@code ibv_devinfo -v} prints 60 for a device with one port. */
    public static final int LINES = 200_000;

    /** Largest number of characters of an XML file. The largest real one seen has 300 thousand. */
    public static final int XML = 4 << 20;

    /** Largest number of elements of an XML file. A machine of 2,000 processors has about 10 thousand. */
    public static final int ELEMENTS = 60_000;

    /** Largest number of attributes of all elements of an XML file together. */
    public static final int ATTRIBUTES = 300_000;

    /**
     * Largest depth of nested elements of an XML file. Real machines have about 25, and Java 24 refuses more than 100.
     */
    public static final int DEPTH = 64;

    /** Largest number of GPUs of a machine. */
    public static final int GPUS = 1024;

    /** Largest number of NICs of a machine, with virtual functions. */
    public static final int NICS = 2048;

    /** Largest number of ports of a NIC; port numbers have 8 bits. */
    public static final int PORTS = 255;

    /** Largest number of entries of a port's GID table. */
    public static final int GIDS = 1024;

    /** Largest number of NUMA nodes of all hosts together. Each is linked with all others of its host. */
    public static final int NUMA_NODES = 512;

    /** The highest number of a NUMA node; Linux is built for 1,024 at most. */
    public static final int NUMA_NUMBER = 1023;

    /** Gigatransfers a second of a lane of PCIe 7; none is faster. */
    static final double PCIE_TRANSFERS = 128;

    /** Largest number of lanes of a PCIe link. */
    static final int PCIE_LANES = 32;

    /** Largest number of links of one kind that join a GPU and another part. */
    static final int GPU_LINKS = 1024;

    /** Largest bandwidth of the links that join two parts, in megabytes a second. */
    static final int LINK_MEGABYTES = 10_000_000;

    /** Largest number of characters of a name; Linux has 255 for a file and 64 for a device of verbs. */
    public static final int NAME = 255;

    /** Largest number of bytes that are read of a file in a recording. */
    public static final int FILE = 1 << 20;

    /** Largest number of names that are read of a folder in a recording, after sorting. */
    public static final int FOLDER = 20_000;

    /** Largest number of lines of a file of properties of AMD's KFD; a GPU has 60. */
    public static final int PROPERTIES = 256;

    /** Largest number of files, folders and links of an archive. The largest real recording seen has 8 thousand. */
    public static final int ENTRIES = 100_000;

    /** Largest number of bytes that contents, names and links of an archive may take in memory together. */
    public static final int KEPT = 16 << 20;

    /** Largest number of bytes that an archive unpacks to, including contents that are skipped. */
    public static final long UNPACKED = 512L << 20;

    /** Largest number of bytes of the header, long names and PAX records of an entry of an archive. */
    public static final int HEADER = 128 << 10;

    /** Largest number of characters of the PAX records of an entry and of the archive. */
    public static final int RECORDS = 256 << 10;

    /** Largest number of characters of a path in an archive, as {@code PATH_MAX} of Linux. */
    public static final int PATH = 4096;

    /** Largest depth of nested folders in a recording. Files of {@code /sys} have about 20. */
    public static final int FOLDERS = 64;

    /** Largest number of links that are followed for one path, as Linux does. */
    public static final int LINKS = 40;

    private Limits() {}
}
