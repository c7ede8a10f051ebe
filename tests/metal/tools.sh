#!/bin/sh
# ingot-xcrun and ingot-cc as build scripts for Macs call them. usage: tools.sh BIN
set -eu
bin=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
passed=0
has() { # has FILE TEXT
    grep -q -- "$2" "$1" || { echo "\"$2\" is not in $1:" && cat "$1" && exit 1; }
    passed=$((passed + 1))
}

mkdir include
echo '#define BY 2' >include/by.h
cat >a.metal <<'END'
#include <metal_stdlib>
#include "by.h"
using namespace metal;
constant int first_constant [[function_constant(3)]];
kernel void first(device float *x, uint i [[thread_position_in_grid]]) { x[i] = BY * EXTRA * first_constant; }
END
cat >b.metal <<'END'
constant bool second_constant [[function_constant(3)]];
kernel void second(device int *x) { x[0] = second_constant ? __METAL_VERSION__ : 0; }
END
"$bin/ingot-xcrun" -sdk macosx metal -O3 -std=metal3.1 -mmacosx-version-min=14.0 -DEXTRA=3 -I include -c a.metal -o a.air
"$bin/ingot-xcrun" -sdk macosx metal -c b.metal -o b.air
"$bin/ingot-xcrun" -sdk macosx metallib a.air b.air -o all.metallib
"$bin/ingot" inspect all.metallib >inspected
has inspected 'kernel first'
has inspected 'kernel second'
# Both number a constant 3: each kernel has its own file's.
"$bin/ingot" run all.metallib first --threads 4 'f32[4]' --const first_constant=5 >ran
has ran ' 30 30 30 30'
"$bin/ingot" run all.metallib second --threads 1 'i32[1]' --const second_constant=1 >ran
has ran ' 320'
if "$bin/ingot" pack all.metallib -o packed.ingot 2>refused; then echo "joined archives were packed" && exit 1; fi
has refused 'holds several archives'
"$bin/ingot-xcrun" -sdk macosx metal -mmacosx-version-min=14.0 -DEXTRA=3 -I include a.metal b.air -o both.metallib
"$bin/ingot" inspect both.metallib >inspected
has inspected 'kernel first'
has inspected 'kernel second'
if "$bin/ingot-xcrun" metal -c a.metal b.metal -o two.air 2>refused; then echo "two files with -c were taken" && exit 1; fi
has refused 'one file at a time'
"$bin/ingot-xcrun" metal -c - -o - <b.metal | "$bin/ingot-xcrun" metallib - -o piped.metallib
"$bin/ingot" inspect piped.metallib >inspected
has inspected 'kernel second'
"$bin/ingot-xcrun" metal -E -P -DEXTRA=3 -Iinclude a.metal >text
has text 'x\[i\] = 2 \* 3'
has text '#include <metal_stdlib>'
# What is included, as scripts read it: nothing but lines of dots and files, and none of Metal's own headers.
echo '#pragma once' | cat - a.metal >once.metal
"$bin/ingot-xcrun" metal -x metal -E -P -CC -C -H -DEXTRA=3 -Iinclude once.metal -w >text 2>included
has included '^\. include/by.h$'
[ "$(wc -l <included)" = 1 ] || { echo "more is listed than by.h:" && cat included && exit 1; }
"$bin/ingot-xcrun" --show-sdk-version >version
has version '^[0-9.]*$'
[ -f "$("$bin/ingot-xcrun" --show-sdk-path)/Metal/Metal.h" ] || { echo "no Metal.h below the SDK's path" && exit 1; }
# What --find names is the tool itself.
"$("$bin/ingot-xcrun" --sdk macosx --find metal)" -c b.metal -o found.air
"$("$bin/ingot-xcrun" -find metallib)" found.air -o found.metallib
"$bin/ingot" inspect found.metallib >inspected
has inspected 'kernel second'
if "$bin/ingot-xcrun" swiftc 2>refused; then echo "swiftc was not refused" && exit 1; fi
has refused '"swiftc" is not known'
if "$bin/ingot-cc" b.c -framework Accelerate 2>refused; then echo "Accelerate was not refused" && exit 1; fi
has refused 'framework Accelerate is not there'

