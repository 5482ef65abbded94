/* CRC-32C (Castagnoli), the check sum of texture tiles [RFC3720 section 12.1]: polynomial
 * 0x1EDC6F41 reflected, initial value and final complement included. Uses the CPU's instruction
 * where there is one, else tables; both give the same value. */
#ifndef SORT_BASE_CRC32C_H
#define SORT_BASE_CRC32C_H

#include "base/compiler.h"

/* Computes or continues a check sum. crc: 0 to begin, or an earlier result to continue: crc32c(crc32c(0, a), b)
 * = crc32c(0, a then b). Any thread. */
uint32_t crc32c(uint32_t crc, const void *data, size_t size_bytes);
/* The table form alone, for tests and for other CPUs. */
uint32_t crc32c_portable(uint32_t crc, const void *data, size_t size_bytes);

#endif
