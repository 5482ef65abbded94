/* Names the sources that decide what machine code a final IR becomes; made anew by the build whenever
 * one of them changes, so that no object from another compiler is taken from disk. */
#ifndef SSL_JIT_FINGERPRINT_H
#define SSL_JIT_FINGERPRINT_H

extern const char ssl_fingerprint[];

#endif
