/** What a machine is made of, and how near its parts are to each other. Pure Java; works on descriptions of machines too. */
@NullMarked
package org.ep4j.topology;

import org.jspecify.annotations.NullMarked;
