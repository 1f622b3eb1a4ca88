/**
 * For programs that read a setting by its type, and for backends that declare their own: typed keys. The values are in
 * {@link org.ep4j.EpConfig}; programs that only set values need that class alone. The lists of NICs and interfaces here are
 * for ep4j itself.
 */
@API(status = API.Status.STABLE, since = "0.1")
@NullMarked
package org.ep4j.config;

import org.apiguardian.api.API;
import org.jspecify.annotations.NullMarked;
