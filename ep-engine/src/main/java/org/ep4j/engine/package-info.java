/**
 * Joining of a group and creation of buffers: probing, exchange of profiles, planning, opening of backends, symmetric memory.
 * Nothing here runs operations; the packages below this one do.
 */
@NullMarked
package org.ep4j.engine;

import org.jspecify.annotations.NullMarked;
