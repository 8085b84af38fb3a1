// libsecret is loaded on first use and called through dlsym; no header of its own is needed for that.
