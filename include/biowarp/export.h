// BIOWARP_API marks what libbiowarp.so shows: every class and function that is declared in these headers and defined
// in the library. All else in it is hidden.
#pragma once

#define BIOWARP_API __attribute__((visibility("default")))
