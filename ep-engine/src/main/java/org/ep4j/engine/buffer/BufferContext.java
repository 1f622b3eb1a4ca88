package org.ep4j.engine.buffer;

import org.ep4j.Bootstrap;
import org.ep4j.BufferSize;
import org.ep4j.EpConfig;
import org.ep4j.EpGroup;
import org.ep4j.EpShape;
import org.ep4j.engine.sync.Recoverer;
import org.ep4j.engine.sync.Relays;
import org.ep4j.engine.sync.SymmetricMemory;
import org.ep4j.plan.GroupPlan;

/**
 * Group, shape and memory of a buffer that is created, whatever its device.
 *
 * @param name for messages and names of collective steps
 * @param freeSymmetric releases the memory; called once, also when the creation fails
 */
public record BufferContext(
        EpGroup group,
        GroupPlan plan,
        Bootstrap bootstrap,
        String name,
        EpShape shape,
        BufferSize size,
        Relays relays,
        SymmetricMemory symmetric,
        Runnable freeSymmetric,
        Recoverer.Recoverability recoverability,
        EpConfig config) {}
