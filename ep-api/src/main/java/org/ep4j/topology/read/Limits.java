package org.ep4j.topology.read;

/**
 * Limits of what describes a machine, since such files come from other people. A description beyond one of them is refused before
 * memory is taken for it; 64 MiB of heap are enough for that. The largest NVLink domain has 576 GPUs.
 */
public final class Limits {
    /** Bytes of a file with text. A matrix of 1,024 columns has 6 million. */
    public static final int TEXT = 8 << 20;

    /** Characters of a line of text, which a reader takes apart as a whole. A row of 1,024 columns has 10 thousand. */
    public static final int LINE = 64 << 10;

    /** Lines of a text. {@code ibv_devinfo -v} prints 60 for a device with one port. */
    public static final int LINES = 200_000;

    /** Characters of an XML file. The largest real one seen has 300 thousand. */
    public static final int XML = 4 << 20;

    /** Elements of an XML file. A machine of 2,000 processors has about 10 thousand. */
    public static final int ELEMENTS = 60_000;

    /** Attributes of all elements of an XML file together. */
    public static final int ATTRIBUTES = 300_000;

    /** Elements within each other. Real machines have about 25; Java 24 and newer stop at 100 with words of their own. */
    public static final int DEPTH = 64;

    /** GPUs of a machine. */
    public static final int GPUS = 1024;

    /** NICs of a machine, with virtual functions. */
    public static final int NICS = 2048;

    /** Ports of a NIC: their numbers have 8 bits. */
    public static final int PORTS = 255;

    /** Entries of the table of GIDs of a port. */
    public static final int GIDS = 1024;

    /** NUMA nodes of all hosts together. Each is linked with all others of its host. */
    public static final int NUMA_NODES = 512;

    /** The highest number of a NUMA node; Linux is built for 1,024 at most. */
    public static final int NUMA_NUMBER = 1023;

    /** Characters of a name; Linux has 255 for a file and 64 for a device of verbs. */
    public static final int NAME = 255;

    /** Bytes of a file in a recording that are read. */
    public static final int FILE = 1 << 20;

    /** Names in a folder of a recording, sorted, that are read. */
    public static final int FOLDER = 20_000;

    /** Lines of a file of properties of AMD's KFD; a GPU has 60. */
    public static final int PROPERTIES = 256;

    /** Files, folders and links of an archive. The largest real recording seen has 8 thousand. */
    public static final int ENTRIES = 100_000;

    /** Bytes of contents, names and links that are kept of an archive. */
    public static final int KEPT = 16 << 20;

    /** Bytes that an archive unpacks to, of which what is not kept is passed over. */
    public static final long UNPACKED = 512L << 20;

    /** Bytes in front of the content of an entry of an archive: its header, long names and records of PAX. */
    public static final int HEADER = 128 << 10;

    /** Characters of the records of PAX that an entry has, with those that the archive has for all. */
    public static final int RECORDS = 256 << 10;

    /** Characters of a path in an archive, as {@code PATH_MAX} of Linux. */
    public static final int PATH = 4096;

    /** Folders in folders of a recording. Files of {@code /sys} have about 20. */
    public static final int FOLDERS = 64;

    /** Links that are followed for one path, as Linux does. */
    public static final int LINKS = 40;

    private Limits() {}
}
