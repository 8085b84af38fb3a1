import CVips
import Glibc

/// The functions of libvips and of the GLib under it, loaded when the first image is scaled.
///
/// What it sets up holds for the whole process: libvips has one list of loaders, one cache and one
/// number of threads. Unchecked: these are addresses of code, set once.
struct Vips: @unchecked Sendable {
    /// The library; `nil` if it, or a function that is needed, is not there.
    static let shared: Vips? = Vips()

    /// The kinds of loader that may run: those of photos and of what browsers show.
    ///
    /// libvips can read far more, also through ImageMagick, poppler and librsvg; nobody tests those
    /// with hostile files as these are tested.
    private static let loaders = ["Jpeg", "Png", "Webp", "Nsgif", "Tiff"]

    let unref: g_object_unref_fn
    let free: g_free_fn
    let connect: g_signal_connect_data_fn
    let clearErrors: vips_call_fn
    let leaveThread: vips_call_fn
    let newSource: vips_source_custom_new_fn
    let width: vips_image_get_int_fn
    let height: vips_image_get_int_fn
    let bands: vips_image_get_int_fn
    let sample: vips_image_get_int_fn
    let sizeOfSample: vips_format_sizeof_fn
    let typeOf: vips_image_get_typeof_fn
    let newArray: vips_array_double_new_fn
    let unrefArray: vips_area_unref_fn
    /// Variadic, hence untyped here: the shims take them as their first argument.
    let openSource: UnsafeMutableRawPointer
    let thumbnail: UnsafeMutableRawPointer
    let writeJPEG: UnsafeMutableRawPointer

    /// Loads the library of that name.
    init?(library name: String = "libvips.so.42") {
        // Never closed: GLib's types and threads outlive every use.
        guard let library = dlopen(name, RTLD_LAZY | RTLD_LOCAL) else { return nil }
        // A lookup through libvips also finds what the libraries that it needs define.
        func function<Function>(_ name: String, as _: Function.Type = Function.self) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard
            let unref: g_object_unref_fn = function("g_object_unref"),
            let free: g_free_fn = function("g_free"),
            let connect: g_signal_connect_data_fn = function("g_signal_connect_data"),
            let setLogHandler = function("g_log_set_handler", as: g_log_set_handler_fn.self),
            let initialise = function("vips_init", as: vips_init_fn.self),
            // These came with libvips 8.13; an older one would run every loader that it has.
            let block = function("vips_operation_block_set", as: vips_operation_block_set_fn.self),
            let blockUntrusted = function(
                "vips_block_untrusted_set", as: vips_block_untrusted_set_fn.self),
            let setThreads = function("vips_concurrency_set", as: vips_set_int_fn.self),
            let setCache = function("vips_cache_set_max", as: vips_set_int_fn.self),
            let clearErrors: vips_call_fn = function("vips_error_clear"),
            let leaveThread: vips_call_fn = function("vips_thread_shutdown"),
            let newSource: vips_source_custom_new_fn = function("vips_source_custom_new"),
            let width: vips_image_get_int_fn = function("vips_image_get_width"),
            let height: vips_image_get_int_fn = function("vips_image_get_height"),
            let bands: vips_image_get_int_fn = function("vips_image_get_bands"),
            let sample: vips_image_get_int_fn = function("vips_image_get_format"),
            let sizeOfSample: vips_format_sizeof_fn = function("vips_format_sizeof"),
            let typeOf: vips_image_get_typeof_fn = function("vips_image_get_typeof"),
            let newArray: vips_array_double_new_fn = function("vips_array_double_new"),
            let unrefArray: vips_area_unref_fn = function("vips_area_unref"),
            let openSource = dlsym(library, "vips_image_new_from_source"),
            let thumbnail = dlsym(library, "vips_thumbnail_source"),
            let writeJPEG = dlsym(library, "vips_jpegsave_buffer")
        else { return nil }

        // What is wrong with somebody's file is nothing to print.
        _ = setLogHandler("VIPS", CInt(CVIPS_LOG_ALL), { _, _, _, _ in }, nil)
        // It looks for its plug-ins near the program of this name: a path, so that it searches neither
        // PATH nor the current folder.
        guard initialise("/") == 0 else { return nil }
        block("VipsForeignLoad", 1)
        for loader in Self.loaders { block("VipsForeignLoad" + loader, 0) }
        blockUntrusted(1)
        setThreads(1)
        setCache(0)

        self.unref = unref
        self.free = free
        self.connect = connect
        self.clearErrors = clearErrors
        self.leaveThread = leaveThread
        self.newSource = newSource
        self.width = width
        self.height = height
        self.bands = bands
        self.sample = sample
        self.sizeOfSample = sizeOfSample
        self.typeOf = typeOf
        self.newArray = newArray
        self.unrefArray = unrefArray
        self.openSource = openSource
        self.thumbnail = thumbnail
        self.writeJPEG = writeJPEG
    }
}
