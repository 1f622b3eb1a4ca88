package org.ep4j.topology.model;

/**
 * A kind of processor.
 *
 * @param architecture {@code x86_64}, {@code arm64}, {@code ppc64}, or empty when unknown
 * @param vendor CPUID vendor such as {@code GenuineIntel} or {@code AuthenticAMD}; empty when unknown
 * @param family CPUID family in NCCL's counting (base plus 16 times extended); -1 when unknown
 * @param model CPUID model in the same counting; -1 when unknown
 */
public record Processor(String architecture, String vendor, int family, int model) {
    /** Nothing known. */
    public static final Processor UNKNOWN = new Processor("", "", -1, -1);
}
