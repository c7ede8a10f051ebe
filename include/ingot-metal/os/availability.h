/* Marks of versions: everything that is declared here is there. */
#ifndef INGOT_METAL_AVAILABILITY_H
#define INGOT_METAL_AVAILABILITY_H

#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_UNAVAILABLE
#define API_UNAVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#ifndef API_DEPRECATED_WITH_REPLACEMENT
#define API_DEPRECATED_WITH_REPLACEMENT(...)
#endif
#ifndef API_AVAILABLE_BEGIN
#define API_AVAILABLE_BEGIN(...)
#define API_AVAILABLE_END
#endif
#endif
