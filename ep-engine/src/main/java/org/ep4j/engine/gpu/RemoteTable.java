package org.ep4j.engine.gpu;

/** Peers that are not mapped, as kernels know them. */
interface RemoteTable extends Posting {
    /** Where kernels find {@code struct Remote} of each rank. */
    long tableAddress();
}
