/**
 * Commands that a GPU leaves in pinned memory of the host, and the threads of the host ("proxies") that take them and post
 * them to NICs.
 */
@NullMarked
package org.ep4j.engine.proxy;

import org.jspecify.annotations.NullMarked;
