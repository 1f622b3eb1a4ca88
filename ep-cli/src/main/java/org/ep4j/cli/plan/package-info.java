/** Plans for machines that exist only as a description, and what they would give. */
@NullMarked
package org.ep4j.cli.plan;

import org.jspecify.annotations.NullMarked;
