/** Settings: declared keys, resolved values with their origin. */
@NullMarked
package org.ep4j.config;

import org.jspecify.annotations.NullMarked;
