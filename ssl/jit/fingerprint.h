/* A hash of the sources that determine which machine code a final IR becomes. The build computes it again whenever one
 * of them changes, so that objects of another compiler version are not loaded from disk. */
#ifndef SSL_JIT_FINGERPRINT_H
#define SSL_JIT_FINGERPRINT_H

extern const char ssl_fingerprint[];

#endif
