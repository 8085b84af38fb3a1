// libvips is loaded on first use and called through dlsym. These are the types of the calls that are
// used, as libvips 8.13 and GLib 2.74 declare them; all of libvips.so.42 keeps their ABI. No function is
// declared, so that none can be linked.
#ifndef CVIPS_SHIM_H
#define CVIPS_SHIM_H
#include <stddef.h>
#include <stdint.h>

typedef struct _VipsArea VipsArea;
typedef struct _VipsImage VipsImage;
typedef struct _VipsSource VipsSource;

enum {
    CVIPS_SIZE_DOWN = 2,
    // G_LOG_LEVEL_MASK and both of its flags: messages of every kind.
    CVIPS_LOG_ALL = -1,
};

// GLib
typedef void (*g_object_unref_fn)(void *);
typedef void (*g_free_fn)(void *);
typedef void (*g_log_fn)(const char *domain, int level, const char *message, void *);
typedef unsigned (*g_log_set_handler_fn)(const char *domain, int levels, g_log_fn, void *);
typedef void (*g_callback)(void);
typedef unsigned long (*g_signal_connect_data_fn)(
    void *object, const char *signal, g_callback, void *data, void *destroy, int flags);

// libvips
typedef int (*vips_init_fn)(const char *program);
typedef void (*vips_operation_block_set_fn)(const char *name, int blocked);
typedef void (*vips_block_untrusted_set_fn)(int blocked);
typedef void (*vips_set_int_fn)(int);
typedef void (*vips_call_fn)(void);
typedef VipsSource *(*vips_source_custom_new_fn)(void);
typedef int (*vips_image_get_int_fn)(const VipsImage *);
typedef uint64_t (*vips_format_sizeof_fn)(int format);
typedef size_t (*vips_image_get_typeof_fn)(const VipsImage *, const char *name);
typedef VipsArea *(*vips_array_double_new_fn)(const double *, int count);
typedef void (*vips_area_unref_fn)(VipsArea *);

// What a custom source asks for: bytes from where it stands (0 at the end, -1 if it cannot be read),
// and to stand elsewhere.
typedef int64_t (*vips_source_read_fn)(VipsSource *, void *bytes, int64_t count, void *data);
typedef int64_t (*vips_source_seek_fn)(VipsSource *, int64_t offset, int whence, void *data);

// The callbacks of a signal have no type of their own, and options are variadic: one wrapper a shape.

static inline void vips_source_on_read(
    g_signal_connect_data_fn connect, VipsSource *source, vips_source_read_fn read, void *data) {
    connect(source, "read", (g_callback)read, data, NULL, 0);
}
static inline void vips_source_on_seek(
    g_signal_connect_data_fn connect, VipsSource *source, vips_source_seek_fn seek, void *data) {
    connect(source, "seek", (g_callback)seek, data, NULL, 0);
}

typedef VipsImage *(*vips_image_new_from_source_fn)(VipsSource *, const char *options, ...);
typedef int (*vips_thumbnail_source_fn)(VipsSource *, VipsImage **, int width, ...);
typedef int (*vips_jpegsave_buffer_fn)(VipsImage *, void **bytes, size_t *count, ...);

static inline VipsImage *vips_open_source(void *open, VipsSource *source, const char *options) {
    return ((vips_image_new_from_source_fn)open)(source, options, (void *)NULL);
}
static inline int vips_shrink_source(
    void *shrink, VipsSource *source, VipsImage **image, int pixels, const char *options,
    const char *profile) {
    // The list ends with the first name that is NULL.
    return ((vips_thumbnail_source_fn)shrink)(
        source, image, pixels, "height", pixels, "size", CVIPS_SIZE_DOWN, "option_string", options,
        profile ? "export_profile" : (const char *)NULL, profile, (void *)NULL);
}
static inline int vips_write_jpeg(
    void *write, VipsImage *image, void **bytes, size_t *count, int quality, VipsArea *background) {
    return ((vips_jpegsave_buffer_fn)write)(
        image, bytes, count, "Q", quality, "strip", 1, "optimize_coding", 1, "background", background,
        (void *)NULL);
}

#endif
