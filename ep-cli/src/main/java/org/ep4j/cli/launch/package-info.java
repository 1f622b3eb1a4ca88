/** Starts ranks as processes of this machine, with torchrun's variables, and ends them together. */
@NullMarked
package org.ep4j.cli.launch;

import org.jspecify.annotations.NullMarked;
