// Marks what libholdfast.so lets its users see. Everything else in the library is hidden.
#pragma once

#define HOLDFAST_EXPORT __attribute__((visibility("default")))
