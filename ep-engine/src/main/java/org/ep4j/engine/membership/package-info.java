/** Membership by epochs: which ranks are members, and how the survivors of a failure agree on the next membership. */
@NullMarked
package org.ep4j.engine.membership;

import org.jspecify.annotations.NullMarked;
