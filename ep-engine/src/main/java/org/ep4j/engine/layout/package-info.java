/** Where everything lies in a buffer; computed once, shared by all engines. */
@NullMarked
package org.ep4j.engine.layout;

import org.jspecify.annotations.NullMarked;
