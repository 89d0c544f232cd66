// Marks what libholdfast.so lets its users see; everything else in it is hidden. Types without functions of
// their own, such as the request and response structs, need no mark.
#pragma once

#define HOLDFAST_EXPORT __attribute__((visibility("default")))