# CMake: a project that looks for a Mac finds one where it is asked for, and frameworks always.
mkdir -p project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(asks LANGUAGES NONE)
find_library(METAL Metal)
message(STATUS "system ${CMAKE_SYSTEM_NAME} ${CMAKE_SYSTEM_PROCESSOR} [${CMAKE_OSX_DEPLOYMENT_TARGET}] ${METAL}")
END
share=$bin/../share/ingot
cmake -S project -B as-linux -DCMAKE_TOOLCHAIN_FILE="$share/ingot-metal.cmake" >asked
has asked 'system Linux .*libMetal'
cmake -S project -B as-mac -DCMAKE_TOOLCHAIN_FILE="$share/ingot-metal.cmake" -DINGOT_METAL_SYSTEM=Darwin >asked
has asked 'system Darwin arm64 \[\] .*libMetal'
"$share/xcrun/sw_vers" -productVersion >version
has version "^$("$bin/ingot-xcrun" --show-sdk-version)$"

# A precompiled header is not linked
echo 'static inline int one(void) { return 1; }' >one.h
"$bin/ingot-c++" -x c++-header one.h -o one.pch
"$bin/ingot-cc" one.h -o one.gch
[ -s one.pch ] && [ -s one.gch ] || { echo "no precompiled header" && exit 1; }
passed=$((passed + 1))

# Libraries beside the file that needs them
mkdir -p near/lib
echo 'int near(void) { return 3; }' >near.c
echo 'int near(void); int main(void) { return near() - 3; }' >main.c
"$bin/ingot-cc" -dynamiclib near.c -fPIC -install_name @rpath/libnear.so -o near/lib/libnear.so
"$bin/ingot-cc" main.c -Lnear/lib -lnear -Wl,-rpath,@loader_path/lib -o near/main
near/main || { echo "near/main failed" && exit 1; }
passed=$((passed + 1))

# Programs with metal-cpp: Core Foundation brings C's headers, and nil is a null pointer of their classes too.
cat >plain.cpp <<'END'
#include <CoreFoundation/CoreFoundation.h>
#include <objc/runtime.h>
struct Error *error = nil;
int main() {
    assert(error == nil && Nil == nullptr);
    printf("%d\n", errno = 0);
}
END
"$bin/ingot-c++" -Werror plain.cpp -o plain
./plain >ran
has ran '^0$'

# What the C++ library of a Mac brings along with any header
printf 'std::optional<std::string> a;\nint main() { return a ? 1 : std::make_unique<int>(0) && std::strlen("") == 0 && std::chrono::seconds(1).count() == 1 && std::fabs(-1.0) == 1 ? 0 : 2; }\n' >brought.cpp
"$bin/ingot-c++" -std=c++17 brought.cpp -o brought
./brought || { echo "brought failed" && exit 1; }
passed=$((passed + 1))

# A program without a bundle has its default library beside it, wherever it is started
mkdir -p tool elsewhere
cat >tool/default.m <<'END'
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
int main(void) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        id<MTLLibrary> library = [device newDefaultLibrary];
        NSError *error = nil;
        [device newDefaultLibraryWithBundle:[NSBundle mainBundle] error:&error];
        printf("%s\n", library ? library.functionNames.description.UTF8String : error.localizedDescription.UTF8String);
    }
}
END
"$bin/ingot-cc" -fobjc-arc tool/default.m -o tool/default -framework Metal -framework Foundation
(cd elsewhere && ../tool/default) >printed
has printed "no default.metallib and no default.ingot in .*$folder/tool$"
cp piped.metallib tool/default.metallib
(cd elsewhere && ../tool/default) >printed
has printed second

# Mach-O's sections and names around .incbin
printf '.section __DATA,__blob\n.globl _blob_start\n_blob_start:\n.incbin "b.metal"\n.globl _blob_end\n_blob_end:\n' >blob.s
cat >blob.c <<'END'
#include <stdio.h>
extern const char blob_start[], blob_end[];
int main(void) { printf("%d bytes\n", (int)(blob_end - blob_start)); return 0; }
END
"$bin/ingot-cc" -c blob.s -o blob.o
"${CC:-cc}" blob.c blob.o -o blob
./blob >printed
has printed "^$(wc -c <b.metal) bytes"
echo "$passed passed, 0 failed"
