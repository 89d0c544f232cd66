// Expressions know values, not JSON, although both stand on the same layer.
#include "value/flat.h"
#ifdef MISUSE
#include "json/writer.h"
#endif
