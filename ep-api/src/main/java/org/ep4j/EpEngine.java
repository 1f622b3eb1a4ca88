package org.ep4j;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import org.apiguardian.api.API;

/**
 * The engine behind the static methods of {@link EpGroup} and {@link Bootstrap}, found by
 * {@link java.util.ServiceLoader}; ep-engine contains the only one. Internal: only ep4j implements and calls it, and it may
 * change in any release.
 */
@API(status = API.Status.INTERNAL, since = "0.1")
public interface EpEngine {
    /** Joins a group; see {@link EpGroup#join(Bootstrap, EpConfig)}. */
    EpGroup join(Bootstrap bootstrap, EpConfig config);

    /** Creates bootstraps of ranks that are threads; see {@link Bootstrap#inProcess}. */
    List<Bootstrap> inProcess(int size);

    /**
     * Declares a member dead, as if its process had crashed: the others see it as {@link Bootstrap.MemberState#LOST}, and its
     * own calls, including calls in progress, fail with {@link EpStateException}. For tests of what survivors do. Does
     * nothing once the member is closed.
     *
     * @param member one of {@link #inProcess}
     * @param reason appears in the messages of the others
     * @throws EpArgumentException for any other bootstrap
     */
    void declareDead(Bootstrap member, String reason);

    /** Joins the group that a launcher describes in {@code environment}; see {@link Bootstrap#fromEnvironment}. */
    Bootstrap fromEnvironment(Map<String, String> environment, EpConfig config);

    /** Joins over TCP; see {@link Bootstrap#tcp}. */
    Bootstrap tcp(int rank, int size, InetSocketAddress rankZero, EpConfig config);

    /** Joins over TCP, at the address that a launcher passes on; see {@link Bootstrap#over}. */
    Bootstrap over(int rank, int size, Bootstrap.Broadcast launcher, EpConfig config);

    /**
     * Bytes that a buffer would take on {@code rank} in a group with the given plan; see {@link EpGroup#bufferSize}.
     * Ranks that post to others need more than those that map all memory.
     *
     * @param plan of a group, or one that the planner of ep4j made
     * @param rank which of them
     * @throws EpArgumentException when the shape does not fit such a group, or the plan was not made by ep4j's planner
     * @throws EpUnavailableException when the engine cannot use a path of the plan, naming path and remedy
     */
    BufferSize bufferSize(EpShape shape, EpPlan plan, int rank);

    /**
     * Bytes that a buffer would take on a rank of a group in which all ranks map each other's memory.
     *
     * @param ranks number of ranks
     * @param rank which of them
     * @throws EpArgumentException when the shape does not fit such a group
     */
    BufferSize bufferSize(EpShape shape, int ranks, int rank);

    /**
     * The engine that is installed.
     *
     * @throws EpUnavailableException when there is none, or more than one
     */
    static EpEngine installed() {
        List<EpEngine> engines = ServiceLoader.load(EpEngine.class, EpEngine.class.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
        if (engines.size() != 1) {
            throw new EpUnavailableException(
                    engines.size() + " engines found, must be 1; add a backend such as"
                            + " org.ep4j:backend-host (the engine comes with it), and if jars are merged, keep META-INF/services");
        }
        return engines.get(0);
    }
}
