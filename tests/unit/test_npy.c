/* .npy files: what is read, what is refused and how the message says so, and round trips. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/scalar.h"
#include "base/text.h"

static int passed, failed;

static void check(bool good, const char *what) {
    if (good) {
        passed++;
    } else {
        failed++;
        printf("FAIL %s\n", what);
    }
}

/* A version 1.0 file with the header and `data` bytes of zeros. */
static struct ig_text file_with(const char *header, size_t data) {
    struct ig_text file = {0};
    size_t length = strlen(header);
    char size[2] = {(char)(length & 255), (char)(length >> 8)};
    ig_text_append(&file, "\x93NUMPY\1\0", 8);
    ig_text_append(&file, size, 2);
    ig_text_puts(&file, header);
    for (size_t i = 0; i < data; i++) {
        ig_text_append(&file, "\0", 1);
    }
    return file;
}

static void refuses(const char *header, size_t data, const char *expected) {
    struct ig_text file = file_with(header, data);
    struct ig_npy array;
    struct ig_error error = {0};
    ingot_status status = ig_npy_parse(file.data, file.size, "a.npy", &array, &error);
    bool good = status != INGOT_OK && strstr(ig_error_text(&error), expected) &&
                strstr(ig_error_text(&error), "a.npy");
    if (!good) {
        printf("  status %d, message \"%s\", expected \"%s\"\n", (int)status, ig_error_text(&error),
               expected);
    }
    check(good, header);
    ig_error_clear(&error);
    ig_text_free(&file);
}

static void reads(const char *header, size_t data, ingot_scalar_type scalar, uint32_t rank) {
    struct ig_text file = file_with(header, data);
    struct ig_npy array;
    struct ig_error error = {0};
    ingot_status status = ig_npy_parse(file.data, file.size, "a.npy", &array, &error);
    bool good = status == INGOT_OK && array.scalar == scalar && array.rank == rank &&
                array.data_size == data;
    if (!good) {
        printf("  %s\n", ig_error_text(&error));
    }
    check(good, header);
    ig_error_clear(&error);
    ig_text_free(&file);
}

