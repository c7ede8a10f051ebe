/*
 * Metal's interface for compute programs on libingot: declarations of our own of the interface that Apple documents.
 * Everything that is declared and not there throws an NSException that names it. docs/design/metal-host.md has the list.
 */
#ifndef INGOT_METAL_METAL_H
#define INGOT_METAL_METAL_H
#import <Metal/MTLDevice.h>
#import <Metal/MTLCaptureManager.h>
#endif
