// The value layer sees what lies beneath it, and nothing above.
#include "base/bytes.h"
#ifdef MISUSE
#include "engine/engine.h"
#endif
