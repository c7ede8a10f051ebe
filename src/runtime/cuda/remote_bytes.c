/* Whole messages through the socket between libingot and ingot-cuda-worker; see remote.h. */
#include <errno.h>
#include <sys/socket.h>

#include "runtime/cuda/remote.h"

bool cuda_send_all(int to, const void *bytes, size_t size, int flags) {
    for (const char *at = bytes; size;) {
        ssize_t put = send(to, at, size, MSG_NOSIGNAL | flags);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        at += put;
        size -= (size_t)put;
    }
    return true;
}

bool cuda_receive_all(int from, void *bytes, size_t size) {
    for (char *at = bytes; size;) {
        ssize_t got = recv(from, at, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}
