/** What GPUs of all vendors are used by: a driver's calls, the context, streams and events, memory that ranks share. */
@NullMarked
package org.ep4j.engine.driver;

import org.jspecify.annotations.NullMarked;