static void test_headers(void) {
    reads("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24, INGOT_SCALAR_F32, 2);
    reads("{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", 10, INGOT_SCALAR_F16, 1);
    reads("{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", 5, INGOT_SCALAR_BOOL, 1);
    reads("{'descr': '<u8', 'fortran_order': False, 'shape': (), }", 8, INGOT_SCALAR_U64, 0);
    reads("{\"shape\":(1,),\"descr\":\"<i4\",\"fortran_order\":False}", 4, INGOT_SCALAR_I32, 1);
    reads("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 7), }", 0, INGOT_SCALAR_F32, 2);

    refuses("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, "big-endian");
    refuses("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", 4, "Fortran order");
    refuses("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 8, "astype('float32')");
    refuses("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8, "Python objects");
    refuses("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, "dtype '<c8'");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, "structured");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 7, "cut short");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 9, "needs 8 bytes");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4,
            "63 bits");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}", 4,
            "more elements than memory");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, "malformed");
    refuses("{'descr': '<f4', 'fortran_order': False, }", 4, "malformed");
    refuses("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", 4, "each key once");
    refuses("{'descr': '<f4", 4, "malformed");
    refuses("", 4, "malformed");
}

/* Every prefix of a good file is refused, and none is read past its end (ASan looks). */
static void test_truncation(void) {
    struct ig_text file =
        file_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    bool good = true;
    for (size_t size = 0; size < file.size; size++) {
        char *part = malloc(size ? size : 1);
        struct ig_npy array;
        struct ig_error error = {0};
        if (!part) {
            break;
        }
        memcpy(part, file.data, size);
        good &= ig_npy_parse(part, size, "a.npy", &array, &error) != INGOT_OK;
        ig_error_clear(&error);
        free(part);
    }
    check(good, "every truncation is refused");
    ig_text_free(&file);
}

static void test_round_trip(void) {
    char *folder;
    struct ig_error error = {0};
    if (ig_folder_temporary(&folder, &error)) {
        check(false, ig_error_text(&error));
        ig_error_clear(&error);
        return;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/a.npy", folder);
    for (int scalar = INGOT_SCALAR_BOOL; scalar <= INGOT_SCALAR_F32; scalar++) {
        uint8_t data[48];
        for (size_t i = 0; i < sizeof data; i++) {
            data[i] = (uint8_t)(i & 1);
        }
        struct ig_npy array = {.scalar = (ingot_scalar_type)scalar, .rank = 2, .shape = {2, 3}};
        struct ig_npy back;
        void *storage;
        array.data = data;
        array.data_size = 6 * ig_scalar_size(array.scalar);
        ingot_status status = ig_npy_write(path, &array, &error);
        check(!status, "write");
        status = ig_npy_read(path, &back, &storage, &error);
        ingot_scalar_type expected =
            scalar == INGOT_SCALAR_BF16 ? INGOT_SCALAR_U16 : (ingot_scalar_type)scalar;
        check(!status && back.scalar == expected && back.rank == 2 && back.shape[1] == 3 &&
                  !memcmp(back.data, data, array.data_size),
              ig_scalar_name(array.scalar));
        free(storage);
    }
    ig_error_clear(&error);
    struct ig_npy array;
    void *storage;
    check(ig_npy_read("/nowhere/at/all.npy", &array, &storage, &error) != INGOT_OK &&
              strstr(ig_error_text(&error), "/nowhere/at/all.npy"),
          "a missing file is named");
    ig_error_clear(&error);
    ig_folder_remove(folder);
    free(folder);
}

static void test_scalars(void) {
    static const struct {
        ingot_scalar_type type;
        const char *text;
        const char *shown; /* NULL: refused */
    } table[] = {
        {INGOT_SCALAR_I8, "-128", "-128"},
        {INGOT_SCALAR_I8, "128", NULL},
        {INGOT_SCALAR_U8, "255", "255"},
        {INGOT_SCALAR_U8, "256", NULL},
        {INGOT_SCALAR_U8, "-1", NULL},
        {INGOT_SCALAR_I16, "-32768", "-32768"},
        {INGOT_SCALAR_U32, "0xffffffff", "4294967295"},
        {INGOT_SCALAR_I64, "-9223372036854775808", "-9223372036854775808"},
        {INGOT_SCALAR_U64, "18446744073709551615", "18446744073709551615"},
        {INGOT_SCALAR_U64, "18446744073709551616", NULL},
        {INGOT_SCALAR_I32, "1.5", NULL},
        {INGOT_SCALAR_I32, "", NULL},
        {INGOT_SCALAR_BOOL, "true", "1"},
        {INGOT_SCALAR_BOOL, "2", NULL},
        {INGOT_SCALAR_F32, "0.1", "0.1"},
        {INGOT_SCALAR_F32, "inf", "inf"},
        {INGOT_SCALAR_F32, "1.0f", "1"},
        {INGOT_SCALAR_F32, "abc", NULL},
        {INGOT_SCALAR_F16, "65504", "65504"},
        {INGOT_SCALAR_F16, "65519", "65504"},
        {INGOT_SCALAR_F16, "65520", NULL}, /* only infinity is infinite */
        {INGOT_SCALAR_F16, "-inf", "-inf"},
        {INGOT_SCALAR_F32, "3.5e38", NULL},
        {INGOT_SCALAR_F32, "1e-60", "0"},
        {INGOT_SCALAR_BF16, "-3.4e38", NULL},
        {INGOT_SCALAR_BF16, "3.38e38", "3.376e+38"},
        {INGOT_SCALAR_BF16, "1.00390625", "1"}, /* a tie goes to the even one */
        {INGOT_SCALAR_BF16, "1.01171875", "1.016"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        uint8_t bytes[8];
        char shown[64] = "";
        struct ig_error error = {0};
        ingot_status status =
            ig_scalar_parse(table[i].type, table[i].text, strlen(table[i].text), bytes, &error);
        if (!status) {
            ig_scalar_print(table[i].type, bytes, shown, sizeof shown);
        }
        bool good = table[i].shown ? !status && !strcmp(shown, table[i].shown) : status != INGOT_OK;
        if (!good) {
            printf("  got \"%s\"\n", shown);
        }
        check(good, table[i].text);
        ig_error_clear(&error);
    }
    bool good = true;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double half = ig_half_value((uint16_t)bits), bfloat = ig_bfloat_value((uint16_t)bits);
        good &= half != half || ig_half_bits(half) == bits;
        good &= bfloat != bfloat || ig_bfloat_bits(bfloat) == bits;
    }
    check(good, "every half and bfloat survives a round trip");
}

int main(void) {
    test_headers();
    test_truncation();
    test_round_trip();
    test_scalars();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
