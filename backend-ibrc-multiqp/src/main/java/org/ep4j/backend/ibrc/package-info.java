/** InfiniBand and RoCE through reliable connections that host threads post to. */
@NullMarked
package org.ep4j.backend.ibrc;

import org.jspecify.annotations.NullMarked;
